/** The client credentials grant (RFC 6749 §4.4), for confidential clients that the operator made. */
import { failure, success } from "../lib/result.ts";
import type { GrantTypeOptions } from "./authorization_code_grant.ts";
import { clientStillThere } from "./records/client.ts";
import { randomId } from "../lib/random_secret.ts";
import { type Grant, putsOfGrant } from "./records/grant.ts";
import { grantExpiresAt } from "./refresh_token.ts";
import { isWithinScopes, knownScopes, parseScope } from "./scope.ts";
import type { GrantType } from "./token.ts";

export function createClientCredentialsGrant(
  { storage, clock, lifetimes, accessTokens, isAcceptedResource, resource }: GrantTypeOptions,
): GrantType {
  return async (client, parameters) => {
    if (client.origin !== "operator" || client.authentication === "none") return failure("grant_type_not_registered");
    const scope = parameters.get("scope");
    const scopes = scope === undefined ? client.scopes : knownScopes(parseScope(scope));
    if (scopes.length === 0 || !isWithinScopes(parseScope(scope ?? ""), client.scopes)) {
      return failure("scope_exceeds_client");
    }
    if (!isAcceptedResource(parameters.getAll("resource"))) return failure("resource_mismatch");
    const now = clock();
    const clientCheck = await clientStillThere(storage, client);
    if (clientCheck === null) return failure("unknown_client");
    const grant: Grant = {
      id: randomId(),
      subject: client.id, // RFC 9068 §2.2: no person is involved
      kind: "client",
      credentialHash: null,
      clientId: client.id,
      clientName: client.name,
      redirectHost: null,
      scopes,
      resource,
      createdAt: now,
      refresh: null, // RFC 6749 §4.4.3
    };
    const { token } = await accessTokens.issue(grant, scopes);
    const puts = putsOfGrant(grant, grantExpiresAt(null, now, lifetimes));
    // Records of operators' clients change by removal only.
    if (!await storage.commit({ checks: [clientCheck], puts })) return failure("unknown_client");
    return success({ grantId: grant.id, subject: grant.subject, accessToken: token, refreshToken: null, scopes });
  };
}
