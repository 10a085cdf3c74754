/** The authorization server's endpoints, and the functions that the console uses. */
import { assertionGrantType, authorizationCodes, clients } from "./records.ts";
import type { RecheckOptions } from "./company_people.ts";
import type { AuthorizationServerOptions } from "./context.ts";
import type { AccessTokens, Verifier } from "./access_token.ts";
import { type Browsers, createBrowsers } from "./browser_sessions.ts";
import {
  assertionAlgorithms,
  checkSecret,
  createClientAuthenticator,
  readCredentials,
} from "./client_authentication.ts";
import { hashSecret } from "../lib/secrets.ts";
import { type Parameters, readParameters, wrongMethod } from "./exchange.ts";
import { usualScopes } from "./scope.ts";
import {
  createIntrospectEndpoint,
  createRevokeEndpoint,
  createTokenEndpoint,
  findRefreshToken,
  type GrantType,
  grantTypeNames,
  judgeRefreshToken,
} from "./token.ts";
import type { Endpoint } from "../lib/endpoint.ts";
import type { LinkCompany } from "./interaction.ts";
import { loadOnce } from "../lib/program.ts";
import type { SigningKeys } from "./signing_keys.ts";
import { createAdministration } from "./administration.ts";
import { createPasswordThrottle, createSignInEndpoint, createVisits } from "./sign_in.ts";
import { createAuthorizeEndpoint, createConsentEndpoint } from "./authorize.ts";
import type { ClientDirectory } from "./client_directory.ts";
import type { AgreedClock, Timers } from "../lib/time.ts";
import { createGrantsEndpoint, createSignOutEndpoint } from "./grants.ts";
import { createInvitationEndpoint, createSetUpEndpoint } from "./set_up.ts";
import { createPasswordHasher } from "./password_hash.ts";
import { createRegisterEndpoint } from "./register.ts";
import { createServicenowCallback, createServicenowLinkEndpoint, signInAtInstance } from "./servicenow_sign_in.ts";
import type { UserDirectory } from "./manage_users.ts";

/** Shared with the verifier. */
interface SharedParts extends AuthorizationServerOptions {
  readonly timers: Timers;
  readonly agreedClock: AgreedClock;
  readonly users: UserDirectory;
  readonly signingKeys: SigningKeys;
  readonly accessTokens: AccessTokens;
  readonly verifier: Verifier;
  readonly directory: ClientDirectory;
  /** After it has expired; `false` where there is no other. */
  readonly renewSetUpLink: () => Promise<boolean>;
  readonly loadCompany: () => Promise<Pick<RecheckOptions, "company" | "provider">>;
}

export function createEndpoints(options: SharedParts) {
  const { issuer, resource, storage, clock, users, signingKeys, directory } = options;
  const isAcceptedResource = createResourceCheck([resource, ...options.resourceAliases]);
  const browsers = createBrowsers({ issuer, storage, users, clock });
  const passwords = createPasswordHasher();
  const throttle = createPasswordThrottle(options);
  const tokens = { ...options, authenticateClient: createClientAuthenticator(options), isAcceptedResource };
  const { servicenow } = options;
  const interaction = {
    ...options,
    browsers,
    findClient: (id: string) => directory.find(id, "pages"),
    ...(servicenow?.signsPeopleIn ? { signInElsewhere: signInAtInstance(servicenow.instance) } : {}),
  };
  const { company } = options;
  const loadCompany = loadOnce(async () => {
    const { createCompanyEndpoints } = await import("./company_endpoints.ts");
    return createCompanyEndpoints({ ...interaction, isAcceptedResource, ...await options.loadCompany() });
  });
  const byCompany = (name: "visit" | "callback" | "link" | "logout"): Endpoint => async (request, peer) =>
    await (await loadCompany())[name](request, peer);
  const assertionGrant: GrantType = async (...asked) => await (await loadCompany()).assertionGrant(...asked);
  const linkCompany: LinkCompany = async (...asked) => await (await loadCompany()).linking(...asked);
  const instance = servicenow?.instance;
  const absent: Endpoint = () => new Response(null, { status: 404 }); // has no route
  return {
    named: {
      metadata: createMetadataEndpoint(options),
      jwks: publishDocument(async () => ({ keys: await signingKeys.published() })), // RFC 7517 §5
      register: createRegisterEndpoint(options),
      token: createTokenEndpoint({
        ...tokens,
        moreGrantTypes: company?.assertions ? [[assertionGrantType, assertionGrant]] : [],
      }),
      revoke: createRevokeEndpoint(tokens),
      introspect: createIntrospectEndpoint(tokens),
      authorize: createAuthorizeEndpoint({
        ...interaction,
        findForAuthorization: directory.findForAuthorization,
        isAcceptedResource,
        offeredScopes: options.scopes ?? usualScopes,
      }),
      signIn: createSignInEndpoint({
        ...interaction,
        passwords,
        throttle,
        ...company === undefined ? {} : { linkCompany },
      }),
      consent: createConsentEndpoint(interaction),
      grants: createGrantsEndpoint(interaction),
      signOut: createSignOutEndpoint(interaction),
      setUp: createSetUpEndpoint({ ...interaction, passwords }),
      invitation: createInvitationEndpoint({ ...interaction, passwords }),
      company: byCompany("visit"),
      companyCallback: byCompany("callback"),
      companyLink: byCompany("link"),
      backchannelLogout: byCompany("logout"),
      servicenowCallback: instance ? createServicenowCallback({ ...interaction, instance }) : absent,
      servicenowLink: instance ? createServicenowLinkEndpoint({ ...interaction, instance }) : absent,
    },
    administration: createAdministration(options),
    visits: createVisits({ ...interaction, passwords, throttle }),
    credentialKey: createCredentialKey({ ...options, browsers }),
  };
}

/** The profile of identity assertions (draft-ietf-oauth-identity-assertion-authz-grant §7.2). */
const assertionProfile = "urn:ietf:params:oauth:grant-profile:id-jag";

/** Sent by MCP client libraries, which cannot hold a registration token, and not by ServiceNow, which can. */
const mcpClientHeader = "mcp-protocol-version";

/** A public document, with a life in caches that is shorter than the overlap of signing keys. */
function publishDocument(documentOf: (request: Request) => unknown, vary?: string): Endpoint {
  const headers = { "cache-control": "public, max-age=300", ...vary === undefined ? {} : { vary } };
  return async (request) =>
    request.method === "GET" || request.method === "HEAD"
      ? Response.json(await documentOf(request), { headers })
      : wrongMethod("GET", "HEAD");
}

/** The metadata (RFC 8414 §2): exactly what exists, and no more. It serves every well-known path of the issuer alike. */
function createMetadataEndpoint(
  { issuer, registration, fetchDocument, scopes = usualScopes, company }: AuthorizationServerOptions,
): Endpoint {
  const provingMethods = ["client_secret_basic", "client_secret_post", "private_key_jwt"];
  const clientAuthentication = ["none", ...provingMethods];
  const document = {
    issuer,
    authorization_endpoint: `${issuer}/oauth/authorize`,
    token_endpoint: `${issuer}/oauth/token`,
    revocation_endpoint: `${issuer}/oauth/revoke`,
    introspection_endpoint: `${issuer}/oauth/introspect`,
    introspection_endpoint_auth_methods_supported: provingMethods,
    introspection_endpoint_auth_signing_alg_values_supported: assertionAlgorithms,
    jwks_uri: `${issuer}/.well-known/jwks.json`,
    scopes_supported: scopes,
    response_types_supported: ["code"],
    response_modes_supported: ["query"],
    grant_types_supported: [...grantTypeNames, ...(company?.assertions ? [assertionGrantType] : [])],
    ...(company?.assertions ? { authorization_grant_profiles_supported: [assertionProfile] } : {}),
    token_endpoint_auth_methods_supported: clientAuthentication,
    token_endpoint_auth_signing_alg_values_supported: assertionAlgorithms,
    revocation_endpoint_auth_methods_supported: clientAuthentication,
    revocation_endpoint_auth_signing_alg_values_supported: assertionAlgorithms,
    code_challenge_methods_supported: ["S256"],
    ...(fetchDocument === undefined ? {} : { client_id_metadata_document_supported: true }),
    authorization_response_iss_parameter_supported: true, // RFC 9207 §3
  };
  const withRegistration = { ...document, registration_endpoint: `${issuer}/oauth/register` };
  if (registration.mode === "off") return publishDocument(() => document);
  if (registration.mode === "open") return publishDocument(() => withRegistration);
  return publishDocument(({ headers }) => headers.has(mcpClientHeader) ? document : withRegistration, mcpClientHeader);
}

/**
 * Identifies a request by a valid credential, for rate limits: many users may share one address, behind a proxy or at
 * one client's servers, and a stranger there must not use up their allowance. `null` without a valid credential. Costs
 * a few reads: no passphrase hash, no fetch; no credential is consumed, and the body stays readable.
 */
function createCredentialKey(options: SharedParts & { readonly browsers: Browsers }) {
  const { storage, secrets, clock, browsers, limits, lifetimes, accessTokens } = options;
  /** The grant of a code that can be redeemed, of a refresh token that is current, or of an access token. */
  const grantIdOf = async (parameters: Parameters): Promise<string | null> => {
    const code = (await authorizationCodes.read(storage, hashSecret(parameters.get("code") ?? "")))?.value;
    if (code?.redeemedAt === null) return code.grantId;
    const token = parameters.get("refresh_token") ?? parameters.get("token") ?? "";
    const verified = await accessTokens.verify(token);
    if (verified.ok) return verified.value.grantId;
    const found = await findRefreshToken(storage, token);
    const state = found && judgeRefreshToken(secrets, found, { now: clock(), lifetimes });
    return found !== null && (state === "current" || state === "grace") ? found.stored.value.id : null;
  };
  return async (request: Request): Promise<string | null> => {
    const browser = browsers.identify(request);
    if (await browsers.isKnownToAnyone(browser)) return `browser ${browser.hash}`;
    if (request.method !== "POST") return null;
    const parameters = await readParameters(request.clone(), limits);
    if (!parameters.ok) return null;
    const grantId = await grantIdOf(parameters.value);
    if (grantId !== null) return `grant ${grantId}`;
    const credentials = readCredentials(request, parameters.value);
    if (!credentials.ok) return null;
    const client = await clients.read(storage, credentials.value.clientId);
    return client !== null && checkSecret(client.value, credentials.value, clock()).ok
      ? `client ${client.value.id}`
      : null;
  };
}

// Resource indicators (RFC 8707): which of a request's `resource` values mean this server's MCP endpoint.

/** Two spellings of a URL are the same target when only host case, default port or one trailing slash differ. */
function canonicalUrl(text: string): string | null {
  if (text.includes("#")) return null; // RFC 8707 §2: no fragment, not even an empty one
  const url = URL.parse(text);
  return url === null ? null : url.href.replace(/\/$/, "");
}

/**
 * Builds the predicate: every value is one of the accepted spellings, or the address of this server in one, since the
 * MCP endpoint is the only resource there; on a shared host, the origin is another's. No value at all is fine.
 */
export function createResourceCheck(accepted: readonly string[]): (values: readonly string[]) => boolean {
  const spellings = accepted.flatMap((resource) => [resource, new URL(".", resource).href]);
  const known = new Set(spellings.map(canonicalUrl).filter((url) => url !== null));
  return (values) =>
    values.every((value) => {
      const url = canonicalUrl(value);
      return url !== null && known.has(url);
    });
}
