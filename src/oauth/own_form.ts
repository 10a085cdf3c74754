/** Forms of our own pages: another site can neither post one nor make one. */
import type { SecretBox } from "../lib/secret_box.ts";
import type { Browser } from "./browser_sessions.ts";
import { equalInConstantTime } from "../lib/random_secret.ts";
import { failure, type Result, success } from "../lib/result.ts";
import type { Limits } from "./context.ts";
import type { DeadEnd } from "./error_page.ts";
import { readForm } from "./request_body.ts";

/** Reads a posted form. Browsers say where a form came from: another site's is refused unread. */
export async function readBrowserForm(request: Request, limits?: Limits): Promise<Result<URLSearchParams, DeadEnd>> {
  const site = request.headers.get("sec-fetch-site");
  if (site !== null && site !== "same-origin" && site !== "none") {
    await request.body?.cancel();
    return failure("foreign_form");
  }
  const form = await readForm(request, limits);
  return form.ok ? success(form.value) : failure("malformed_request");
}

/** The token that a page for this browser carries. */
export function csrfToken(secrets: SecretBox, browser: Browser): string {
  return tokenOf(secrets, browser.hash);
}

function tokenOf(secrets: SecretBox, browserHash: string): string {
  return secrets.authenticate("form", browserHash);
}

export function isCsrfToken(secrets: SecretBox, browser: Browser, token: string): boolean {
  return browser.hashes.some((hash) => equalInConstantTime(token, tokenOf(secrets, hash)));
}

/** Why a form without the right token is refused: without any cookie, no token can be right. */
export function foreignForm(browser: Browser): "cookie_missing" | "foreign_form" {
  return browser.isNew ? "cookie_missing" : "foreign_form";
}
