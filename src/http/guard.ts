/**
 * The token guard: from a request's Authorization header to a principal. A token that was verified once is answered
 * from memory, synchronously, for as long as its expiry and the store's change count allow; a revocation by any
 * process moves that count, and the next request looks the grant up again.
 */
import { boundedMap } from "../lib/bounded_map.ts";
import { headerOf } from "../lib/served_request.ts";
import type { Clock } from "../lib/clock.ts";
import type { AuthOutcome } from "../lib/principal.ts";
import type { Challenges } from "./challenge.ts";
import type { TokenVerifier } from "./token_verifier.ts";

export interface Guard {
  authenticate(request: Request): AuthOutcome | Promise<AuthOutcome>;
}

interface CachedToken {
  readonly outcome: Extract<AuthOutcome, { kind: "principal" }>;
  /** The change count that was read before the token was last found alive. */
  aliveAt: number;
}

const noToken: AuthOutcome = { kind: "no_token" };
const maxHeaderLength = 8_192;
const maxVerifiedTokens = 100_000; // some 80 MB, where so many are in use

export function createGuard(options: {
  readonly verifier: TokenVerifier;
  readonly challenges: Challenges;
  readonly clock: Clock;
  readonly maxCachedTokens?: number;
}): Guard {
  const { verifier, challenges, clock, maxCachedTokens = maxVerifiedTokens } = options;
  // Keyed by the whole header, so that the hot path neither parses nor copies it.
  const cache = boundedMap<string, CachedToken>(maxCachedTokens);

  const refuse = (request: Request, reason: string): AuthOutcome => ({
    kind: "refused",
    status: 401,
    reason,
    wwwAuthenticate: challenges.invalidToken(request),
  });
  const verify = async (request: Request, header: string, token: string): Promise<AuthOutcome> => {
    // Read first: a revocation during verification then shows as a later count.
    const aliveAt = await verifier.changeCount();
    const verified = await verifier.verify(token);
    if (!verified.ok) return refuse(request, verified.error);
    const outcome = { kind: "principal", principal: verified.value } as const;
    cache.set(header, { outcome, aliveAt });
    return outcome;
  };
  const recheck = async (request: Request, header: string, entry: CachedToken, count: number): Promise<AuthOutcome> => {
    if (await verifier.isLive(entry.outcome.principal)) {
      entry.aliveAt = count;
      return entry.outcome;
    }
    cache.delete(header);
    return refuse(request, await verifier.whyEnded(entry.outcome.principal));
  };
  const judge = (
    request: Request,
    header: string,
    entry: CachedToken,
    count: number,
  ): AuthOutcome | Promise<AuthOutcome> =>
    entry.aliveAt === count ? entry.outcome : recheck(request, header, entry, count);

  return {
    authenticate(request) {
      const header = headerOf(request, "authorization");
      if (header === null) return noToken;
      const entry = cache.get(header);
      if (entry === undefined) {
        const parsed = parseAuthorization(header);
        switch (parsed.kind) {
          case "other_scheme":
            return noToken;
          case "several": {
            const wwwAuthenticate = challenges.invalidRequest(request);
            return { kind: "refused", status: 400, reason: "several_authorizations", wwwAuthenticate };
          }
          case "malformed":
            return refuse(request, "malformed_authorization");
          case "bearer":
            return verify(request, header, parsed.token);
        }
      }
      if (entry.outcome.principal.expiresAt <= clock()) {
        cache.delete(header);
        return refuse(request, "expired_token");
      }
      const count = verifier.changeCount();
      return typeof count === "number"
        ? judge(request, header, entry, count)
        : count.then((value) => judge(request, header, entry, value));
    },
  };
}

type Authorization =
  | { readonly kind: "bearer"; readonly token: string }
  | { readonly kind: "other_scheme" | "several" | "malformed" };

/** RFC 6750 §2.1; the scheme's case does not matter (RFC 9110 §11.1). Several header lines arrive joined by commas. */
function parseAuthorization(header: string): Authorization {
  if (header.length > maxHeaderLength) return { kind: "malformed" };
  const token = /^bearer +([A-Za-z0-9._~+/-]+=*) *$/i.exec(header)?.[1];
  if (token !== undefined) return { kind: "bearer", token };
  if (/(^|,)\s*bearer\b.*,|,\s*bearer\b/i.test(header)) return { kind: "several" };
  return /^bearer\b/i.test(header) ? { kind: "malformed" } : { kind: "other_scheme" };
}
