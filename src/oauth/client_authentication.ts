/** Client authentication at the token, revocation and introspection endpoints (RFC 6749 §2.3, OAuth 2.1 §2.4). */
import * as z from "zod";
import { createLocalJWKSet, decodeJwt, decodeProtectedHeader, type JWTPayload, jwtVerify } from "@panva/jose";
import { boundedMap } from "../lib/bounded_map.ts";
import type { AuthorizationServerOptions } from "./context.ts";
import type { Timers } from "../lib/time.ts";
import { borneMs, type ClientDirectory } from "./client_directory.ts";
import { parsePublicJwks, type PublicJwks } from "./signing_keys.ts";
import { type Client, defineRecordFamily } from "./records.ts";
import { failure, type Result, success } from "../lib/result.ts";
import { hashSecret, matchesHash } from "../lib/secrets.ts";
import { addressKey } from "../lib/network.ts";
import type { Parameters, RefusalReason } from "./exchange.ts";

interface AuthenticationOptions
  extends Pick<AuthorizationServerOptions, "issuer" | "storage" | "clock" | "fetchDocument"> {
  readonly timers: Pick<Timers, "elapsed">;
  readonly directory: ClientDirectory;
}

const keySetFreshMs = 600_000;
/** Keys that fit no signature are fetched again after this long at the earliest. */
const keySetRetryMs = 60_000;
const maxKeySets = 200;

/** The keys at a jwks_uri. */
interface KeySet {
  readonly jwks: PublicJwks | null;
  readonly fetchedAt: number;
  /** When these very keys were there. */
  readonly seenAt: number;
}

/**
 * Public keys of clients that authenticate by private_key_jwt: stored ones, or those at the client's jwks_uri. `anew`
 * fetches them again, because the known ones did not match.
 */
function createClientKeys({ timers: { elapsed }, fetchDocument, directory }: AuthenticationOptions) {
  const sets = boundedMap<string, KeySet>(maxKeySets);
  return async (
    client: Client,
    { anew, asker }: { readonly anew: boolean; readonly asker: string },
  ): Promise<PublicJwks | null> => {
    // Keys of a metadata document rotate with the document.
    const current = client.origin === "metadata_document" ? await directory.findForKeys(client.id, asker) : client;
    const uri = current?.jwksUri ?? null;
    if (uri === null) return current?.jwks ?? null;
    const known = sets.get(uri);
    // A client that signs with nonsense must not make us fetch for every request.
    const freshMs = anew ? keySetRetryMs : keySetFreshMs;
    if (known !== undefined && elapsed() < known.fetchedAt + freshMs) return known.jwks;
    const fetched = await fetchDocument?.(uri, asker);
    const fetchedAt = elapsed();
    // With an answer that publishes none, the keys were withdrawn.
    const goodMs = fetched?.ok === false ? borneMs.get(fetched.error) ?? 0 : 0;
    const isStillGood = known !== undefined && fetchedAt < known.seenAt + goodMs;
    const jwks = fetched?.ok ? parsePublicJwks(fetched.value.json) : isStillGood ? known.jwks : null;
    sets.set(uri, { jwks, fetchedAt, seenAt: fetched?.ok ? fetchedAt : known?.seenAt ?? -Infinity });
    return jwks;
  };
}

// Client authentication by signed assertion, `private_key_jwt` (RFC 7521 §4.2, RFC 7523 §3).

/** The only `client_assertion_type` there is (RFC 7523 §2.2). */
const assertionType = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

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

/** `["used_assertion", SHA-256 of client and jti]`, expiring. */
const usedAssertions = defineRecordFamily("used_assertion", () => ({ clientId: z.string() }));

const maxAssertionLength = 8_192;
const maxLifetimeSeconds = 600;
const clockToleranceSeconds = 10;

/**
 * The client that an assertion says it is from; not yet proven. `null` when it is no JWT that names one, or of another
 * kind that the same key signed, such as an access token (RFC 8725 §3.11).
 */
function clientIdOfAssertion(assertion: string): string | null {
  if (assertion.length > maxAssertionLength) return null;
  try {
    const { typ = "jwt" } = decodeProtectedHeader(assertion);
    const { sub = "" } = decodeJwt(assertion);
    const isAssertion = ["jwt", "client-authentication+jwt"].includes(typ.toLowerCase());
    return isAssertion && typeof sub === "string" && sub !== "" ? sub : null;
  } catch {
    return null; // not a JWT
  }
}

/** Checks an assertion of a client, and uses it up. */
function createAssertionVerifier(options: AuthenticationOptions) {
  const { issuer, storage, clock } = options;
  const keysOf = createClientKeys(options);
  const audiences = [issuer, ...["token", "revoke", "introspect"].map((name) => `${issuer}/oauth/${name}`)];

  const verify = async (client: Client, assertion: string, jwks: PublicJwks): Promise<JWTPayload | null> => {
    try {
      const { payload } = await jwtVerify(assertion, createLocalJWKSet({ keys: jwks.keys as never }), {
        algorithms: [...assertionAlgorithms],
        issuer: client.id, // RFC 7523 §3 rule 1
        subject: client.id, // rule 2
        audience: audiences, // rule 3: the issuer, or an endpoint that takes assertions
        requiredClaims: ["exp", "jti"], // rules 4 and 7
        currentDate: new Date(clock()),
        clockTolerance: clockToleranceSeconds,
      });
      return payload;
    } catch {
      return null; // no key fits, or a rule is broken; the client is not told which
    }
  };
  return async (client: Client, assertion: string, asker: string): Promise<Result<Client, RefusalReason>> => {
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
      checks: [usedAssertions.check(null, id)],
      puts: [usedAssertions.put(id, { clientId: client.id }, keptUntil)],
    });
    // By a clock that has jumped meanwhile, the mark of an earlier use may have expired, as it then has itself.
    if (keptUntil <= clock()) return failure("invalid_client_assertion");
    return isFirst ? success(client) : failure("replayed_client_assertion");
  };
}

/** One audience, so that it was not meant for another server too, and a life short enough to remember its use. */
function isOrdinary({ aud, exp, iat, jti }: JWTPayload, now: number): boolean {
  const seconds = now / 1_000;
  return (typeof aud === "string" || aud?.length === 1) && typeof jti === "string" && jti !== "" && exp !== undefined &&
    exp <= seconds + maxLifetimeSeconds + clockToleranceSeconds && (iat ?? 0) <= seconds + clockToleranceSeconds;
}

/** How a client says who it is. */
interface Credentials {
  readonly method: "none" | "client_secret_basic" | "client_secret_post" | "private_key_jwt";
  readonly clientId: string;
  /** The secret or the assertion. */
  readonly proof: string;
}

export function createClientAuthenticator(options: AuthenticationOptions) {
  const { clock, directory } = options;
  const verifyAssertion = createAssertionVerifier(options);
  return async (request: Request, parameters: Parameters, address: string): Promise<Result<Client, RefusalReason>> => {
    const read = readCredentials(request, parameters);
    if (!read.ok) return read;
    const { method, clientId, proof } = read.value;
    const asker = addressKey(address);
    const client = await directory.find(clientId, asker);
    if (client === null) return failure("unknown_client");
    if (method === "client_secret_basic" || method === "client_secret_post") {
      return checkSecret(client, read.value, clock());
    }
    if (client.authentication !== method) return failure("wrong_authentication_method");
    return method === "none" ? success(client) : await verifyAssertion(client, proof, asker);
  };
}

/** A request's claim about its client, not yet verified. */
export function readCredentials(request: Request, parameters: Parameters): Result<Credentials, RefusalReason> {
  const header = request.headers.get("authorization");
  const bodyId = parameters.get("client_id");
  const bodySecret = parameters.get("client_secret");
  const assertion = parameters.get("client_assertion");
  const methods = [header ?? undefined, bodySecret, assertion].filter((value) => value !== undefined);
  if (methods.length > 1) return failure("several_authentication_methods"); // RFC 6749 §2.3
  const credentials = ((): Result<Credentials, RefusalReason> => {
    if (header !== null) return parseBasic(header);
    if (assertion !== undefined) return parseAssertion(assertion, parameters.get("client_assertion_type"));
    if (bodyId === undefined) return failure("missing_client");
    const method = bodySecret === undefined ? "none" : "client_secret_post";
    return success({ method, clientId: bodyId, proof: bodySecret ?? "" });
  })();
  if (credentials.ok && bodyId !== undefined && bodyId !== credentials.value.clientId) {
    return failure("client_id_mismatch");
  }
  return credentials;
}

function parseAssertion(assertion: string, type: string | undefined): Result<Credentials, RefusalReason> {
  const clientId = type === assertionType ? clientIdOfAssertion(assertion) : null;
  if (clientId === null) return failure("invalid_client_assertion");
  return success({ method: "private_key_jwt", clientId, proof: assertion });
}

/** RFC 6749 §2.3.1: both halves are form-urlencoded before they are joined. */
function parseBasic(header: string): Result<Credentials, RefusalReason> {
  const encoded = /^basic +([A-Za-z0-9+/]+={0,2})$/i.exec(header)?.[1] ?? "";
  const pair = Buffer.from(encoded, "base64").toString("utf8");
  const colon = pair.indexOf(":");
  if (colon < 1) return failure("malformed_basic_credentials");
  try {
    const [clientId = "", proof = ""] = [pair.slice(0, colon), pair.slice(colon + 1)]
      .map((half) => decodeURIComponent(half.replaceAll("+", " ")));
    // An empty secret is the same as none.
    return success({ method: proof === "" ? "none" : "client_secret_basic", clientId, proof });
  } catch {
    return failure("malformed_basic_credentials"); // a stray percent sign
  }
}

/** Whether the secret is the client's, sent in a way that the client registered. */
export function checkSecret(
  client: Client,
  { method, proof }: Credentials,
  now: number,
): Result<Client, RefusalReason> {
  const allowed = client.authentication === method || client.authentication === "client_secret_any";
  if (!allowed || client.secretHash === null) return failure("wrong_authentication_method");
  if (!matchesHash(proof, client.secretHash)) return failure("wrong_client_secret");
  if (client.secretExpiresAt !== 0 && client.secretExpiresAt <= now) return failure("expired_client_secret");
  return success(client);
}
