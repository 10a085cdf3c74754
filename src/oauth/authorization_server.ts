/** The authorization server: its routes, and the verifier for the resource server. */
import { hashSecret, randomId } from "../lib/secrets.ts";
import type { AuthorizationServerOptions } from "./context.ts";
import { createUserDirectory, type UserDirectory } from "./manage_users.ts";
import { setUpCodes } from "./records.ts";
import { createAccessTokens, createVerifier } from "./access_token.ts";
import { createClientDirectory } from "./client_directory.ts";
import { createAgreedClock, systemTimers } from "../lib/time.ts";
import type { Route } from "../lib/endpoint.ts";
import { loadOnce } from "../lib/program.ts";
import { createSigningKeys } from "./signing_keys.ts";
import type { createEndpoints } from "./endpoints.ts";

type Endpoints = ReturnType<typeof createEndpoints>;

/** A route, and its rate limit by address. */
export interface AuthorizationRoute extends Route {
  readonly limit: "none" | "attempts" | "registrations";
}

/**
 * What {@link createAuthorizationServer} returns: routes for `http`, a verifier for its guard, and views for the
 * console.
 */
export type AuthorizationServer = ReturnType<typeof createAuthorizationServer>;

/**
 * Builds the authorization server of one issuer for one resource. The code of its endpoints is loaded at the first
 * request to one: calls need none of it, and a start does not wait for it.
 */
export function createAuthorizationServer(options: AuthorizationServerOptions) {
  const { issuer, resource, storage, clock, timers = systemTimers, lifetimes, servicenow, company } = options;
  const { agreedClock = createAgreedClock(clock, timers) } = options;
  const loadCompany = loadOnce(async () => {
    if (company === undefined) throw new TypeError("No provider is configured");
    const { createProvider } = await import("./company_provider.ts");
    const { createRecheck } = await import("./company_people.ts");
    const asked = { company, timers, provider: createProvider({ company, fetch: company.fetch, clock, timers }) };
    return { ...asked, recheck: createRecheck({ ...options, ...asked }) };
  });
  const recheck = async (userId: string): Promise<boolean> => await (await loadCompany()).recheck(userId);
  const users = createUserDirectory(storage, { ...options, recheck: company === undefined ? undefined : recheck });
  const signingKeys = createSigningKeys(options);
  const lifetimeSeconds = lifetimes.accessTokenLifetimeSeconds;
  const accessTokens = createAccessTokens({ issuer, resource, lifetimeSeconds, signingKeys, clock });
  const directory = createClientDirectory({ ...options, elapsed: timers.elapsed });
  const verifier = createVerifier({ ...options, timers, users, signingKeys, accessTokens });
  const own = { timers, agreedClock, users, signingKeys, accessTokens, verifier, directory, loadCompany };
  const setUpLink = ({ isShared }: { readonly isShared: boolean }): Promise<string | null> =>
    servicenow?.signsPeopleIn || options.ownerPassphrase === false
      ? Promise.resolve(null)
      : issueSetUpLink({ ...options, users }, isShared);
  const renewSetUpLink = async (): Promise<boolean> => {
    const url = options.onNewSetUpLink === undefined ? null : await setUpLink({ isShared: true });
    if (url !== null) options.onNewSetUpLink?.(url);
    return url !== null;
  };
  const shared = { ...options, ...own, renewSetUpLink };
  const load = loadOnce(async (): Promise<Endpoints> => (await import("./endpoints.ts")).createEndpoints(shared));
  const at = (
    name: keyof Endpoints["named"],
    paths: Route["paths"],
    { kind, limit }: Pick<AuthorizationRoute, "kind" | "limit">,
  ): AuthorizationRoute => ({
    paths,
    kind,
    limit,
    endpoint: async (request, peer) => await (await load()).named[name](request, peer),
  });
  return {
    // The short paths are MCP's fallback of 2025-03-26, and the ServiceNow guide's.
    routes: [
      at("metadata", ["/.well-known/oauth-authorization-server"], publicDocument), // RFC 8414 §3
      at("jwks", ["/.well-known/jwks.json"], publicDocument),
      at("register", ["/oauth/register", "/register"], { ...forClients, limit: "registrations" }),
      at("token", ["/oauth/token", "/token"], forClients),
      at("revoke", ["/oauth/revoke", "/revoke"], forClients),
      at("introspect", ["/oauth/introspect"], forClients),
      at("authorize", ["/oauth/authorize", "/authorize"], forUsers),
      at("signIn", ["/oauth/sign-in"], forUsers),
      at("consent", ["/oauth/consent"], forUsers),
      at("grants", ["/oauth/grants"], forUsers),
      at("signOut", ["/oauth/sign-out"], forUsers),
      at("setUp", ["/setup"], forUsers),
      at("invitation", ["/invitation"], forUsers),
      ...(servicenow === undefined ? [] : [
        at("servicenowCallback", ["/servicenow/callback"], forUsers),
        at("servicenowLink", ["/servicenow/link"], forUsers),
      ]),
      ...(company === undefined ? [] : [
        at("company", ["/oauth/company"], forUsers),
        at("companyCallback", ["/oauth/callback"], forUsers),
        at("companyLink", ["/oauth/company/link"], forUsers),
        at("backchannelLogout", ["/oauth/backchannel-logout"], { ...forClients, kind: "plain" }),
      ]),
    ],
    /** Resolves once what the provider is asked about people is answered and stored. */
    settled: () => loadCompany.ifLoaded(({ recheck }) => recheck.settled()),
    /** For the pages of the console. */
    forConsole: load,
    /** For the resource server's guard. */
    verifier,
    /** Who holds the credential in a request, for rate limits. */
    credentialKey: async (request: Request): Promise<string | null> => await (await load()).credentialKey(request),
    /** A client's name and redirect hosts; `null` if it is unknown. */
    async describeClient(clientId: string) {
      const client = await directory.find(clientId, "tokens");
      if (client === null) return null;
      return {
        name: client.name,
        redirectHosts: client.redirectUris.flatMap((uri) => URL.parse(uri)?.hostname ?? []),
      };
    },
    /** Whether users can sign in. */
    isSetUp: async (): Promise<boolean> =>
      servicenow?.signsPeopleIn === true || (company?.allow.length ?? 0) > 0 || await users.hasOwner(),
    /**
     * The one-time set-up URL for the console; `null` when there is an owner, or users sign in elsewhere alone. With
     * `isShared`, one that another instance printed stays good.
     */
    issueSetUpLink: ({ isShared } = { isShared: false }) => setUpLink({ isShared }),
  };
}

const publicDocument = { kind: "shared", limit: "none" } as const;
const forClients = { kind: "shared", limit: "attempts" } as const;
const forUsers = { kind: "page", limit: "attempts" } as const;

const setUpLinkLifetimeMs = 600_000;

/**
 * Makes the one-time link to `/setup`, with which the first person becomes the owner; `null` when there is an owner
 * already. It voids the one before it, unless `isShared`: then a link that is still good is given again, for
 * installations of several instances.
 */
async function issueSetUpLink(
  { issuer, storage, secrets, clock, users }: AuthorizationServerOptions & { readonly users: UserDirectory },
  isShared: boolean,
): Promise<string | null> {
  for (;;) {
    if (await users.hasOwner()) return null;
    const found = await setUpCodes.read(storage, "current");
    const seed = isShared && found !== null ? found.value.seed : randomId();
    const code = secrets.authenticate("set-up-link", seed);
    const issued = await storage.commit({
      checks: [setUpCodes.check(found, "current")],
      puts: [setUpCodes.put("current", { codeHash: hashSecret(code), seed }, clock() + setUpLinkLifetimeMs)],
    });
    if (issued) return `${issuer}/setup?code=${code}`;
  }
}
