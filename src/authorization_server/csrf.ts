/** Tokens for forms that belong to no authorization request: a MAC over the browser that the page was sent to. */
import { Buffer } from "node:buffer";
import type { SecretBox } from "../lib/secret_box.ts";
import type { Browser } from "./browser_sessions.ts";
import { equalInConstantTime } from "./random_secret.ts";

/** The token that a page for this browser carries. */
export function csrfToken(secrets: SecretBox, browser: Browser): string {
  return Buffer.from(secrets.authenticate("form", browser.hash)).toString("base64url");
}

/** Whether a posted token was made for this browser. */
export function isCsrfToken(secrets: SecretBox, browser: Browser, token: string): boolean {
  return equalInConstantTime(token, csrfToken(secrets, browser));
}
