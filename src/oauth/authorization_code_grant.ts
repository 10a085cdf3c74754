/** The authorization code grant (RFC 6749 §4.1.3 with RFC 7636): a code becomes a grant and its first tokens. */
import type { AgreedClock } from "../lib/agreed_clock.ts";
import { failure, type Result, success } from "../lib/result.ts";
import type { AccessTokens } from "./access_token.ts";
import { type Client, clientStillThere } from "./records/client.ts";
import type { AuthorizationServerOptions } from "./context.ts";
import { verifyCodeVerifier } from "./pkce.ts";
import { hashSecret } from "../lib/random_secret.ts";
import { conflict, retryOnConflict, type Stored, unchanged } from "./records/record_family.ts";
import { type AuthorizationCode, authorizationCodes } from "./records/authorization_code.ts";
import { type Grant, putsOfGrant, revokeGrant } from "./records/grant.ts";
import { isSameRedirectUri } from "./redirect_uri.ts";
import { grantExpiresAt, startRefreshFamily } from "./refresh_token.ts";
import type { RefusalReason } from "./refusal.ts";
import type { Parameters } from "./request_body.ts";
import type { GrantType, IssuedTokens } from "./token.ts";
import type { Account, UserDirectory } from "./user_directory.ts";

export interface GrantTypeOptions
  extends Pick<AuthorizationServerOptions, "storage" | "secrets" | "clock" | "log" | "lifetimes" | "resource"> {
  /** For the grace of refresh tokens, which may be sent to two instances. */
  readonly agreedClock: AgreedClock;
  readonly users: UserDirectory;
  readonly accessTokens: AccessTokens;
  readonly isAcceptedResource: (values: readonly string[]) => boolean;
}

export function createAuthorizationCodeGrant(options: GrantTypeOptions): GrantType {
  const { storage, clock, log, users } = options;
  return (client, parameters, { address }) =>
    retryOnConflict(async (): Promise<Result<IssuedTokens, RefusalReason> | typeof conflict> => {
      const code = parameters.get("code");
      if (code === undefined) return failure("missing_code");
      const stored = await authorizationCodes.read(storage, hashSecret(code));
      if (stored === null) return failure("unknown_code");
      // The code is consumed only once it is proven to be this client's: a stranger must not burn it.
      const problem = findProblem(options, stored.value, client, parameters);
      if (problem !== null) return failure(problem);
      if (stored.value.redeemedAt !== null) {
        // RFC 6749 §4.1.2: a second use means that the code leaked; every token issued for it is revoked.
        const revoked = await revokeGrant(storage, stored.value.grantId);
        if (revoked !== null) {
          log.write("audit", "grant_revoked", {
            reason: "replayed_code",
            grant: stored.value.grantId,
            user: stored.value.userId,
            client: client.id,
          });
        }
        return failure("replayed_code");
      }
      if (stored.value.expiresAt <= clock()) return failure("expired_code");
      const account = await users.find(stored.value.userId);
      if (account?.credentialHash !== stored.value.credentialHash) return failure("user_not_active");
      return await redeem(options, stored, { client, account, address });
    });
}

function findProblem(
  { isAcceptedResource }: GrantTypeOptions,
  code: AuthorizationCode,
  client: Client,
  parameters: Parameters,
): RefusalReason | null {
  if (code.clientId !== client.id) return "code_of_another_client";
  const redirectUri = parameters.get("redirect_uri");
  // RFC 6749 §4.1.3; OAuth 2.1 §10.2 lets clients leave it out, since PKCE does what it was for.
  if (redirectUri !== undefined && !isSameRedirectUri(redirectUri, code.redirectUri)) return "redirect_uri_mismatch";
  if (!isAcceptedResource(parameters.getAll("resource"))) return "resource_mismatch";
  const verifier = parameters.get("code_verifier");
  if (verifier === undefined) return "missing_code_verifier";
  return verifyCodeVerifier(verifier, code.codeChallenge) ? null : "wrong_code_verifier";
}

/** Marks the code as used and stores the grant, together; the code's mark lives as long as the grant may. */
async function redeem(
  { storage, secrets, clock, lifetimes, accessTokens }: GrantTypeOptions,
  stored: Stored<AuthorizationCode>,
  { client, account, address }: { client: Client; account: Account; address: string },
): Promise<Result<IssuedTokens, RefusalReason> | typeof conflict> {
  const code = stored.value;
  const clientCheck = await clientStillThere(storage, client);
  // The approval stored the client, whatever kind it is of.
  if (clientCheck === null || clientCheck.version === null) return failure("unknown_client");
  const now = clock();
  const refresh = client.grantTypes.includes("refresh_token")
    ? startRefreshFamily(secrets, code.grantId, { now, lifetimes })
    : null;
  const grant: Grant = {
    id: code.grantId,
    subject: code.userId,
    kind: "user",
    credentialHash: account.credentialHash,
    clientId: client.id,
    clientName: client.name,
    redirectHost: new URL(code.redirectUri).host,
    scopes: code.scopes,
    resource: code.resource,
    createdAt: now,
    address,
    refresh: refresh?.family ?? null,
  };
  const { token } = await accessTokens.issue(grant, grant.scopes);
  const markUntil = Math.max(grant.refresh?.endsAt ?? 0, grantExpiresAt(grant.refresh, now, lifetimes));
  const committed = await storage.commit({
    // The user too: a passphrase change ends everything that was approved under the old one.
    checks: [unchanged(stored), account.unchanged, clientCheck],
    puts: [
      { key: stored.key, value: { ...code, redeemedAt: now }, expiresAt: markUntil },
      ...putsOfGrant(grant, grantExpiresAt(grant.refresh, now, lifetimes)),
    ],
  });
  if (!committed) return conflict;
  return success({
    grantId: grant.id,
    subject: grant.subject,
    accessToken: token,
    refreshToken: refresh?.token ?? null,
    scopes: grant.scopes,
  });
}
