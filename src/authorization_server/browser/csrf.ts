/** Tokens for forms that belong to no authorization request: a MAC over the browser that the page was sent to. */
import { Buffer } from "node:buffer";
import type { SecretBox } from "../../lib/secret_box.ts";
import type { Browser } from "./browser_sessions.ts";
import { equalInConstantTime } from "../../lib/random_secret.ts";

/** The token that a page for this browser carries. */
export function csrfToken(secrets: SecretBox, browser: Browser): string {
  return tokenOf(secrets, browser.hash);
}

function tokenOf(secrets: SecretBox, browserHash: string): string {
  return Buffer.from(secrets.authenticate("form", browserHash)).toString("base64url");
}

/** Whether a posted token was made for this browser. */
export function isCsrfToken(secrets: SecretBox, browser: Browser, token: string): boolean {
  return browser.hashes.some((hash) => equalInConstantTime(token, tokenOf(secrets, hash)));
}

/** Why a form without the right token is refused: without any cookie, no token can be right. */
export function foreignForm(browser: Browser): "cookie_missing" | "foreign_form" {
  return browser.isNew ? "cookie_missing" : "foreign_form";
}
