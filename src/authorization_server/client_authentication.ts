/** Client authentication at the token, revocation and introspection endpoints (RFC 6749 §2.3, OAuth 2.1 §2.4). */
import { Buffer } from "node:buffer";
import type { Clock } from "../lib/clock.ts";
import { failure, type Result, success } from "../lib/result.ts";
import { matchesHash } from "./random_secret.ts";
import type { Client } from "./records/client.ts";
import type { Parameters } from "./request_body.ts";
import type { RefusalReason } from "./refusal.ts";

/** How a client says who it is. */
interface Credentials {
  readonly clientId: string;
  readonly secret: string | null;
  readonly method: "none" | "client_secret_basic" | "client_secret_post";
}

/** Finds out which client sends a request. */
export type ClientAuthenticator = (request: Request, parameters: Parameters) => Promise<Result<Client, RefusalReason>>;

/** Builds the authenticator over a way to look clients up. */
export function createClientAuthenticator(
  options: { readonly findClient: (id: string) => Promise<Client | null>; readonly clock: Clock },
): ClientAuthenticator {
  return async (request, parameters) => {
    const credentials = readCredentials(request, parameters);
    if (!credentials.ok) return credentials;
    const client = await options.findClient(credentials.value.clientId);
    return client === null ? failure("unknown_client") : checkSecret(client, credentials.value, options.clock());
  };
}

function readCredentials(request: Request, parameters: Parameters): Result<Credentials, RefusalReason> {
  const header = request.headers.get("authorization");
  const bodyId = parameters.get("client_id");
  const bodySecret = parameters.get("client_secret");
  if (header === null) {
    if (bodyId === undefined) return failure("missing_client");
    return success(
      bodySecret === undefined
        ? { clientId: bodyId, secret: null, method: "none" }
        : { clientId: bodyId, secret: bodySecret, method: "client_secret_post" },
    );
  }
  if (bodySecret !== undefined) return failure("several_authentication_methods"); // RFC 6749 §2.3
  const basic = parseBasic(header);
  if (basic === null) return failure("malformed_basic_credentials");
  if (bodyId !== undefined && bodyId !== basic.clientId) return failure("client_id_mismatch");
  return success(basic);
}

/** RFC 6749 §2.3.1: both halves are form-urlencoded before they are joined. */
function parseBasic(header: string): Credentials | null {
  const encoded = /^basic +([A-Za-z0-9+/]+={0,2})$/i.exec(header)?.[1];
  if (encoded === undefined) return null;
  const pair = Buffer.from(encoded, "base64").toString("utf8");
  const colon = pair.indexOf(":");
  if (colon < 1) return null;
  try {
    const [clientId, secret] = [pair.slice(0, colon), pair.slice(colon + 1)]
      .map((text) => decodeURIComponent(text.replaceAll("+", " ")));
    return clientId === undefined || secret === undefined ? null : { clientId, secret, method: "client_secret_basic" };
  } catch {
    return null; // a stray percent sign
  }
}

function checkSecret(client: Client, { secret, method }: Credentials, now: number): Result<Client, RefusalReason> {
  if (client.authentication === "none") {
    // RFC 6749 §2.3.1: an empty secret is the same as none.
    return secret === null || secret === "" ? success(client) : failure("wrong_authentication_method");
  }
  const allowed = client.authentication === method ||
    (client.authentication === "client_secret_any" && method !== "none");
  if (!allowed || secret === null || client.secretHash === null) return failure("wrong_authentication_method");
  if (!matchesHash(secret, client.secretHash)) return failure("wrong_client_secret");
  if (client.secretExpiresAt !== 0 && client.secretExpiresAt <= now) return failure("expired_client_secret");
  return success(client);
}
