/** `POST /oauth/introspect` (RFC 7662): a confidential client asks whether one of its tokens is active. */
import type { Verifier } from "./access_token.ts";
import type { Endpoint } from "../lib/endpoint.ts";
import { holderOf } from "./manage_users.ts";
import type { Client } from "./records.ts";
import { jsonResponse, refuseStep } from "./exchange.ts";
import { withinLimit } from "./scope.ts";
import { findRefreshToken, judgeRefreshToken, readTokenRequest, refreshEndsAt } from "./token.ts";
import type { TokenEndpointOptions } from "./token.ts";

type IntrospectionOptions = TokenEndpointOptions & { readonly verifier: Pick<Verifier, "holderNow"> };

type Described = Readonly<Record<string, unknown>>;

/** §2.2: a token that is inactive, or that the caller may not ask about, is said to be inactive and no more. */
export function createIntrospectEndpoint(options: IntrospectionOptions): Endpoint {
  const { issuer, log } = options;
  return async (request, peer) => {
    const asked = await readTokenRequest(options, "introspection", request, peer);
    if (asked instanceof Response) return asked;
    const { client, token } = asked;
    // §2.1: without client authentication, attackers could test tokens here
    if (client.authentication === "none") {
      return refuseStep({ log, peer }, "introspection", "public_client_may_not_introspect", { client: client.id });
    }
    const describe = token.startsWith("pcr_") ? describeRefreshToken : describeAccessToken;
    const described = await describe(options, client, token);
    const outcome = described === null ? "inactive" : "active";
    log.write("audit", "introspection", { outcome, client: client.id, address: peer.address });
    return jsonResponse(
      described === null ? { active: false } : { active: true, client_id: client.id, iss: issuer, ...described },
    );
  };
}

async function describeAccessToken(
  { accessTokens, resource, verifier }: IntrospectionOptions,
  client: Client,
  token: string,
): Promise<Described | null> {
  const verified = await accessTokens.verify(token);
  if (!verified.ok || verified.value.clientId !== client.id) return null;
  const { subject: sub, tokenId: jti, scopes, issuedAt, expiresAt } = verified.value;
  const holder = await verifier.holderNow(verified.value);
  if (holder === null) return null;
  const scope = withinLimit(scopes, holder.mayGrant).join(" ");
  return { token_type: "Bearer", scope, sub, aud: resource, jti, iat: issuedAt / 1_000, exp: expiresAt / 1_000 };
}

async function describeRefreshToken(
  { storage, secrets, clock, lifetimes, users }: IntrospectionOptions,
  client: Client,
  text: string,
): Promise<Described | null> {
  const found = await findRefreshToken(storage, text);
  if (found === null || found.stored.value.clientId !== client.id) return null;
  const state = judgeRefreshToken(secrets, found, { now: clock(), lifetimes });
  if (state !== "current" && state !== "grace") return null;
  const { subject: sub, scopes } = found.stored.value;
  const holder = holderOf(await users.find(sub), found.stored.value);
  if (holder === null) return null;
  const scope = withinLimit(scopes, holder.mayGrant).join(" ");
  return { scope, sub, exp: Math.floor(refreshEndsAt(found.family) / 1_000) };
}
