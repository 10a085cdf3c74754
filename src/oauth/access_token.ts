/** Access tokens: JWTs of the profile RFC 9068, signed with EdDSA, each tied to a grant. */
import * as z from "zod";
import type { Clock } from "../lib/time.ts";
import { failure, type Result, success } from "../lib/result.ts";
import { loadOnce } from "../lib/program.ts";
import { randomId } from "../lib/random_secret.ts";
import type { Grant } from "./records.ts";
import { parseScope } from "./scope.ts";
import { maxAccessTokenLifetimeSeconds } from "./mod_settings.ts";
import type { SigningKeys } from "./signing_keys.ts";

// RFC 9068 §2.2, and the grant that the token hangs on. A token with other claims was not made here.
const claimsSchema = z.lazy(() =>
  z.strictObject({
    iss: z.string(),
    aud: z.string(),
    sub: z.string().min(1),
    client_id: z.string().min(1),
    scope: z.string(),
    exp: z.int().positive(),
    iat: z.int().positive(),
    jti: z.string().min(1),
    grant_id: z.string().min(1),
  })
);

const loadJose = loadOnce(() => import("@panva/jose"));

/** How far the clocks of two instances may be apart. */
const clockLeewaySeconds = 90;

const headerSchema = z.lazy(() =>
  z.strictObject({ alg: z.literal("EdDSA"), typ: z.literal("at+jwt"), kid: z.string() })
);

export interface AccessTokenClaims {
  readonly subject: string;
  readonly clientId: string;
  readonly grantId: string;
  readonly tokenId: string;
  /** The key that signed it. */
  readonly keyId: string;
  readonly scopes: readonly string[];
  readonly audience: string;
  readonly issuedAt: number;
  readonly expiresAt: number;
}

export type AccessTokenProblem =
  | "malformed_token"
  | "foreign_token_header"
  | "unknown_signing_key"
  | "bad_signature"
  | "wrong_claims"
  | "wrong_issuer"
  | "wrong_audience"
  | "expired_token";

/** Signs and verifies access tokens. Verification does not know about revocation. */
export interface AccessTokens {
  issue(grant: Grant, scopes: readonly string[]): Promise<{ readonly token: string; readonly expiresAt: number }>;
  verify(token: string): Promise<Result<AccessTokenClaims, AccessTokenProblem>>;
}

const compactPattern = /^([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]{86})$/;

/** The parts that may be looked at before the signature is checked, or why there is nothing to check. */
function parseHeader(token: string): Result<{ kid: string }, AccessTokenProblem> {
  const [, header = "", , signature = ""] = compactPattern.exec(token) ?? [];
  // Only one spelling of a signature: the unused bits of its last character must be zero.
  if (header === "" || Buffer.from(signature, "base64url").toString("base64url") !== signature) {
    return failure("malformed_token");
  }
  let parsed: unknown;
  try {
    parsed = JSON.parse(Buffer.from(header, "base64url").toString("utf8"));
  } catch {
    return failure("malformed_token");
  }
  // RFC 8725 §3: our tokens have these three members; `jwk`, `jku`, `x5u`, `x5c`, `crit` and others are not ours.
  const checked = headerSchema.safeParse(parsed);
  return checked.success ? success(checked.data) : failure("foreign_token_header");
}

/** Access tokens of one issuer for one resource. */
export function createAccessTokens(options: {
  readonly issuer: string;
  readonly resource: string;
  readonly lifetimeSeconds: number;
  readonly signingKeys: SigningKeys;
  readonly clock: Clock;
}): AccessTokens {
  const { issuer, resource, lifetimeSeconds, signingKeys, clock } = options;
  return {
    async issue(grant, scopes) {
      const { kid, privateKey } = await signingKeys.current();
      const issuedAt = Math.floor(clock() / 1_000);
      const expiresAt = issuedAt + lifetimeSeconds;
      const { SignJWT } = await loadJose();
      const token = await new SignJWT({ client_id: grant.clientId, scope: scopes.join(" "), grant_id: grant.id })
        .setProtectedHeader({ alg: "EdDSA", typ: "at+jwt", kid })
        .setIssuer(issuer).setAudience(resource).setSubject(grant.subject)
        .setIssuedAt(issuedAt).setExpirationTime(expiresAt).setJti(randomId())
        .sign(privateKey);
      return { token, expiresAt: expiresAt * 1_000 };
    },
    async verify(token) {
      const header = parseHeader(token);
      if (!header.ok) return header;
      const key = await signingKeys.find(header.value.kid);
      if (key === null) return failure("unknown_signing_key");
      const { compactVerify } = await loadJose();
      let payload: unknown;
      try {
        const verified = await compactVerify(token, key, { algorithms: ["EdDSA"] });
        payload = JSON.parse(new TextDecoder().decode(verified.payload));
      } catch {
        return failure("bad_signature");
      }
      const parsed = claimsSchema.safeParse(payload);
      if (!parsed.success) return failure("wrong_claims"); // RFC 9068 §4
      const claims = parsed.data;
      const isIssuedLater = claims.iat > clock() / 1_000 + clockLeewaySeconds;
      if (isIssuedLater || claims.exp - claims.iat > maxAccessTokenLifetimeSeconds) return failure("wrong_claims");
      if (claims.iss !== issuer) return failure("wrong_issuer");
      if (claims.aud !== resource) return failure("wrong_audience");
      const expiresAt = claims.exp * 1_000;
      if (expiresAt <= clock()) return failure("expired_token");
      return success({
        subject: claims.sub,
        clientId: claims.client_id,
        grantId: claims.grant_id,
        tokenId: claims.jti,
        keyId: header.value.kid,
        scopes: parseScope(claims.scope),
        audience: claims.aud,
        issuedAt: claims.iat * 1_000,
        expiresAt,
      });
    },
  };
}
