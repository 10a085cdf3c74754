/** Client authentication by signed assertion, `private_key_jwt` (RFC 7521 §4.2, RFC 7523 §3). */
import { createLocalJWKSet, decodeJwt, decodeProtectedHeader, type JWTPayload, jwtVerify } from "@panva/jose";
import type { Clock } from "../lib/clock.ts";
import { failure, type Result, success } from "../lib/result.ts";
import type { Storage } from "../storage/port.ts";
import type { KeysOfClient } from "./client_keys.ts";
import type { PublicJwks } from "./jwks.ts";
import { hashSecret } from "../lib/random_secret.ts";
import type { Client } from "./records/client.ts";
import { usedAssertions } from "./records/marks.ts";

/** The only `client_assertion_type` there is (RFC 7523 §2.2). */
export const assertionType = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

/** Signature algorithms that assertions may use: asymmetric ones only, so that no public key serves as an HMAC secret. */
export const assertionAlgorithms: readonly string[] = [
  "EdDSA",
  "ES256",
  "ES384",
  "ES512",
  "PS256",
  "PS384",
  "PS512",
  "RS256",
  "RS384",
  "RS512",
];

/** Why an assertion is refused. */
type AssertionProblem = "invalid_client_assertion" | "replayed_client_assertion";

/** Checks an assertion of a client, and uses it up. */
export type AssertionVerifier = (
  client: Client,
  assertion: string,
  asker: string,
) => Promise<Result<Client, AssertionProblem>>;

const maxAssertionLength = 8_192;
const maxLifetimeSeconds = 600;
const clockToleranceSeconds = 10;

/** The client that an assertion says it is from; not yet proven. `null` when it is no JWT that names one. */
export function clientIdOfAssertion(assertion: string): string | null {
  if (assertion.length > maxAssertionLength) return null;
  try {
    const { sub } = decodeJwt(assertion);
    return typeof sub === "string" && sub !== "" ? sub : null;
  } catch {
    return null; // not a JWT
  }
}

/** Builds the verifier. `audiences` are the issuer and the URLs of the endpoints that take assertions. */
export function createAssertionVerifier(options: {
  readonly storage: Storage;
  readonly clock: Clock;
  readonly audiences: readonly string[];
  readonly keysOf: KeysOfClient;
}): AssertionVerifier {
  const { storage, clock, audiences, keysOf } = options;

  const verify = async (client: Client, assertion: string, jwks: PublicJwks): Promise<JWTPayload | null> => {
    try {
      const { payload } = await jwtVerify(assertion, createLocalJWKSet({ keys: jwks.keys as never }), {
        algorithms: [...assertionAlgorithms],
        issuer: client.id, // RFC 7523 §3 rule 1
        subject: client.id, // rule 2
        audience: [...audiences], // rule 3
        requiredClaims: ["exp", "jti"], // rules 4 and 7
        currentDate: new Date(clock()),
        clockTolerance: clockToleranceSeconds,
      });
      return payload;
    } catch {
      return null; // no key fits, or a rule is broken; the client is not told which
    }
  };
  return async (client, assertion, asker) => {
    if (assertion.length > maxAssertionLength || !hasAcceptableType(assertion)) {
      return failure("invalid_client_assertion");
    }
    const known = await keysOf(client, { anew: false, asker });
    let payload = known === null ? null : await verify(client, assertion, known);
    if (payload === null) {
      const renewed = await keysOf(client, { anew: true, asker });
      if (renewed !== null && renewed !== known) payload = await verify(client, assertion, renewed);
    }
    if (payload === null || !isOrdinary(payload, clock())) return failure("invalid_client_assertion");
    const { jti = "", exp = 0 } = payload;
    const id = hashSecret(`${client.id}\n${jti}`);
    // RFC 7523 §3 rule 7: one assertion, one use; of parallel ones in any process the first wins.
    const keptUntil = (exp + clockToleranceSeconds + 1) * 1_000;
    const isFirst = await storage.commit({
      checks: [{ key: usedAssertions.key(id), version: null }],
      puts: [usedAssertions.put(id, { clientId: client.id }, keptUntil)],
    });
    // By a clock that has jumped meanwhile, the mark of an earlier use may have expired, as it then has itself.
    if (keptUntil <= clock()) return failure("invalid_client_assertion");
    return isFirst ? success(client) : failure("replayed_client_assertion");
  };
}

/** Another kind of JWT that the same key signed, such as an access token, is no assertion (RFC 8725 §3.11). */
function hasAcceptableType(assertion: string): boolean {
  try {
    const { typ } = decodeProtectedHeader(assertion);
    return typ === undefined || ["jwt", "client-authentication+jwt"].includes(typ.toLowerCase());
  } catch {
    return false; // not a JWT
  }
}

/** One audience, so that it was not meant for another server too, and a life short enough to remember its use. */
function isOrdinary({ aud, exp, iat, jti }: JWTPayload, now: number): boolean {
  const seconds = now / 1_000;
  return (typeof aud === "string" || aud?.length === 1) && typeof jti === "string" && jti !== "" && exp !== undefined &&
    exp <= seconds + maxLifetimeSeconds + clockToleranceSeconds && (iat ?? 0) <= seconds + clockToleranceSeconds;
}
