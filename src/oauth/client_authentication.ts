/** Client authentication at the token, revocation and introspection endpoints (RFC 6749 §2.3, OAuth 2.1 §2.4). */
import { addressKey } from "../lib/address_key.ts";
import type { Clock } from "../lib/clock.ts";
import { failure, type Result, success } from "../lib/result.ts";
import { assertionType, type AssertionVerifier, clientIdOfAssertion } from "./client_assertion.ts";
import type { ClientDirectory } from "./client_directory.ts";
import { matchesHash } from "../lib/random_secret.ts";
import type { Client } from "./records/client.ts";
import type { Parameters } from "./request_body.ts";
import type { RefusalReason } from "./refusal.ts";

/** How a client says who it is. */
type Credentials =
  | { readonly method: "none"; readonly clientId: string }
  | {
    readonly method: "client_secret_basic" | "client_secret_post";
    readonly clientId: string;
    readonly secret: string;
  }
  | { readonly method: "private_key_jwt"; readonly clientId: string; readonly assertion: string };

/** Finds out which client sends a request from `address`. */
export type ClientAuthenticator = (
  request: Request,
  parameters: Parameters,
  address: string,
) => Promise<Result<Client, RefusalReason>>;

/** Builds the authenticator over a way to look clients up and one to check assertions. */
export function createClientAuthenticator(options: {
  readonly findClient: ClientDirectory["find"];
  readonly verifyAssertion: AssertionVerifier;
  readonly clock: Clock;
}): ClientAuthenticator {
  const { findClient, verifyAssertion, clock } = options;
  return async (request, parameters, address) => {
    const read = readCredentials(request, parameters);
    if (!read.ok) return read;
    const credentials = read.value;
    const asker = addressKey(address);
    const client = await findClient(credentials.clientId, asker);
    if (client === null) return failure("unknown_client");
    switch (credentials.method) {
      case "none":
        return client.authentication === "none" ? success(client) : failure("wrong_authentication_method");
      case "client_secret_basic":
      case "client_secret_post":
        return checkSecret(client, credentials, clock());
      case "private_key_jwt":
        return client.authentication === "private_key_jwt"
          ? await verifyAssertion(client, credentials.assertion, asker)
          : failure("wrong_authentication_method");
    }
  };
}

/** What a request says about its client; proves nothing yet. */
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
    return success(
      bodySecret === undefined
        ? { method: "none", clientId: bodyId }
        : { method: "client_secret_post", clientId: bodyId, secret: bodySecret },
    );
  })();
  if (credentials.ok && bodyId !== undefined && bodyId !== credentials.value.clientId) {
    return failure("client_id_mismatch");
  }
  return credentials;
}

function parseAssertion(assertion: string, type: string | undefined): Result<Credentials, RefusalReason> {
  const clientId = type === assertionType ? clientIdOfAssertion(assertion) : null;
  return clientId === null
    ? failure("invalid_client_assertion")
    : success({ method: "private_key_jwt", clientId, assertion });
}

/** RFC 6749 §2.3.1: both halves are form-urlencoded before they are joined. */
function parseBasic(header: string): Result<Credentials, RefusalReason> {
  const encoded = /^basic +([A-Za-z0-9+/]+={0,2})$/i.exec(header)?.[1];
  const pair = encoded === undefined ? "" : Buffer.from(encoded, "base64").toString("utf8");
  const colon = pair.indexOf(":");
  if (colon < 1) return failure("malformed_basic_credentials");
  try {
    const clientId = decodeURIComponent(pair.slice(0, colon).replaceAll("+", " "));
    const secret = decodeURIComponent(pair.slice(colon + 1).replaceAll("+", " "));
    // An empty secret is the same as none.
    return success(secret === "" ? { method: "none", clientId } : { method: "client_secret_basic", clientId, secret });
  } catch {
    return failure("malformed_basic_credentials"); // a stray percent sign
  }
}

/** Whether the secret is the client's, sent in a way that the client registered. */
export function checkSecret(
  client: Client,
  { method, secret }: Extract<Credentials, { secret: string }>,
  now: number,
): Result<Client, RefusalReason> {
  const allowed = client.authentication === method || client.authentication === "client_secret_any";
  if (!allowed || client.secretHash === null) return failure("wrong_authentication_method");
  if (!matchesHash(secret, client.secretHash)) return failure("wrong_client_secret");
  if (client.secretExpiresAt !== 0 && client.secretExpiresAt <= now) return failure("expired_client_secret");
  return success(client);
}
