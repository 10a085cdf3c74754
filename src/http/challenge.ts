/** `WWW-Authenticate` values (RFC 6750 §3, RFC 9728 §5.1), built from settings only: no request text gets into one. */
import type { ResourceSpelling, SpellingOf } from "./resource_spelling.ts";

/** The challenges of one resource. */
export interface Challenges {
  /** 401 without a token: no `error`, since nothing was wrong (RFC 6750 §3.1). */
  missingToken(request: Request): string;
  /** 401 for a token that does not work. */
  invalidToken(request: Request): string;
  /** 400 for a malformed Authorization header. */
  invalidRequest(request: Request): string;
  /** 403; `scopes` are those to ask for, so that one step-up is enough. */
  insufficientScope(request: Request, scopes: Iterable<string>): string;
}

/** RFC 9110 §5.6.4: scope names and URLs of ours need no escaping; whatever would is left out. */
function quoted(text: string): string {
  return `"${text.replace(/[^\x20\x21\x23-\x5b\x5d-\x7e]/g, "")}"`;
}

function challenge(parameters: Readonly<Record<string, string>>): string {
  return `Bearer ${Object.entries(parameters).map(([name, value]) => `${name}=${quoted(value)}`).join(", ")}`;
}

/** Builds the challenges; `scopes` are those that a client without a token is told to ask for. */
export function createChallenges(
  options: { readonly spellingOf: SpellingOf; readonly scopes: readonly string[] },
): Challenges {
  const { spellingOf, scopes } = options;
  const prepared = new WeakMap<ResourceSpelling, { missing: string; invalid: string; malformed: string }>();
  const prepare = (spelling: ResourceSpelling) => {
    let values = prepared.get(spelling);
    if (values === undefined) {
      const resource = { resource_metadata: spelling.metadataUrl, scope: scopes.join(" ") };
      values = {
        missing: challenge(resource),
        invalid: challenge({
          error: "invalid_token",
          error_description: "The access token is invalid, expired or revoked",
          ...resource,
        }),
        malformed: challenge({
          error: "invalid_request",
          error_description: "Send one Authorization header with one bearer token",
          ...resource,
        }),
      };
      prepared.set(spelling, values);
    }
    return values;
  };
  return {
    missingToken: (request) => prepare(spellingOf(request)).missing,
    invalidToken: (request) => prepare(spellingOf(request)).invalid,
    invalidRequest: (request) => prepare(spellingOf(request)).malformed,
    insufficientScope: (request, asked) =>
      challenge({
        error: "insufficient_scope",
        error_description: "The access token lacks a scope that this call needs",
        resource_metadata: spellingOf(request).metadataUrl,
        scope: [...asked].join(" "),
      }),
  };
}
