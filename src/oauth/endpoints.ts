/** The authorization server's endpoints, and what the console uses of it. */
import { type Administration, createAdministration } from "./administration.ts";
import {
  createAuthorizationCodeGrant,
  createClientCredentialsGrant,
  createRefreshTokenGrant,
  createTokenEndpoint,
  type GrantType,
  type GrantTypeName,
} from "./token.ts";
import { createAuthorizeEndpoint } from "./authorize.ts";
import { createBrowsers } from "./browser_sessions.ts";
import { createAssertionVerifier, createClientAuthenticator, createClientKeys } from "./client_authentication.ts";
import type { ClientDirectory } from "./client_directory.ts";
import { createConsentEndpoint } from "./consent.ts";
import type { AuthorizationServerOptions } from "./context.ts";
import type { Endpoint } from "../lib/endpoint.ts";
import type { AgreedClock, Timers } from "../lib/time.ts";
import { createCredentialKey, type CredentialKey } from "./credential_key.ts";
import { createVisits, type Visits } from "./visits.ts";
import { createGrantsEndpoint, createSignOutEndpoint } from "./grants.ts";
import { createInvitationEndpoint, createSetUpEndpoint } from "./set_up.ts";
import { createIntrospectEndpoint, createRevokeEndpoint } from "./introspect.ts";
import { createJwksEndpoint, createMetadataEndpoint } from "./server_metadata.ts";
import { createPasswordHasher } from "./password_hash.ts";
import { createPasswordThrottle } from "./verify_passphrase.ts";
import { createRegisterEndpoint } from "./register.ts";
import { createResourceCheck, usualScopes } from "./scope.ts";
import { createServicenowCallback, createServicenowLinkEndpoint, signInAtInstance } from "./servicenow_sign_in.ts";
import { createSignInEndpoint } from "./sign_in.ts";
import type { AccessTokens } from "./access_token.ts";
import type { SigningKeys } from "./signing_keys.ts";
import type { UserDirectory } from "./manage_users.ts";
import type { createLivenessCheck } from "./verifier.ts";

export type EndpointName =
  | ("metadata" | "jwks" | "register" | "token" | "revoke" | "introspect" | "authorize" | "signIn" | "consent")
  | ("grants" | "signOut" | "setUp" | "invitation" | "servicenowCallback" | "servicenowLink");

export interface Endpoints {
  readonly named: Readonly<Record<EndpointName, Endpoint>>;
  readonly credentialKey: CredentialKey;
  readonly visits: Visits;
  readonly administration: Administration;
}

/** Shared with the verifier. */
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
      setUp: createSetUpEndpoint({ ...options, browsers, passwords }),
      invitation: createInvitationEndpoint(interaction),
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
