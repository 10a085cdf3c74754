/** What people and clients ask of the authorization server: its endpoints, and what the console's pages use of it. */
import { type Administration, createAdministration } from "./administration.ts";
import { createAuthorizationCodeGrant } from "./token/authorization_code_grant.ts";
import { createAuthorizeEndpoint } from "./browser/authorize.ts";
import { createBrowsers } from "./browser/browser_sessions.ts";
import { createAssertionVerifier } from "./clients/client_assertion.ts";
import { createClientKeys } from "./clients/client_keys.ts";
import { createClientAuthenticator } from "./clients/client_authentication.ts";
import { createClientCredentialsGrant } from "./token/client_credentials_grant.ts";
import type { ClientDirectory } from "./clients/client_directory.ts";
import { createConsentEndpoint } from "./browser/consent.ts";
import type { AuthorizationServerOptions } from "./context.ts";
import type { Endpoint } from "../lib/endpoint.ts";
import type { Timers } from "../lib/time/timers.ts";
import type { AgreedClock } from "../lib/time/agreed_clock.ts";
import { createCredentialKey, type CredentialKey } from "./users/credential_key.ts";
import { createVisits, type Visits } from "./browser/visits.ts";
import { createGrantsEndpoint, createSignOutEndpoint } from "./browser/grants.ts";
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
import { createSetUpEndpoint } from "./users/set_up.ts";
import { createSignInEndpoint } from "./users/sign_in.ts";
import type { AccessTokens } from "./token/access_token.ts";
import type { SigningKeys } from "./keys/signing_keys.ts";
import { createTokenEndpoint, type GrantType, type GrantTypeName } from "./token/token.ts";
import type { UserDirectory } from "./users/user_directory.ts";
import type { createLivenessCheck } from "./token/verifier.ts";

export type EndpointName =
  | ("metadata" | "jwks" | "register" | "token" | "revoke" | "introspect" | "authorize" | "signIn" | "consent")
  | ("grants" | "signOut" | "setUp" | "invitation" | "servicenowCallback" | "servicenowLink");

export interface Endpoints {
  readonly named: Readonly<Record<EndpointName, Endpoint>>;
  readonly credentialKey: CredentialKey;
  readonly visits: Visits;
  readonly administration: Administration;
}

/** What they share with the verifier, and so with the calls. */
interface SharedParts extends AuthorizationServerOptions {
  readonly timers: Timers;
  readonly agreedClock: AgreedClock;
  readonly users: UserDirectory;
  readonly signingKeys: SigningKeys;
  readonly accessTokens: AccessTokens;
  readonly directory: ClientDirectory;
  readonly isLiveToken: ReturnType<typeof createLivenessCheck>;
}

export function createEndpoints(options: SharedParts): Endpoints {
  const { issuer, resource, storage, clock, timers, users, signingKeys, accessTokens, directory, isLiveToken } =
    options;
  const isAcceptedResource = createResourceCheck([resource, ...options.resourceAliases]);
  const browsers = createBrowsers({ issuer, storage, users, clock });
  const passwords = createPasswordHasher();
  const throttle = createPasswordThrottle(options);
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
    browsers,
    findClient: (id: string) => directory.find(id, "pages"),
    ...(servicenow?.signsPeopleIn ? { signInElsewhere: signInAtInstance(servicenow.instance) } : {}),
  };
  const grantTypeOptions = { ...options, isAcceptedResource };
  const grantTypes: Partial<Record<GrantTypeName, GrantType>> = {
    authorization_code: createAuthorizationCodeGrant(grantTypeOptions),
    refresh_token: createRefreshTokenGrant(grantTypeOptions),
    client_credentials: createClientCredentialsGrant(grantTypeOptions),
  };
  const grantTypeNames = Object.keys(grantTypes) as GrantTypeName[];
  const absent: Endpoint = () => new Response(null, { status: 404 }); // has no route
  return {
    named: {
      metadata: createMetadataEndpoint(options, grantTypeNames),
      jwks: createJwksEndpoint(signingKeys),
      register: createRegisterEndpoint(options),
      token: createTokenEndpoint({ ...options, authenticateClient, grantTypes }),
      revoke: createRevokeEndpoint({ ...options, authenticateClient, accessTokens }),
      introspect: createIntrospectEndpoint({ ...options, authenticateClient, accessTokens, users, isLiveToken }),
      authorize: createAuthorizeEndpoint({
        ...interaction,
        findForAuthorization: directory.findForAuthorization,
        isAcceptedResource,
        offeredScopes: options.scopes ?? usualScopes,
      }),
      signIn: createSignInEndpoint({ ...interaction, passwords, throttle }),
      consent: createConsentEndpoint(interaction),
      grants: createGrantsEndpoint(interaction),
      signOut: createSignOutEndpoint(interaction),
      setUp: createSetUpEndpoint({ ...options, passwords }),
      invitation: createInvitationEndpoint(options),
      servicenowCallback: servicenow === undefined
        ? absent
        : createServicenowCallback({ ...interaction, instance: servicenow.instance }),
      servicenowLink: servicenow === undefined
        ? absent
        : createServicenowLinkEndpoint({ ...interaction, instance: servicenow.instance }),
    },
    administration: createAdministration(options),
    visits: createVisits({ ...interaction, passwords, throttle }),
    credentialKey: createCredentialKey({ ...options, browsers }),
  };
}
