/** The authorization server: its routes, and the verifier for the resource server. */
import { createAccessTokens } from "./token/access_token.ts";
import { createAuthorizationCodeGrant } from "./token/authorization_code_grant.ts";
import { createAuthorizeEndpoint } from "./browser/authorize.ts";
import { createBrowsers } from "./browser/browser_sessions.ts";
import { createAssertionVerifier } from "./clients/client_assertion.ts";
import { createClientKeys } from "./clients/client_keys.ts";
import { createClientAuthenticator } from "./clients/client_authentication.ts";
import { createClientCredentialsGrant } from "./token/client_credentials_grant.ts";
import { createClientDirectory } from "./clients/client_directory.ts";
import { createConsentEndpoint } from "./browser/consent.ts";
import type { AuthorizationServerOptions } from "./context.ts";
import { createAgreedClock } from "../lib/time/agreed_clock.ts";
import type { Endpoint, Route } from "../lib/endpoint.ts";
import { systemTimers } from "../lib/time/timers.ts";
import { createCredentialKey, type CredentialKey } from "./users/credential_key.ts";
import { createVisits, type Visits } from "./browser/visits.ts";
import { createGrantsEndpoint, createSignOutEndpoint } from "./browser/grants.ts";
import { type Administration, createAdministration } from "./administration.ts";
import { createInvitationEndpoint } from "./users/invitation.ts";
import { createIntrospectEndpoint } from "./token/introspect.ts";
import { createJwksEndpoint, createMetadataEndpoint } from "./metadata.ts";
import { createPasswordHasher } from "./users/password_hash.ts";
import { createPasswordThrottle } from "./users/password_throttle.ts";
import { createRefreshTokenGrant } from "./token/refresh_token_grant.ts";
import { createRegisterEndpoint } from "./clients/register.ts";
import { createResourceCheck } from "./resource_indicator.ts";
import { createRevokeEndpoint } from "./token/revoke.ts";
import { usualScopes } from "./scope.ts";
import { createServicenowLinkEndpoint } from "./users/servicenow_link.ts";
import { createServicenowCallback, signInAtInstance } from "./users/servicenow_sign_in.ts";
import { createSetUpEndpoint, issueSetUpLink } from "./users/set_up.ts";
import { createSignInEndpoint } from "./users/sign_in.ts";
import { createSigningKeys } from "./keys/signing_keys.ts";
import { createTokenEndpoint, type GrantType, type GrantTypeName } from "./token/token.ts";
import { createUserDirectory } from "./users/user_directory.ts";
import { createLivenessCheck, createVerifier, type Verifier } from "./token/verifier.ts";

/** A route, and what limits its requests by address. */
export interface AuthorizationRoute extends Route {
  readonly limit: "none" | "attempts" | "registrations";
}

/** The endpoints, and what the resource server and the router ask of them. */
export interface AuthorizationServer {
  readonly routes: readonly AuthorizationRoute[];
  readonly verifier: Verifier;
  /** For the pages of the console. */
  readonly visits: Visits;
  readonly administration: Administration;
  /** Who holds the credential in a request, for rate limits. */
  readonly credentialKey: CredentialKey;
  /** What a client calls itself, and the hosts that it may be redirected to; `null` when there is no such client. */
  describeClient(
    clientId: string,
  ): Promise<{ readonly name: string; readonly redirectHosts: readonly string[] } | null>;
  /** Whether users can sign in. */
  isSetUp(): Promise<boolean>;
  /**
   * The one-time set-up URL for the console; `null` when there is an owner, or users sign in elsewhere. With
   * `isShared`, one that another instance printed stays good.
   */
  issueSetUpLink(options?: { readonly isShared: boolean }): Promise<string | null>;
}

/** Builds the authorization server of one issuer for one resource. */
export function createAuthorizationServer(options: AuthorizationServerOptions): AuthorizationServer {
  const { issuer, resource, storage, clock, timers = systemTimers, lifetimes } = options;
  const { agreedClock = createAgreedClock(clock, timers) } = options;
  const isAcceptedResource = createResourceCheck([resource, ...options.resourceAliases]);
  const users = createUserDirectory(storage, options.ownerPasswordHash);
  const browsers = createBrowsers({ issuer, storage, users, clock });
  const signingKeys = createSigningKeys(options);
  const lifetimeSeconds = lifetimes.accessTokenLifetimeSeconds;
  const accessTokens = createAccessTokens({ issuer, resource, lifetimeSeconds, signingKeys, clock });
  const passwords = createPasswordHasher();
  const throttle = createPasswordThrottle({ ...options, agreedClock });
  const directory = createClientDirectory({
    ...options,
    elapsed: timers.elapsed,
    fetchDocument: options.fetchDocument,
  });
  const authenticateClient = createClientAuthenticator({
    findClient: directory.find,
    clock,
    verifyAssertion: createAssertionVerifier({
      storage,
      clock,
      audiences: [issuer, ...["token", "revoke", "introspect"].map((name) => `${issuer}/oauth/${name}`)],
      keysOf: createClientKeys({ clock: timers.elapsed, fetchDocument: options.fetchDocument, directory }),
    }),
  });
  const { servicenow } = options;
  const interaction = {
    ...options,
    users,
    browsers,
    findClient: (id: string) => directory.find(id, "pages"),
    ...(servicenow?.signsPeopleIn ? { signInElsewhere: signInAtInstance(servicenow.instance) } : {}),
  };
  const grantTypeOptions = { ...options, agreedClock, users, accessTokens, isAcceptedResource };
  const grantTypes: Partial<Record<GrantTypeName, GrantType>> = {
    authorization_code: createAuthorizationCodeGrant(grantTypeOptions),
    refresh_token: createRefreshTokenGrant(grantTypeOptions),
    client_credentials: createClientCredentialsGrant(grantTypeOptions),
  };
  const grantTypeNames = Object.keys(grantTypes) as GrantTypeName[];
  const isLiveToken = createLivenessCheck(storage, users, clock);
  const setUp = { ...options, users, passwords };
  return {
    // The short paths are MCP's fallback of 2025-03-26, and the ServiceNow guide's.
    routes: [
      publicDocument("oauth-authorization-server", createMetadataEndpoint(options, grantTypeNames)), // RFC 8414 §3
      publicDocument("jwks.json", createJwksEndpoint(signingKeys)),
      { ...forClients(["/oauth/register", "/register"], createRegisterEndpoint(options)), limit: "registrations" },
      forClients(["/oauth/token", "/token"], createTokenEndpoint({ ...options, authenticateClient, grantTypes })),
      forClients(["/oauth/revoke", "/revoke"], createRevokeEndpoint({ ...options, authenticateClient, accessTokens })),
      forClients(
        ["/oauth/introspect"],
        createIntrospectEndpoint({ ...options, authenticateClient, accessTokens, users, isLiveToken }),
      ),
      forUsers(
        ["/oauth/authorize", "/authorize"],
        createAuthorizeEndpoint({
          ...interaction,
          findForAuthorization: directory.findForAuthorization,
          isAcceptedResource,
          offeredScopes: options.scopes ?? usualScopes,
        }),
      ),
      forUsers(["/oauth/sign-in"], createSignInEndpoint({ ...interaction, passwords, throttle })),
      forUsers(["/oauth/consent"], createConsentEndpoint(interaction)),
      forUsers(["/oauth/grants"], createGrantsEndpoint(interaction)),
      forUsers(["/oauth/sign-out"], createSignOutEndpoint(interaction)),
      forUsers(["/setup"], createSetUpEndpoint(setUp)),
      forUsers(["/invitation"], createInvitationEndpoint(options)),
      ...(servicenow === undefined ? [] : [
        forUsers(
          ["/servicenow/callback"],
          createServicenowCallback({ ...interaction, instance: servicenow.instance }),
        ),
        forUsers(["/servicenow/link"], createServicenowLinkEndpoint({ ...interaction, instance: servicenow.instance })),
      ]),
    ],
    administration: createAdministration({ ...options, users }),
    visits: createVisits({ ...interaction, passwords, throttle }),
    verifier: createVerifier({ ...options, timers, users, signingKeys, accessTokens, isLiveToken }),
    credentialKey: createCredentialKey({ ...options, browsers, accessTokens }),
    async describeClient(clientId) {
      const client = await directory.find(clientId, "tokens");
      if (client === null) return null;
      return {
        name: client.name,
        redirectHosts: client.redirectUris.flatMap((uri) => URL.parse(uri)?.hostname ?? []),
      };
    },
    isSetUp: async () => servicenow?.signsPeopleIn === true || await users.hasOwner(),
    issueSetUpLink: ({ isShared } = { isShared: false }) =>
      servicenow?.signsPeopleIn ? Promise.resolve(null) : issueSetUpLink(setUp, isShared),
  };
}

function publicDocument(name: string, endpoint: Endpoint): AuthorizationRoute {
  return { paths: [`/.well-known/${name}`], kind: "shared", limit: "none", endpoint };
}

function forClients(paths: AuthorizationRoute["paths"], endpoint: Endpoint): AuthorizationRoute {
  return { paths, kind: "shared", limit: "attempts", endpoint };
}

function forUsers(paths: AuthorizationRoute["paths"], endpoint: Endpoint): AuthorizationRoute {
  return { paths, kind: "page", limit: "attempts", endpoint };
}
