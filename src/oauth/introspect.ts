/** `POST /oauth/introspect` (RFC 7662): a confidential client asks whether one of its tokens is active. */
import type { AccessTokens, createLivenessCheck } from "./access_token.ts";
import type { ClientAuthenticator } from "./client_authentication.ts";
import type { AuthorizationServerOptions } from "./context.ts";
import type { Endpoint, Peer } from "../lib/endpoint.ts";
import { type Client, revokedTokens, revokeGrant } from "./records.ts";
import { findRefreshToken, judgeRefreshToken, refreshEndsAt } from "./token.ts";
import { jsonResponse, noStore, refuseLogged, wrongMethod } from "./refusal.ts";
import { readParameters } from "./request_body.ts";
import { holderOf, type UserDirectory } from "./manage_users.ts";
import { withinLimit } from "./scope.ts";

interface TokenOptions extends AuthorizationServerOptions {
  readonly authenticateClient: ClientAuthenticator;
  readonly accessTokens: AccessTokens;
  readonly users: UserDirectory;
  readonly holderOfToken: ReturnType<typeof createLivenessCheck>;
}

/** A client's question about a token, or the refusal. */
async function readTokenRequest(
  { log, limits, authenticateClient }: TokenOptions,
  event: "introspection" | "revocation",
  request: Request,
  { address }: Peer,
): Promise<{ readonly client: Client; readonly token: string } | Response> {
  if (request.method !== "POST") return wrongMethod("POST");
  const parameters = await readParameters(request, limits);
  if (!parameters.ok) return refuseLogged(log, event, parameters.error, { address });
  const client = await authenticateClient(request, parameters.value, address);
  if (!client.ok) return refuseLogged(log, event, client.error, { address });
  const fields = { client: client.value.id, address };
  // RFC 7662 §2.1: without client authentication, attackers could test tokens here.
  if (event === "introspection" && client.value.authentication === "none") {
    return refuseLogged(log, event, "public_client_may_not_introspect", fields);
  }
  const token = parameters.value.get("token");
  return token === undefined ? refuseLogged(log, event, "missing_token", fields) : { client: client.value, token };
}

/** RFC 7662 §2.2: an inactive token, or one that the caller may not ask about, is reported as inactive and no more. */
const inactive = { active: false } as const;

export function createIntrospectEndpoint(options: TokenOptions): Endpoint {
  return async (request, peer) => {
    const asked = await readTokenRequest(options, "introspection", request, peer);
    if (asked instanceof Response) return asked;
    const { client, token } = asked;
    const answer = await (token.startsWith("pcr_") ? describeRefreshToken : describeAccessToken)(
      options,
      client,
      token,
    );
    const outcome = answer["active"] === true ? "active" : "inactive";
    options.log.write("audit", "introspection", { outcome, client: client.id, address: peer.address });
    return jsonResponse(answer);
  };
}

async function describeAccessToken(
  { issuer, accessTokens, holderOfToken }: TokenOptions,
  client: Client,
  token: string,
): Promise<Record<string, unknown>> {
  const verified = await accessTokens.verify(token);
  if (!verified.ok || verified.value.clientId !== client.id) return inactive;
  const claims = verified.value;
  const holder = await holderOfToken(claims);
  if (holder === null) return inactive;
  return {
    active: true,
    token_type: "Bearer",
    scope: withinLimit(claims.scopes, holder.mayGrant).join(" "),
    client_id: claims.clientId,
    sub: claims.subject,
    aud: claims.audience,
    iss: issuer,
    jti: claims.tokenId,
    iat: claims.issuedAt / 1_000,
    exp: claims.expiresAt / 1_000,
  };
}

async function describeRefreshToken(
  { issuer, storage, secrets, clock, lifetimes, users }: TokenOptions,
  client: Client,
  text: string,
): Promise<Record<string, unknown>> {
  const found = await findRefreshToken(storage, text);
  if (found === null || found.stored.value.clientId !== client.id) return inactive;
  const grant = found.stored.value;
  const verdict = judgeRefreshToken(secrets, found, { now: clock(), lifetimes });
  if (verdict.kind !== "current" && verdict.kind !== "grace") return inactive;
  const holder = await holderOf(users, grant);
  if (holder === null) return inactive;
  return {
    active: true,
    scope: withinLimit(grant.scopes, holder.mayGrant).join(" "),
    client_id: grant.clientId,
    sub: grant.subject,
    iss: issuer,
    exp: Math.floor(refreshEndsAt(found.family) / 1_000),
  };
}

/** `foreign`: it belongs to another client. */
type Outcome = "nothing" | "foreign" | { what: "grant" | "access_token"; grant: string; user: string };

/**
 * `POST /oauth/revoke` (RFC 7009). Only verified tokens count: a forged one with another token's `jti` does nothing.
 */
export function createRevokeEndpoint(options: TokenOptions): Endpoint {
  const { log } = options;
  return async (request, peer) => {
    const asked = await readTokenRequest(options, "revocation", request, peer);
    if (asked instanceof Response) return asked;
    const { client, token } = asked;
    const fields = { client: client.id, address: peer.address };
    const outcome = await (token.startsWith("pcr_") ? revokeRefreshToken : revokeAccessToken)(options, client, token);
    // RFC 7009 §2.1: another client's token is refused. §2.2: an invalid token is not an error.
    if (outcome === "foreign") return refuseLogged(log, "revocation", "token_of_another_client", fields);
    const done = outcome === "nothing" ? { outcome: "nothing_to_revoke" } : { outcome: "revoked", ...outcome };
    log.write("audit", "revocation", { ...done, ...fields });
    return new Response(null, { headers: noStore });
  };
}

/** RFC 7009 §2.1: with a refresh token the whole grant ends, its access tokens included. */
async function revokeRefreshToken(
  { storage, secrets, clock, lifetimes }: TokenOptions,
  client: Client,
  text: string,
): Promise<Outcome> {
  const found = await findRefreshToken(storage, text);
  if (found === null || judgeRefreshToken(secrets, found, { now: clock(), lifetimes }).kind === "forged") {
    return "nothing";
  }
  const { id, clientId, subject } = found.stored.value;
  if (clientId !== client.id) return "foreign";
  await revokeGrant(storage, id);
  return { what: "grant", grant: id, user: subject };
}

async function revokeAccessToken(
  { storage, clock, accessTokens }: TokenOptions,
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
