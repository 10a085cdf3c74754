/**
 * A decision that a browser sends twice: by a double click, a held Enter key, or its own retry. It shows the answer to
 * the second, so that has to be the same redirect. The code in it is derived, not stored; it can still be redeemed once.
 */
import type { Clock } from "../lib/clock.ts";
import type { SecretBox } from "../lib/secret_box.ts";
import type { Put, Storage } from "../storage/port.ts";
import { codeResponse, errorResponse, type ResponseTarget } from "./authorization_response.ts";
import type { Browser } from "./browser_sessions.ts";
import { hashSecret } from "../lib/random_secret.ts";
import { answeredRequests } from "./records/answered_request.ts";
import type { AuthorizationRequest } from "./records/authorization_request.ts";

const repeatSeconds = 30;

interface RepeatOptions {
  readonly issuer: string;
  readonly storage: Storage;
  readonly secrets: SecretBox;
}

/** The one code of a request. Only the page has the handle, and only we the key. */
export function codeOf(secrets: SecretBox, handle: string): string {
  return `pca_${secrets.authenticate("authorization-code", handle)}`;
}

/** The answer to a decision. */
export function decisionResponse(
  { issuer, secrets }: Pick<RepeatOptions, "issuer" | "secrets">,
  { handle, target, isAllowed }: {
    readonly handle: string;
    readonly target: ResponseTarget;
    readonly isAllowed: boolean;
  },
): Response {
  return isAllowed
    ? codeResponse(issuer, target, codeOf(secrets, handle))
    : errorResponse(issuer, target, "access_denied", { description: "The user denied access", status: 303 });
}

/** What a commit that uses a request up stores, so that the same decision can be answered again. */
export function rememberDecision(
  { handle, request, form, isAllowed }: {
    readonly handle: string;
    readonly request: AuthorizationRequest;
    readonly form: URLSearchParams;
    readonly isAllowed: boolean;
  },
  clock: Clock,
): Put {
  const { browserHash, redirectUri, state } = request;
  const answered = { browserHash, decisionHash: decisionHash(form), redirectUri, state, isAllowed };
  return answeredRequests.put(hashSecret(handle), answered, clock() + repeatSeconds * 1_000);
}

/** The answer that the same browser got to the same decision on the same page; `null` for anything else. */
export async function repeatDecision(
  options: RepeatOptions,
  browser: Browser,
  form: URLSearchParams,
): Promise<Response | null> {
  const handle = form.get("request") ?? "";
  const answered = handle === "" ? null : await answeredRequests.read(options.storage, hashSecret(handle));
  if (answered === null || !browser.hashes.includes(answered.value.browserHash)) return null;
  if (answered.value.decisionHash !== decisionHash(form)) return null;
  return decisionResponse(options, { handle, target: answered.value, isAllowed: answered.value.isAllowed });
}

function decisionHash(form: URLSearchParams): string {
  const parts = ["account", "proof", "decision"].map((name) => form.get(name));
  return hashSecret(JSON.stringify([...parts, ...form.getAll("scope").sort()]));
}
