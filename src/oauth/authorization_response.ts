/** Authorization responses (RFC 6749 §4.1.2): the query that is added to a redirect URI known to be the client's. */
import { redirectResponse } from "../lib/page.ts";

/** Where a response goes. */
export interface ResponseTarget {
  readonly redirectUri: string;
  readonly state: string | null;
}

/** Error codes of RFC 6749 §4.1.2.1, RFC 8707 §2 and OpenID Connect Core §3.1.2.6 that a client may be sent. */
export type AuthorizationError =
  | "invalid_request"
  | "unauthorized_client"
  | "access_denied"
  | "unsupported_response_type"
  | "invalid_target"
  | "login_required"
  | "consent_required"
  | "request_not_supported"
  | "request_uri_not_supported";

function locationOf(issuer: string, target: ResponseTarget, parameters: Record<string, string>): string {
  const query = new URLSearchParams(parameters);
  if (target.state !== null) query.set("state", target.state);
  query.set("iss", issuer); // RFC 9207 §2
  // The registered text is kept as it is, its own query included (RFC 6749 §3.1.2).
  return `${target.redirectUri}${target.redirectUri.includes("?") ? "&" : "?"}${query}`;
}

/** Sends the browser back with a code; 303, since the consent form was posted. */
export function codeResponse(issuer: string, target: ResponseTarget, code: string): Response {
  return redirectResponse(303, locationOf(issuer, target, { code }));
}

/** Where an error is told to the client. */
export function errorLocation(
  issuer: string,
  target: ResponseTarget,
  { error, description }: { readonly error: AuthorizationError; readonly description: string },
): string {
  return locationOf(issuer, target, { error, error_description: description });
}

/** Sends the browser back with an error. */
export function errorResponse(
  issuer: string,
  target: ResponseTarget,
  error: AuthorizationError,
  { description, status = 302 }: { readonly description: string; readonly status?: 302 | 303 },
): Response {
  return redirectResponse(status, errorLocation(issuer, target, { error, description }));
}
