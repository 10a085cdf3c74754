/**
 * The token guard: from a request's Authorization header to a principal. ServiceNow's and Copilot Studio's clients can
 * send an operator's token as an API key or a Basic password instead; web pages cannot. A token that was verified once
 * is answered from memory, synchronously, for as long as its expiry and the store's change count allow; a revocation by
 * any process moves that count, and the next request looks the grant up again.
 */
import type { AuthOutcome, Principal } from "../lib/principal.ts";
import type { Result } from "../lib/result.ts";
import { boundedMap } from "../lib/bounded_map.ts";
import { headerOf, requestHost } from "../lib/request_text.ts";
import type { Clock } from "../lib/time.ts";
import { whenReady } from "../lib/turns.ts";

// The spellings of this resource's URL, and which of them a request was made to. Unknown hosts are never reflected.

/** Finds the spelling that fits a request's Host, or else the canonical one. */
type SpellingOf = (request: Request) => ReturnType<typeof spell>;

/** A protected resource as clients know it: its identifier (RFC 9728 §1.2), and where its metadata document is (§3.1). */
function spell(resource: string) {
  const url = new URL(resource);
  const path = url.pathname === "/" ? "" : url.pathname;
  return { resource, metadataUrl: `${url.origin}/.well-known/oauth-protected-resource${path}${url.search}` };
}

/** Builds the lookup. The first spelling is the canonical one. */
export function createSpellings(spellings: readonly [string, ...string[]]) {
  const all = spellings.map(spell);
  const canonical = spell(spellings[0]);
  const byHost = new Map(all.toReversed().map((spelling) => [new URL(spelling.resource).host, spelling]));
  const spellingOf: SpellingOf = (request) => {
    const host = requestHost(request)?.toLowerCase() ?? "";
    return byHost.get(host) ?? canonical;
  };
  return { spellingOf, all };
}

// `WWW-Authenticate` values (RFC 6750 §3, RFC 9728 §5.1), built from settings only: no request text gets into one.

/** RFC 9110 §5.6.4: scope names and URLs of ours need no escaping; whatever would is left out. */
const unquotable = /[^\x20\x21\x23-\x5b\x5d-\x7e]/g;

function challenge(parameters: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(parameters).map(([name, value]) => `${name}="${value.replace(unquotable, "")}"`);
  return `Bearer ${pairs.join(", ")}`;
}

/** The challenges of one resource; `scopes` are what a client without a token should request. */
export function createChallenges(
  { spellingOf, scopes }: { readonly spellingOf: SpellingOf; readonly scopes: readonly string[] },
) {
  const challengeFor =
    (error: Readonly<Record<string, string>>, asked: Iterable<string> = scopes) => (request: Request): string =>
      challenge({ ...error, resource_metadata: spellingOf(request).metadataUrl, scope: [...asked].join(" ") });
  const lacksScope = {
    error: "insufficient_scope",
    error_description: "The access token lacks a scope that this call needs",
  };
  return {
    /** The resource that the request was made to. */
    resourceOf: (request: Request): string => spellingOf(request).resource,
    /** 401 without a token: no `error`, since nothing was wrong (RFC 6750 §3.1). */
    missingToken: challengeFor({}),
    /** 401 for a token that does not work. */
    invalidToken: challengeFor({
      error: "invalid_token",
      error_description: "The access token is invalid, expired or revoked",
    }),
    /** 400 for a malformed Authorization header. */
    invalidRequest: challengeFor({
      error: "invalid_request",
      error_description: "Send one Authorization header with one bearer token",
    }),
    /** 403; `asked` are the scopes to ask for, so that one step-up is enough. */
    insufficientScope: (request: Request, asked: Iterable<string>): string => challengeFor(lacksScope, asked)(request),
  };
}

/** Verifies bearer tokens and says when an earlier verification has to be looked at again. */
interface TokenVerifier {
  /** The principal that a token speaks for, or a stable name for what is wrong with it. */
  verify(token: string): Promise<Result<Principal, string>>;
  /** The same for an API key or a Basic password. */
  verifyKey(key: string): Promise<Result<Principal, string>>;
  /** Whether the principal's token is still not revoked. */
  isLive(principal: Principal): Promise<boolean>;
  /** Of a principal that is not live: a stable name for the reason. */
  whyEnded(principal: Principal): Promise<string>;
  /** Differs from an earlier one whenever anything that {@link TokenVerifier.isLive} depends on may have changed. */
  changeCount(): number | Promise<number>;
}

interface CachedToken {
  readonly kind: "bearer" | "key";
  readonly outcome: Extract<AuthOutcome, { kind: "principal" }>;
  /** The change count that was read before the token was last found alive. */
  aliveAt: number;
}

const noToken: AuthOutcome = { kind: "no_token" };
const maxHeaderLength = 8_192;
/** Headers that are longer than this, and than their token needs, are not kept: one token could fill the memory. */
const maxKeyHeader = 300;
const maxVerifiedTokens = 100_000; // some 80 MB, where so many are in use

/**
 * Turns the token of a request into a principal, or into a 401 with its challenge (RFC 6750 §3). Verified tokens are
 * cached; each is checked again once something that could revoke it has changed.
 */
export function createGuard({ verifier, challenges, clock, maxCachedTokens = maxVerifiedTokens }: {
  readonly verifier: TokenVerifier;
  readonly challenges: ReturnType<typeof createChallenges>;
  readonly clock: Clock;
  readonly maxCachedTokens?: number;
}) {
  // Keyed by the whole header, so that the hot path neither parses nor copies it.
  const cache = boundedMap<string, CachedToken>(maxCachedTokens);

  const refuse = (request: Request, reason: string): AuthOutcome => ({
    kind: "refused",
    status: 401,
    reason,
    wwwAuthenticate: challenges.invalidToken(request),
  });
  const verify = async (
    request: Request,
    header: string,
    { kind, token }: Extract<Authorization, { token: string }>,
  ): Promise<AuthOutcome> => {
    // Read first: a revocation during verification then shows as a later count.
    const aliveAt = await verifier.changeCount();
    const verified = await (kind === "key" ? verifier.verifyKey(token) : verifier.verify(token));
    if (!verified.ok) return refuse(request, verified.error);
    const outcome = { kind: "principal", principal: verified.value } as const;
    const maxKept = Math.max(`Bearer ${token}`.length, maxKeyHeader);
    if (header.length <= maxKept) cache.set(header, { kind, outcome, aliveAt });
    return outcome;
  };
  const recheck = async (request: Request, header: string, entry: CachedToken, count: number): Promise<AuthOutcome> => {
    if (await verifier.isLive(entry.outcome.principal)) {
      entry.aliveAt = count;
      return entry.outcome;
    }
    cache.delete(header);
    const parsed = parseAuthorization(header); // a token with fewer scopes than before goes on with those that are left
    const again = "token" in parsed ? await verify(request, header, parsed) : null;
    if (again?.kind === "principal") return again;
    return refuse(request, await verifier.whyEnded(entry.outcome.principal));
  };

  return {
    authenticate(request: Request): AuthOutcome | Promise<AuthOutcome> {
      const header = headerOf(request, "authorization") ?? apiKeyHeader(request);
      if (header === null) return noToken;
      const found = cache.get(header) ?? parseAuthorization(header);
      switch (found.kind) {
        case "other_scheme":
          return noToken;
        case "several": {
          const wwwAuthenticate = challenges.invalidRequest(request);
          return { kind: "refused", status: 400, reason: "several_authorizations", wwwAuthenticate };
        }
        case "malformed":
          return refuse(request, "malformed_authorization");
        case "key":
          if (isFromPage(request, challenges.resourceOf(request))) return refuse(request, "key_from_a_page");
      }
      if ("token" in found) return verify(request, header, found);
      if (found.outcome.principal.expiresAt <= clock()) {
        cache.delete(header);
        return refuse(request, "expired_token");
      }
      return whenReady(
        verifier.changeCount(),
        (count) => found.aliveAt === count ? found.outcome : recheck(request, header, found, count),
      );
    },
  };
}

type Authorization =
  | { readonly kind: "bearer" | "key"; readonly token: string }
  | { readonly kind: "other_scheme" | "several" | "malformed" };

/** RFC 6750 §2.1; the scheme's case does not matter (RFC 9110 §11.1). Several header lines arrive joined by commas. */
function parseAuthorization(header: string): Authorization {
  if (header.length > maxHeaderLength) return { kind: "malformed" };
  const token = /^bearer +([A-Za-z0-9._~+/-]+=*) *$/i.exec(header)?.[1];
  if (token !== undefined) return { kind: "bearer", token };
  if (header.startsWith(apiKeyMark)) return { kind: "key", token: header.slice(apiKeyMark.length).trim() };
  if (/(^|,)\s*bearer\b.*,|,\s*bearer\b/i.test(header)) return { kind: "several" };
  if (/^basic\b/i.test(header)) return { kind: "key", token: passwordOf(header) };
  return /^bearer\b/i.test(header) ? { kind: "malformed" } : { kind: "other_scheme" };
}

/** In front of an API key, so that no Authorization header reads the same. */
const apiKeyMark = "\n";

/** `Authorization` wins if both are sent: gateways on the way have their own API keys. */
function apiKeyHeader(request: Request): string | null {
  const key = headerOf(request, "x-api-key");
  return key === null ? null : apiKeyMark + key;
}

/** RFC 7617 §2: what follows the first colon; the user name does not count. Empty if it has none. */
function passwordOf(header: string): string {
  const encoded = /^basic +([A-Za-z0-9+/]+={0,2}) *$/i.exec(header)?.[1] ?? "";
  const pair = Buffer.from(encoded, "base64").toString("utf8");
  return pair.includes(":") ? pair.slice(pair.indexOf(":") + 1) : "";
}

/** Whether a web page that is not ours made the request: a browser sends a Basic password it knows for any page. */
function isFromPage(request: Request, resource: string): boolean {
  const origin = headerOf(request, "origin");
  const site = headerOf(request, "sec-fetch-site");
  return (origin !== null && origin.toLowerCase() !== new URL(resource).origin) ||
    site === "cross-site" || site === "same-site";
}

// The protected resource's metadata document (RFC 9728 §2).

/** Builds the endpoint; it serves the root and the path-suffixed well-known location alike. */
export function createResourceMetadataEndpoint(
  options: { readonly spellingOf: SpellingOf; readonly issuer: string; readonly scopes: readonly string[] },
): (request: Request) => Response {
  const { spellingOf, issuer, scopes } = options;
  return (request) => {
    if (request.method !== "GET" && request.method !== "HEAD") {
      return Response.json({ error: "invalid_request" }, { status: 405, headers: { allow: "GET, HEAD" } });
    }
    const document = {
      resource: spellingOf(request).resource,
      authorization_servers: [issuer],
      scopes_supported: scopes,
      bearer_methods_supported: ["header"],
      resource_name: "Portcullis",
    };
    // The document depends on the Host of the request, so a cache keyed by path alone must not keep it.
    return Response.json(document, { headers: { "cache-control": "public, max-age=300", vary: "Host" } });
  };
}
