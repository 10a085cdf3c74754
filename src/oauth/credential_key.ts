/**
 * Identifies a request by a valid credential, for rate limits: many users may share one address, behind a proxy or at
 * one client's servers, and a stranger there must not use up their allowance. Costs a few reads: no passphrase hash, no
 * fetch, and no credential is consumed.
 */
import type { AuthorizationServerOptions } from "./context.ts";
import type { AccessTokens } from "./access_token.ts";
import type { Browsers } from "./browser_sessions.ts";
import { checkSecret, readCredentials } from "./client_authentication.ts";
import { hashSecret } from "../lib/random_secret.ts";
import { authorizationCodes, clients, grants, signInLinks } from "./records.ts";
import { judgeRefreshToken, parseRefreshToken } from "./refresh_token.ts";
import { type Parameters, readParameters } from "./request_body.ts";

/** A key for the holder of the credential in a request; `null` where there is none that holds. */
export type CredentialKey = (request: Request) => Promise<string | null>;

type Options = Pick<AuthorizationServerOptions, "storage" | "secrets" | "clock" | "lifetimes" | "limits"> & {
  readonly browsers: Browsers;
  readonly accessTokens: AccessTokens;
};

/** Builds the lookup. The body of a request stays readable. */
export function createCredentialKey(options: Options): CredentialKey {
  const { storage, clock, browsers, limits } = options;
  return async (request) => {
    const browser = browsers.identify(request);
    if (await browsers.isKnownToAnyone(browser)) return `browser ${browser.hash}`;
    const link = hashSecret(new URL(request.url).searchParams.get("link") ?? "");
    if (await signInLinks.read(storage, link) !== null) return `link ${link}`;
    if (request.method !== "POST") return null;
    const parameters = await readParameters(request.clone(), limits);
    if (!parameters.ok) return null;
    const grantId = await grantIdOf(options, parameters.value);
    if (grantId !== null) return `grant ${grantId}`;
    const credentials = readCredentials(request, parameters.value);
    if (!credentials.ok || !("secret" in credentials.value)) return null;
    const client = await clients.read(storage, credentials.value.clientId);
    return client !== null && checkSecret(client.value, credentials.value, clock()).ok
      ? `client ${client.value.id}`
      : null;
  };
}

/** The grant of a code that can be redeemed, of a refresh token that is current, or of an access token. */
async function grantIdOf(
  { storage, secrets, clock, lifetimes, accessTokens }: Options,
  parameters: Parameters,
): Promise<string | null> {
  const code = parameters.get("code");
  const stored = code === undefined ? null : await authorizationCodes.read(storage, hashSecret(code));
  if (stored !== null && stored.value.redeemedAt === null) return stored.value.grantId;
  const token = parameters.get("refresh_token") ?? parameters.get("token");
  if (token === undefined) return null;
  const presented = parseRefreshToken(token);
  if (presented === null) {
    const verified = await accessTokens.verify(token);
    return verified.ok ? verified.value.grantId : null;
  }
  const family = (await grants.read(storage, presented.grantId))?.value.refresh ?? null;
  if (family === null) return null;
  const { kind } = judgeRefreshToken(secrets, presented, family, { now: clock(), lifetimes });
  return kind === "current" || kind === "grace" ? presented.grantId : null;
}
