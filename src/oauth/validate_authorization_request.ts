/**
 * The rules of the authorization endpoint, in the order that keeps it from being an open redirector: the client, then
 * its redirect URI, and only then everything that may be told to the client by redirect (RFC 6749 §4.1.2.1).
 */
import type { AuthorizationError, ResponseTarget } from "./authorization_response.ts";
import { isCodeChallenge } from "./pkce.ts";
import type { Client } from "./records/client.ts";
import { selectRedirectUri } from "./redirect_uri.ts";
import type { Parameters } from "./request_body.ts";
import { knownScopes, parseScope } from "./scope.ts";

export interface ValidAuthorizationRequest extends ResponseTarget {
  readonly codeChallenge: string;
  readonly scopes: readonly string[];
  /** `prompt=login`: the passphrase again, whatever the session says. */
  readonly forceSignIn: boolean;
  /** `prompt=none`: answer without showing a page (OpenID Connect Core §3.1.2.1). */
  readonly withoutPages: boolean;
}

/** What can be wrong with a request whose client may be told: its error (RFC 6749 §4.1.2.1) and the text for it. */
export const authorizationProblems = {
  // RFC 9101 objects would override what was checked here.
  request_object: ["request_not_supported", "request is not supported"],
  request_uri: ["request_uri_not_supported", "request_uri is not supported"],
  response_type_missing: ["invalid_request", "response_type is missing"],
  response_type_not_code: ["unsupported_response_type", "response_type must be code"],
  response_mode_not_query: ["invalid_request", "response_mode must be query"],
  grant_not_registered: ["unauthorized_client", "The client is not registered for the authorization code grant"],
  code_challenge_missing: ["invalid_request", "code_challenge is missing"], // OAuth 2.1 §4.1.1
  // An absent method would mean plain (RFC 7636 §4.3), which lets anyone who sees the request redeem the code.
  code_challenge_not_s256: ["invalid_request", "code_challenge_method must be S256"],
  code_challenge_malformed: ["invalid_request", "code_challenge is not an S256 challenge"],
  foreign_resource: ["invalid_target", "The requested resource is not this server's"], // RFC 8707 §2
  // Consent is asked on every authorization.
  prompt_none: ["consent_required", "prompt=none cannot be satisfied"],
} as const satisfies Readonly<Record<string, readonly [AuthorizationError, string]>>;

export type AuthorizationProblem = keyof typeof authorizationProblems;

/** The judgement of a request. */
type AuthorizationVerdict =
  | { readonly kind: "valid"; readonly request: ValidAuthorizationRequest }
  /** Tell the user and redirect nowhere. */
  | { readonly kind: "local"; readonly reason: "redirect_uri_not_registered" }
  | {
    readonly kind: "redirect";
    readonly target: ResponseTarget;
    readonly problem: AuthorizationProblem;
  };

/** What a request is judged by. */
interface AuthorizationRules {
  readonly isAcceptedResource: (values: readonly string[]) => boolean;
  readonly offeredScopes: readonly string[];
}

/** Judges the parameters of a request by a known client. */
export function validateAuthorizationRequest(
  client: Client,
  parameters: Parameters,
  { isAcceptedResource, offeredScopes }: AuthorizationRules,
): AuthorizationVerdict {
  const requested = parameters.get("redirect_uri");
  const redirectUri = selectRedirectUri(requested, client.redirectUris);
  if (redirectUri === null) return { kind: "local", reason: "redirect_uri_not_registered" };
  const target: ResponseTarget = { redirectUri, state: parameters.get("state") ?? null };
  const problem = findProblem(client, parameters, isAcceptedResource);
  if (problem !== null) return { kind: "redirect", target, problem };
  const scopes = requestedScopes(client, parameters.get("scope"), offeredScopes);
  return {
    kind: "valid",
    request: {
      ...target,
      codeChallenge: parameters.get("code_challenge") ?? "",
      scopes,
      forceSignIn: promptsOf(parameters).includes("login"),
      withoutPages: promptsOf(parameters).includes("none"),
    },
  };
}

function findProblem(
  client: Client,
  parameters: Parameters,
  isAcceptedResource: (values: readonly string[]) => boolean,
): AuthorizationProblem | null {
  if (parameters.get("request") !== undefined) return "request_object";
  if (parameters.get("request_uri") !== undefined) return "request_uri";
  const responseType = parameters.get("response_type");
  if (responseType === undefined) return "response_type_missing";
  if (responseType !== "code") return "response_type_not_code";
  if ((parameters.get("response_mode") ?? "query") !== "query") return "response_mode_not_query";
  if (!client.grantTypes.includes("authorization_code")) return "grant_not_registered";
  const challenge = parameters.get("code_challenge");
  if (challenge === undefined) return "code_challenge_missing";
  if (parameters.get("code_challenge_method") !== "S256") return "code_challenge_not_s256";
  if (!isCodeChallenge(challenge)) return "code_challenge_malformed";
  return isAcceptedResource(parameters.getAll("resource")) ? null : "foreign_resource";
}

function promptsOf(parameters: Parameters): string[] {
  return (parameters.get("prompt") ?? "").split(" ");
}

/**
 * The offered ones of the requested scopes; unknown ones are left out (RFC 6749 §3.3). A request without a known one, as
 * of clients that ask every server for `openid offline_access`, gets the default: what the client registered, or all. A
 * client is not held to what it registered, since the user decides about each scope and clients step up to scopes that
 * they learn of later (MCP authorization, scope challenges).
 */
function requestedScopes(client: Client, scope: string | undefined, offered: readonly string[]): readonly string[] {
  const requested = knownScopes(parseScope(scope ?? ""), offered);
  if (requested.length > 0) return requested;
  const registered = knownScopes(client.scopes, offered);
  return registered.length > 0 ? registered : offered;
}
