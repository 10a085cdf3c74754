/** `POST /oauth/introspect` (RFC 7662): a confidential client asks whether one of its tokens is active. */
import type { AccessTokens } from "./access_token.ts";
import type { ClientAuthenticator } from "./client_authentication.ts";
import type { AuthorizationServerOptions } from "./context.ts";
import type { Endpoint } from "../lib/endpoint.ts";
import type { Client } from "./records/client.ts";
import { grants } from "./records/grant.ts";
import { judgeRefreshToken, parseRefreshToken, refreshIdleLifetimeSeconds } from "./refresh_token.ts";
import { jsonResponse, refuseLogged, wrongMethod } from "./refusal.ts";
import { readParameters } from "./request_body.ts";
import { isLiveGrant, type UserDirectory } from "./user_directory.ts";
import type { LivenessCheck } from "./verifier.ts";

interface IntrospectOptions
  extends
    Pick<AuthorizationServerOptions, "issuer" | "storage" | "secrets" | "clock" | "log" | "limits" | "lifetimes"> {
  readonly authenticateClient: ClientAuthenticator;
  readonly accessTokens: AccessTokens;
  readonly users: UserDirectory;
  readonly isLiveToken: LivenessCheck;
}

/** RFC 7662 §2.2: nothing is said about a token that is not active, nor about one that is none of the caller's business. */
const inactive = { active: false } as const;

export function createIntrospectEndpoint(options: IntrospectOptions): Endpoint {
  const { log, limits, authenticateClient } = options;
  return async (request, peer) => {
    if (request.method !== "POST") return wrongMethod("POST");
    const fields = { address: peer.address };
    const parameters = await readParameters(request, limits);
    if (!parameters.ok) return refuseLogged(log, "introspection", parameters.error, fields);
    const client = await authenticateClient(request, parameters.value, peer.address);
    if (!client.ok) return refuseLogged(log, "introspection", client.error, fields);
    const clientFields = { client: client.value.id, ...fields };
    // RFC 7662 §2.1: without client authentication, attackers could test tokens here.
    if (client.value.authentication === "none") {
      return refuseLogged(log, "introspection", "public_client_may_not_introspect", clientFields);
    }
    const token = parameters.value.get("token");
    if (token === undefined) return refuseLogged(log, "introspection", "missing_token", clientFields);
    const answer = token.startsWith("pcr_")
      ? await describeRefreshToken(options, client.value, token)
      : await describeAccessToken(options, client.value, token);
    log.write("audit", "introspection", {
      outcome: answer["active"] === true ? "active" : "inactive",
      ...clientFields,
    });
    return jsonResponse(answer);
  };
}

async function describeAccessToken(
  { issuer, accessTokens, isLiveToken }: IntrospectOptions,
  client: Client,
  token: string,
): Promise<Record<string, unknown>> {
  const verified = await accessTokens.verify(token);
  if (!verified.ok || verified.value.clientId !== client.id) return inactive;
  const claims = verified.value;
  if (!await isLiveToken(claims)) return inactive;
  return {
    active: true,
    token_type: "Bearer",
    scope: claims.scopes.join(" "),
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
  { issuer, storage, secrets, clock, lifetimes, users }: IntrospectOptions,
  client: Client,
  text: string,
): Promise<Record<string, unknown>> {
  const presented = parseRefreshToken(text);
  const grant = presented === null ? null : (await grants.read(storage, presented.grantId))?.value ?? null;
  const family = grant?.refresh ?? null;
  if (presented === null || grant === null || family === null || grant.clientId !== client.id) return inactive;
  const verdict = judgeRefreshToken(secrets, presented, family, { now: clock(), lifetimes });
  if (verdict.kind !== "current" && verdict.kind !== "grace") return inactive;
  if (!await isLiveGrant(users, grant)) return inactive;
  const idleEnd = family.lastUsedAt + refreshIdleLifetimeSeconds * 1_000;
  return {
    active: true,
    scope: grant.scopes.join(" "),
    client_id: grant.clientId,
    sub: grant.subject,
    iss: issuer,
    exp: Math.floor(Math.min(family.endsAt, idleEnd) / 1_000),
  };
}
