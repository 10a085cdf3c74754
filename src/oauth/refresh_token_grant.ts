/** The refresh grant (RFC 6749 §6): rotation with an idempotent grace window and family revocation on reuse. */
import { failure, type Result, success } from "../lib/result.ts";
import type { GrantTypeOptions } from "./authorization_code_grant.ts";
import { type Client, clientStillThere } from "./records/client.ts";
import { conflict, retryOnConflict, type Stored, unchanged } from "./records/record_family.ts";
import { type Grant, grants, putsOfGrant, revokeGrant } from "./records/grant.ts";
import { grantExpiresAt, judgeRefreshToken, parseRefreshToken, type RefreshFamily, refreshTokenOf, rotateRefreshFamily } from "./refresh_token.ts";
import type { RefusalReason } from "./refusal.ts";
import type { Parameters } from "./request_body.ts";
import { isWithinScopes, knownScopes, parseScope } from "./scope.ts";
import type { GrantType, IssuedTokens } from "./token.ts";
import { isLiveGrant } from "./user_directory.ts";

export function createRefreshTokenGrant(options: GrantTypeOptions): GrantType {
  const { storage, secrets, clock, agreedClock, log, lifetimes } = options;
  return (client, parameters, { address }) =>
    retryOnConflict(async (): Promise<Result<IssuedTokens, RefusalReason> | typeof conflict> => {
      const text = parameters.get("refresh_token");
      if (text === undefined) return failure("missing_refresh_token");
      const presented = parseRefreshToken(text);
      const stored = presented === null ? null : await grants.read(storage, presented.grantId);
      const family = stored?.value.refresh ?? null;
      if (presented === null || stored === null || family === null) return failure("unknown_refresh_token");
      if (stored.value.clientId !== client.id) return failure("refresh_token_of_another_client");
      for (const { at } of family.rotations) agreedClock.catchUp(at);
      const verdict = judgeRefreshToken(secrets, presented, family, {
        now: clock(),
        graceNow: agreedClock.now(),
        lifetimes,
      });
      switch (verdict.kind) {
        case "forged":
          return failure("unknown_refresh_token");
        case "expired":
          return failure("expired_refresh_token");
        case "reused": {
          // RFC 9700 §4.14.2: one of the two holders stole the token, and it is unknown which.
          await revokeGrant(storage, presented.grantId);
          const { id, subject } = stored.value;
          log.write("audit", "grant_revoked", {
            reason: "reused_refresh_token",
            grant: id,
            user: subject,
            client: client.id,
          });
          return failure("reused_refresh_token");
        }
        case "current":
        case "grace": {
          const scopes = narrowedScopes(stored.value, parameters);
          if (scopes === null) return failure("scope_exceeds_grant");
          if (!options.isAcceptedResource(parameters.getAll("resource"))) return failure("resource_mismatch");
          if (!await isLiveGrant(options.users, stored.value)) return failure("user_not_active");
          const generation = verdict.kind === "grace" ? verdict.generation : null;
          return await answer(options, { stored, family, client, scopes, generation, address });
        }
      }
    });
}

/**
 * RFC 6749 §6: the same scope or a narrower one, for this access token only. Unknown names are left out, as at the
 * authorization endpoint: clients repeat the scope that they asked for there.
 */
function narrowedScopes(grant: Grant, parameters: Parameters): string[] | null {
  const requested = knownScopes(parseScope(parameters.get("scope") ?? ""));
  if (requested.length === 0) return grant.scopes;
  return isWithinScopes(requested, grant.scopes) ? requested : null;
}

/** Issues tokens; rotates unless `generation` says which successor was given before. */
async function answer(
  { storage, secrets, clock, agreedClock, lifetimes, accessTokens }: GrantTypeOptions,
  { stored, family, client, scopes, generation, address }: {
    stored: Stored<Grant>;
    family: RefreshFamily;
    client: Client;
    scopes: string[];
    generation: number | null;
    address: string;
  },
): Promise<Result<IssuedTokens, RefusalReason> | typeof conflict> {
  const grant = stored.value;
  const clientCheck = await clientStillThere(storage, client);
  if (clientCheck === null) return failure("unknown_client");
  const { token: accessToken } = await accessTokens.issue(grant, scopes);
  const common = { grantId: grant.id, subject: grant.subject, accessToken, scopes };
  if (generation !== null) {
    return success({ ...common, refreshToken: refreshTokenOf(secrets, grant.id, family.salt, generation) });
  }
  const now = clock();
  const rotated = rotateRefreshFamily(secrets, grant.id, family, {
    now,
    graceNow: agreedClock.now(),
    lifetimes,
  });
  const committed = await storage.commit({
    checks: [unchanged(stored), clientCheck],
    puts: putsOfGrant({ ...grant, address, refresh: rotated.family }, grantExpiresAt(rotated.family, now, lifetimes)),
  });
  return committed ? success({ ...common, refreshToken: rotated.token }) : conflict;
}
