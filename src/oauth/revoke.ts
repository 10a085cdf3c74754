/** `POST /oauth/revoke` (RFC 7009): a client ends one of its tokens. */
import type { AccessTokens } from "./access_token.ts";
import type { ClientAuthenticator } from "./client_authentication.ts";
import type { AuthorizationServerOptions } from "./context.ts";
import type { Endpoint } from "../lib/endpoint.ts";
import { type Client, revokedTokens, revokeGrant } from "./records.ts";
import { findRefreshToken, judgeRefreshToken } from "./token.ts";
import { noStore, type RefusalReason, refuseStep, wrongMethod } from "./refusal.ts";
import { readParameters } from "./request_body.ts";

interface RevokeOptions extends AuthorizationServerOptions {
  readonly authenticateClient: ClientAuthenticator;
  readonly accessTokens: AccessTokens;
}

/** `foreign`: it belongs to another client. */
type Outcome = "nothing" | "foreign" | { what: "grant" | "access_token"; grant: string; user: string };

/** Only verified tokens count: a forged one with another token's `jti` does nothing. */
export function createRevokeEndpoint(options: RevokeOptions): Endpoint {
  const { log, limits, authenticateClient } = options;
  return async (request, { address }) => {
    if (request.method !== "POST") return wrongMethod("POST");
    const refuse = (reason: RefusalReason, client?: string): Response =>
      refuseStep({ log, peer: { address } }, "revocation", reason, { client });
    const parameters = await readParameters(request, limits);
    if (!parameters.ok) return refuse(parameters.error);
    const client = await authenticateClient(request, parameters.value, address);
    if (!client.ok) return refuse(client.error);
    const { id } = client.value;
    const token = parameters.value.get("token");
    if (token === undefined) return refuse("missing_token", id);
    const outcome = await (token.startsWith("pcr_") ? revokeRefreshToken : revokeAccessToken)(
      options,
      client.value,
      token,
    );
    // RFC 7009 §2.1: another client's token is refused. §2.2: an invalid token is not an error.
    if (outcome === "foreign") return refuse("token_of_another_client", id);
    const done = outcome === "nothing" ? { outcome: "nothing_to_revoke" } : { outcome: "revoked", ...outcome };
    log.write("audit", "revocation", { ...done, client: id, address });
    return new Response(null, { headers: noStore });
  };
}

/** RFC 7009 §2.1: with a refresh token the whole grant ends, its access tokens included. */
async function revokeRefreshToken(
  { storage, secrets, clock, lifetimes }: RevokeOptions,
  client: Client,
  text: string,
): Promise<Outcome> {
  const found = await findRefreshToken(storage, text);
  if (found === null || judgeRefreshToken(secrets, found, { now: clock(), lifetimes }) === "forged") {
    return "nothing";
  }
  const { id, clientId, subject } = found.stored.value;
  if (clientId !== client.id) return "foreign";
  await revokeGrant(storage, id);
  return { what: "grant", grant: id, user: subject };
}

async function revokeAccessToken(
  { storage, clock, accessTokens }: RevokeOptions,
  client: Client,
  token: string,
): Promise<Outcome> {
  const verified = await accessTokens.verify(token);
  if (!verified.ok) return "nothing";
  const { clientId, tokenId, grantId, subject, expiresAt } = verified.value;
  if (clientId !== client.id) return "foreign";
  await storage.commit({ puts: [revokedTokens.put(tokenId, { revokedAt: clock() }, expiresAt)] });
  return { what: "access_token", grant: grantId, user: subject };
}
