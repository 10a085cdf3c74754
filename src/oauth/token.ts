/** `POST /oauth/token` (RFC 6749 §3.2): finds out who asks and hands over to the grant type. */
import type { ClientAuthenticator } from "./client_authentication.ts";
import type { AuthorizationServerOptions } from "./context.ts";
import type { Endpoint, Peer } from "../lib/endpoint.ts";
import { hiddenText } from "./hidden_text.ts";
import { jsonResponse, logStep, type RefusalReason, refuseStep, wrongMethod } from "./refusal.ts";
import type { Result } from "../lib/result.ts";
import type { Client } from "./records/client.ts";
import { type Parameters, readParameters } from "./request_body.ts";

/** What a grant type answers on success (RFC 6749 §5.1). */
export interface IssuedTokens {
  readonly grantId: string;
  readonly subject: string;
  readonly accessToken: string;
  readonly refreshToken: string | null;
  readonly scopes: readonly string[];
}

/** One grant type: from an authenticated client's parameters to tokens. */
export type GrantType = (
  client: Client,
  parameters: Parameters,
  peer: Peer,
) => Promise<Result<IssuedTokens, RefusalReason>>;

export type GrantTypeName = Client["grantTypes"][number];

export function createTokenEndpoint(
  options: Pick<AuthorizationServerOptions, "secrets" | "log" | "limits" | "lifetimes" | "resource"> & {
    readonly authenticateClient: ClientAuthenticator;
    readonly grantTypes: Readonly<Partial<Record<GrantTypeName, GrantType>>>;
  },
): Endpoint {
  const { secrets, log, limits, lifetimes, resource, authenticateClient } = options;
  const grantTypes = new Map<string, GrantType>(Object.entries(options.grantTypes));
  return async (request, peer) => {
    if (request.method !== "POST") return wrongMethod("POST"); // RFC 6749 §3.2
    const parameters = await readParameters(request, limits);
    const to = { log, peer };
    if (!parameters.ok) return refuseStep(to, "token", parameters.error);
    const name = parameters.value.get("grant_type") ?? "";
    const grantType = grantTypes.get(name);
    const fields = { grantType: grantType === undefined ? hiddenText(secrets, name) : name };
    if (grantType === undefined) {
      return refuseStep(to, "token", name === "" ? "missing_grant_type" : "unsupported_grant_type", fields);
    }
    const client = await authenticateClient(request, parameters.value, peer.address);
    if (!client.ok) return refuseStep(to, "token", client.error, fields);
    const clientFields = { client: client.value.id, ...fields };
    if (!(client.value.grantTypes as readonly string[]).includes(name)) {
      return refuseStep(to, "token", "grant_type_not_registered", clientFields);
    }
    const issued = await grantType(client.value, parameters.value, peer);
    if (!issued.ok) {
      const remedy = issued.error === "resource_mismatch" ? `; it must be ${resource}` : "";
      return refuseStep({ ...to, remedy }, "token", issued.error, clientFields);
    }
    const { grantId, subject, accessToken, refreshToken, scopes } = issued.value;
    logStep(to, "token", { outcome: "issued", grant: grantId, user: subject, scopes, ...clientFields });
    return jsonResponse({
      access_token: accessToken,
      token_type: "Bearer",
      expires_in: lifetimes.accessTokenLifetimeSeconds,
      ...(refreshToken === null ? {} : { refresh_token: refreshToken }),
      scope: scopes.join(" "),
    });
  };
}
