/**
 * Identity assertions (ID-JAG) that a client brings instead of sending the person to a page: the rules of MCP's
 * Enterprise-Managed Authorization §5.1 and draft-ietf-oauth-identity-assertion-authz-grant §4.4.1.
 */
import { isText } from "./claims.ts";
import { failure, type Result, success } from "../../lib/result.ts";
import type { Provider, ProviderProblem, TokenFault } from "./provider.ts";

/** The grant type (RFC 7523 §2.1). */
export const assertionGrantType = "urn:ietf:params:oauth:grant-type:jwt-bearer" as const;

/** How the metadata names the profile (draft §7.2). */
export const assertionProfile = "urn:ietf:params:oauth:grant-profile:id-jag";

/** What an assertion says, verified. It is still to be used up. */
export interface IdentityAssertion {
  readonly subject: string;
  /** The scopes that the provider allows, as text; `null` where it does not limit them. */
  readonly scope: string | null;
  readonly tokenId: string;
  /** Milliseconds since the epoch. */
  readonly issuedAt: number;
  readonly expiresAt: number;
  readonly claims: Readonly<Record<string, unknown>>;
}

/** Why an assertion is refused. */
type AssertionFault =
  | TokenFault
  | "missing_claim"
  | "wrong_audience"
  | "other_client"
  | "other_resource"
  | "lives_too_long"
  /** It is bound to a key that this server cannot ask for, or limited in a way that it cannot keep. */
  | "unsupported_limit";

/** Its id is remembered for so long; providers give five minutes. */
const maxLifetimeSeconds = 3_600;
const maxIdCharacters = 255;

/** Verifies an assertion that `clientId`, authenticated, presents to `issuer`. */
export async function verifyIdentityAssertion(
  provider: Pick<Provider, "verify">,
  assertion: string,
  { issuer, clientId, isAcceptedResource }: {
    readonly issuer: string;
    readonly clientId: string;
    readonly isAcceptedResource: (values: readonly string[]) => boolean;
  },
): Promise<Result<IdentityAssertion, AssertionFault | ProviderProblem>> {
  const verified = await provider.verify(assertion, ["oauth-id-jag+jwt"]); // RFC 8725 §3.11
  if (!verified.ok) return verified;
  const { claims } = verified.value;
  const { sub, aud, client_id: namedClient, resource, scope, jti, iat, exp } = claims;
  if (!isText(sub, maxIdCharacters) || !isText(jti, maxIdCharacters)) return failure("missing_claim");
  if (typeof iat !== "number" || typeof exp !== "number") return failure("missing_claim");
  // One audience, so that no other server was meant too.
  const audiences = Array.isArray(aud) ? aud : [aud];
  if (audiences.length !== 1 || audiences[0] !== issuer) return failure("wrong_audience");
  if (namedClient !== clientId) return failure("other_client");
  const resources = Array.isArray(resource) ? resource : [resource];
  if (!resources.some((value) => typeof value === "string" && isAcceptedResource([value]))) {
    return failure("other_resource");
  }
  if (scope !== undefined && typeof scope !== "string") return failure("malformed_token");
  // Draft §8.7.2: without a proof of the key, a bound assertion is not good. RFC 9396 §5: limits of unknown kinds count.
  if (claims["cnf"] !== undefined || claims["authorization_details"] !== undefined) return failure("unsupported_limit");
  if (exp - iat > maxLifetimeSeconds) return failure("lives_too_long");
  return success({
    subject: sub,
    scope: scope ?? null,
    tokenId: jti,
    issuedAt: iat * 1_000,
    expiresAt: exp * 1_000,
    claims,
  });
}
