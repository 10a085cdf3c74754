/** The composition root: builds the request handler from a configuration and an opened installation; beneath, its HTTP side. */
import { closeAll } from "../lib/result.ts";
import type { Config } from "./config/config.ts";
import type { Endpoint, Route } from "../lib/endpoint.ts";
import { loadOnce } from "../lib/program.ts";
import type { ConsoleParts } from "./console_pages.ts";
import { type Approval, openApproval } from "./approval.ts";
import {
  createProtocolServer,
  maxMessageBytes,
  openCallRecords,
  type ProtocolServerParts,
  settle,
} from "./protocol_server.ts";
import { createAuthorizationServer, maxOAuthBodyBytes } from "../oauth/mod.ts";
import type { AuthorizationRoute, AuthorizationServer, ProviderFetch, Registration, Verifier } from "../oauth/mod.ts";
import type { AttemptRecorder, Live } from "../console/mod.ts";
import type { FetchDocument } from "../lib/document_fetcher.ts";
import * as http from "../http/mod.ts";
import { mayHaveSeveralInstances, type Parts } from "./installation.ts";
import { type AgreedClock, createAgreedClock } from "../lib/time.ts";
import { type Access, defaultWorkspaceLimits, researchTools, transferPath } from "../files/mod.ts";
import { boundedMap } from "../lib/bounded_map.ts";
import { placesOfFiles } from "./workspaces.ts";
import { watchWallClock } from "../lib/wall_clock_watch.ts";
import type { LimitName, Metrics } from "../audit/mod.ts";
import { createProfiles, type McpServer } from "../mcp/mod.ts";
import { serverUrlSpellings } from "./server_url.ts";
import { openServicenow, scopesOf, servicenowCallsPerMinute } from "./servicenow_wiring.ts";
import { createToolbox, startSweeping, type Toolbox } from "./toolbox.ts";
import { basePathOf } from "../lib/page.ts";
import { isLoopbackHost } from "../lib/settings.ts";
import { version } from "../lib/version.ts";
import { callerKey } from "../lib/principal.ts";

export interface AppParts extends Parts, Pick<ProtocolServerParts, "onConnected"> {
  /** Fetches client metadata documents, from public addresses only; see `createDocumentFetcher`. */
  readonly fetchDocument: FetchDocument;
  /** Reaches the company's identity provider; the platform's `fetch` when absent. */
  readonly providerFetch?: ProviderFetch | undefined;
  /** Absent where no metrics are served. */
  readonly metrics?: Metrics;
  /** Called with the set-up link that replaces one which has expired. */
  readonly onNewSetUpLink?: (url: string) => void;
}

const maxRememberedClients = 100_000;
/** How often freed memory is returned. The first start of a version frees 20 MB once Deno has parsed its modules. */
const returnIntervalMs = 30_000;

/** The authorization server has the client credentials grant, which MCP knows as an extension (ext-auth). */
const clientCredentialsExtension = "io.modelcontextprotocol/oauth-client-credentials";

export type App = Awaited<ReturnType<typeof buildApp>>;

/** Wires every part. Rejects when the workspace cannot be used. */
export async function buildApp(config: Config, given: AppParts) {
  const { clock, timers, bounds, serverUrl, storage, metrics, extraTools, kernel } = given;
  const wallClock = watchWallClock({ clock, timers, log: given.log });
  const { steadyNow } = wallClock;
  const records = await openCallRecords(config, { ...given, ...wallClock });
  const notices = config.notices.url === undefined
    ? null
    : await (await import("./notices.ts")).openNotices(config, { ...given, log: records.log });
  const log = notices?.hear(records.log) ?? records.log;
  const { fetchDocument, ...parts } = { ...given, log }; // below, it is given on where clients' documents may be fetched
  const agreedClock = createAgreedClock(clock, timers);
  const resource = `${serverUrl}/mcp`;
  const limits = createRateLimits(config, { ...parts, agreedClock });
  const servicenow = await openServicenow(config.servicenow, parts, limits.servicenowCalls);

  const bodyTimeoutMs = bounds.http?.bodyTimeoutMs;
  const { ownerPasswordHash, clientMetadataDocuments, company, ownerPassphrase } = config.authorizationServer;
  const authorizationServer = createAuthorizationServer({
    ...parts,
    issuer: serverUrl,
    resource,
    resourceAliases: serverUrlSpellings(serverUrl).map((url) => `${url}/mcp`),
    scopes: scopesOf(config.servicenow),
    agreedClock,
    registration: registrationOf(config.authorizationServer),
    hasConsole: config.console.pages === "on",
    directories: config.workspace.directories.flatMap(({ name }) => name || []),
    workspaceOf: placesOfFiles(config.workspace),
    ...(ownerPasswordHash === undefined ? {} : { ownerPasswordHash }),
    lifetimes: { ...config.authorizationServer, ...bounds.lifetimes },
    limits: { ...(bodyTimeoutMs === undefined ? {} : { bodyTimeoutMs }), ...bounds.authorizationServer },
    ...(servicenow === null ? {} : {
      servicenow: { instance: servicenow.signIn, signsPeopleIn: config.authorizationServer.signIn === "servicenow" },
    }),
    ...(clientMetadataDocuments ? { fetchDocument } : {}),
    ...(company === null ? {} : { company: { ...company, fetch: given.providerFetch ?? fetch }, ownerPassphrase }),
  });
  const { verifier } = authorizationServer;

  const clientNames = boundedMap<string, string>(maxRememberedClients);
  const nameOfClient = (clientId: string): string | undefined => clientNames.get(clientId);
  const approval = await openApproval(config, {
    ...parts,
    nameOfClient,
    isLive: verifier.isLive,
    isGrantLive: verifier.isGrantLive,
    isAdministrator: verifier.isAdministrator,
    workspace: (principal) => toolbox.workspace(principal),
  });
  const toolbox: Toolbox = await createToolbox(config, {
    ...parts,
    ...approval,
    servicenow,
    transferAccess: createTransferAccess(verifier, records.live, approval),
  });
  const { compatibility } = config.mcp;
  const profiles = createProfiles({
    compatibility: compatibility === "spec" || compatibility === "servicenow" ? compatibility : "auto",
    findClient: async (clientId) => {
      const client = await authorizationServer.describeClient(clientId);
      if (client === null) return null;
      clientNames.set(clientId, client.name);
      return client;
    },
    toolFailureIsProtocolError: compatibility === "guide",
  });

  const tools = toolbox.tools.map((tool) => approval.gate(tool));
  const mcp = createProtocolServer(config, {
    ...parts,
    icons: http.serverIcons(serverUrl),
    extensions: [clientCredentialsExtension],
    tools: [...tools, ...researchTools((name) => tools.find((tool) => tool.name === name))],
    extraTools: extraTools.map((tool) => approval.gate(tool)),
    resources: [...toolbox.resources, approval.view],
    prompts: toolbox.prompts,
    noteClient(principal, name, readsStreams) {
      records.attempts.noteName(principal, name);
      return profiles.noteName(principal, name, readsStreams);
    },
    clientNames,
    toolCalls: limits.toolCalls,
    recordRequest: records.recordRequest,
    callWatch: records.live.callWatch,
    watchToken: verifier.watch,
    watchPerson: verifier.watchPerson,
    ...(metrics === undefined ? {} : { countRequest: metrics.countRequest }),
  });

  const probeStorage = http.createStorageProbe({ storage, timers }); // one for /health and the console
  const consolePages = createConsoleSide(config, {
    ...parts,
    probeStorage,
    ...approval,
    ...records,
    nameOfClient,
    authorizationServer,
    servicenow,
    model: toolbox.model,
    documents: toolbox.documents,
    workspace: toolbox.workspace,
    tools: [...toolbox.tools, ...extraTools],
  });
  const side = createHttpSide(config, {
    ...parts,
    ...toolbox,
    ...records,
    log,
    consoleRoutes: consolePages.routes,
    probeStorage,
    authorizationServer,
    mcp,
    limits,
    profiles,
  });

  const stopReturning = kernel?.available ? timers.every(returnIntervalMs, kernel.returnFreedMemory) : undefined;
  const stopSweeping = startSweeping({ ...given, log }, toolbox, steadyNow);
  return {
    /** Answers any request. */
    fetch: side.fetch,
    /** The one-time link with which the first person becomes the owner, or `null` when there is an owner. */
    issueSetUpLink: () => authorizationServer.issueSetUpLink({ isShared: mayHaveSeveralInstances(config) }),
    openStreams: () => mcp.openStreams,
    model: toolbox.model,
    /** Admits no more bodies; resolves when the arriving ones are complete, or after so many milliseconds. */
    finishBodies: side.finishBodies,
    /** From here on `/health/ready` answers 503, and streams that last end: a shutdown waits for running calls only. */
    drain() {
      side.announceStop();
      consolePages.close();
      mcp.drain();
    },
    /** Asks the calls that run to answer now with what they have. */
    hurry: mcp.hurry,
    /** Releases everything but the installation. */
    close: () =>
      closeAll(
        ...[stopReturning, stopSweeping, wallClock.close, consolePages.close, approval.close],
        () => settle(given, [notices?.close(), servicenow?.links.settled(), authorizationServer.settled()]),
        ...[mcp.close, servicenow?.close, toolbox.close, records.close],
      ),
  };
}

function registrationOf(settings: Config["authorizationServer"]): Registration {
  const { registration: mode, registrationToken: token } = settings;
  if (mode === "off") return { mode };
  if (mode === "open") return { mode, ...(token === undefined ? {} : { token }) };
  if (token === undefined) throw new TypeError("REGISTRATION=token without DCR_AUTH_TOKEN passed the configuration");
  return { mode, token };
}

/** The pages below /console, and the events of open ones. */
const pageNames = "activity change decisions connections why servicenow files settings people rules events".split(" ");

/**
 * The routes of the console, none where it is off. The code of its pages is loaded at the first request to one; `close`
 * ends the streams of open ones.
 */
function createConsoleSide(
  config: Config,
  parts: ConsoleParts,
): { readonly routes: readonly Route[]; readonly close: () => void } {
  if (config.console.pages === "off") return { routes: [], close: () => {} };
  const load = loadOnce(async () => {
    const pages = await (await import("./console_pages.ts")).openConsolePages(config, parts);
    return {
      close: pages.close,
      endpoints: new Map(pages.routes.map(({ paths: [path], endpoint }) => [path, endpoint])),
    };
  });
  const endpointAt = (path: string): Endpoint => async (request, peer) => {
    const endpoint = (await load()).endpoints.get(path);
    if (endpoint === undefined) throw new TypeError(`The console has no page at ${path}`);
    return await endpoint(request, peer);
  };
  const names = pageNames.filter((name) => name !== "servicenow" || parts.servicenow !== null);
  return {
    routes: ["/console", ...names.map((name) => `/console/${name}`)]
      .map((path) => ({ paths: [path], kind: "page", endpoint: endpointAt(path) })),
    close: () => void load.ifLoaded(({ close }) => close()),
  };
}

const toolOfLink = { download: "file_read", upload: "file_write" };

/**
 * Who may use a link to a file: a person whose access still holds, while calls of the client are not stopped, for what
 * the rules about calls allow.
 */
function createTransferAccess(
  verifier: Pick<Verifier, "isLive" | "changeCount">,
  live: Pick<Live, "callWatch" | "switches">,
  { judge, rules }: Pick<Approval, "judge" | "rules">,
): Access {
  let known: unknown[] = [];
  let changes = 0;
  return {
    isLive: async (principal) => live.callWatch.refusal(principal) === null && await verifier.isLive(principal),
    async judge({ principal, direction, path }) {
      const rule = await judge(principal, toolOfLink[direction], path);
      return rule?.verdict === "ask" ? { ask: rule.id } : rule?.verdict ?? "allow";
    },
    async changeCount() {
      const now = [live.switches.state, rules.current];
      // what a name leads to may change without a word
      const mayLeadElsewhere = rules.current.some(({ place }) => place !== undefined);
      if (mayLeadElsewhere || now.some((each, index) => each !== known[index])) changes += 1;
      known = now;
      return changes + await verifier.changeCount(); // both only grow
    },
  };
}

// * The HTTP side: endpoints, each with its limits, behind one router.

/** Who may open without a token, by COMPATIBILITY: every other value goes by the caller. */
const publicInitialize: Readonly<Record<string, "always" | "never">> = { servicenow: "always", spec: "never" };

interface HttpSideParts extends Parts {
  readonly authorizationServer: AuthorizationServer;
  readonly transfers: Toolbox["transfers"];
  readonly mcp: McpServer;
  readonly consoleRoutes: readonly Route[];
  readonly probeStorage: () => Promise<void>;
  readonly isWorkspaceThere: () => Promise<boolean>;
  readonly profiles: ReturnType<typeof createProfiles>;
  readonly limits: ReturnType<typeof createRateLimits>;
  readonly metrics?: Metrics;
  readonly attempts: AttemptRecorder;
}

function createHttpSide(config: Config, parts: HttpSideParts) {
  const { serverUrl, authorizationServer, transfers, mcp, profiles } = parts;
  const { limits, bounds, clock, log, metrics } = parts;
  const resource = `${serverUrl}/mcp`;
  const spellings = serverUrlSpellings(serverUrl);
  const { spellingOf } = http.createSpellings([resource, ...spellings.map((url) => `${url}/mcp`)]);
  const scopes = scopesOf(config.servicenow);
  const challenges = http.createChallenges({ spellingOf, scopes });
  const guard = http.createGuard({ verifier: authorizationServer.verifier, challenges, clock });
  const { bodyTimeoutMs, maxPublicBodyBytes = http.defaultMaxPublicBodyBytes } = bounds.http ?? {};
  const refusedBy = (limit: LimitName) => (): void => metrics?.countRateLimited(limit);
  const maxBodyBytes = maxMessageBytes(config.workspace);
  const intakeFor = (largestBytes: number) => http.createBodyIntake(http.intakeBytesFor(largestBytes));
  const intake = intakeFor(Math.max(maxBodyBytes, defaultWorkspaceLimits.maxReadBytes));
  // Apart, since no rate limit holds strangers back at the handshake: a dozen addresses can fill its share.
  const handshakeIntake = intakeFor(maxPublicBodyBytes);
  const oauthIntake = intakeFor(maxOAuthBodyBytes);
  const attempts = { credentialKey: authorizationServer.credentialKey, onRefused: refusedBy("oauth") };
  const limitRoute = ({ limit, ...route }: AuthorizationRoute): Route => {
    if (limit === "none") return route;
    const endpoint = limit === "registrations"
      ? http.limitAttempts(limits.registrations, route.endpoint, { cost: 1, onRefused: refusedBy("registration") })
      : route.endpoint;
    const limited = http.limitAttempts(limits.oauthAttempts, endpoint, attempts);
    return { ...route, endpoint: http.limitBodies(oauthIntake, maxOAuthBodyBytes, limited) };
  };
  const limitHealth = (endpoint: Endpoint): Endpoint =>
    http.limitAttempts(limits.healthChecks, endpoint, { cost: 1, onRefused: refusedBy("health") });
  let draining = false;
  const { health, live, ready } = http.createHealthEndpoints({ ...parts, version, isDraining: () => draining });
  const base = basePathOf(serverUrl);
  const home = http.createHomeEndpoint({
    resourceOf: (request: Request) => spellingOf(request).resource,
    base,
    isSetUp: authorizationServer.isSetUp,
    hasConsole: parts.consoleRoutes.length > 0,
    hasServicenow: config.servicenow.access !== undefined,
  });
  const fetch = http.createRouter({
    mcp: http.createMcpEndpoint({
      mcp,
      authenticate: guard.authenticate,
      challenge: challenges,
      profileOf: profiles.of,
      publicProfile: profiles.publicProfile,
      createRequestId: crypto.randomUUID.bind(crypto),
      publicInitialize: publicInitialize[config.mcp.compatibility] ?? "auto",
      isOnLoopback: isLoopbackHost(new URL(serverUrl).hostname),
      maxBodyBytes,
      maxPublicBodyBytes,
      ...(bodyTimeoutMs === undefined ? {} : { bodyTimeoutMs }),
      intake,
      publicIntake: handshakeIntake,
      refusalOfCalls: (principal) => limits.toolCalls.refusal(callerKey(principal)),
      eventStreams: bounds.eventStreams,
      log,
      onTokenRefused: () => metrics?.countRefusedToken(),
      outsiders: parts.attempts,
      elapsed: parts.timers.elapsed,
    }),
    mcpPage: home,
    routes: [
      {
        // RFC 9728 §3.1
        paths: ["/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp"],
        kind: "shared",
        endpoint: http.createResourceMetadataEndpoint({ spellingOf, issuer: serverUrl, scopes }),
      },
      ...authorizationServer.routes.map(limitRoute),
      ...parts.consoleRoutes.map((route) => limitRoute({ ...route, limit: "attempts" })),
      { paths: ["/health"], kind: "plain", endpoint: limitHealth(health) },
      { paths: ["/health/live"], kind: "plain", endpoint: live },
      { paths: ["/health/ready"], kind: "plain", endpoint: limitHealth(ready) },
      ...(transfers === null
        ? []
        : [{ paths: [`${transferPath}*`], kind: "plain", endpoint: transfers.endpoint } as const]),
      { paths: [http.iconPath], kind: "shared", endpoint: http.createIconEndpoint() },
      { paths: ["/"], kind: "plain", endpoint: home },
    ],
    base,
    names: http.knownNames(spellings, config.http.allowedOrigins ?? [], config.http.allowedHosts ?? []),
    log,
    arrivals: parts.attempts,
  });
  return {
    fetch,
    /** From here on `/health/ready` answers 503; everything else goes on. */
    announceStop() {
      draining = true;
    },
    /** Admits no more bodies; resolves when the arriving ones are complete, or after so many milliseconds. */
    finishBodies: async (milliseconds: number) =>
      void await Promise.all([
        ...[intake, handshakeIntake, oauthIntake].map((each) => each.stop(milliseconds)),
        transfers?.finish(milliseconds),
      ]),
  };
}

const minute = 60_000;
/** For each address. */
const healthChecksPerMinute = 30;

/**
 * The rate limits: which are shared by all instances, and which each instance counts for itself. One instance alone on
 * its storage counts in memory only.
 */
function createRateLimits(
  config: Config,
  { storage, secrets, clock, agreedClock, timers, log, bounds }: Parts & { readonly agreedClock: AgreedClock },
) {
  const { rateLimit } = config;
  const hideKey = (key: string): string => secrets.authenticate("rate-limit", key);
  const limiter = (name: string, count: number, windowMs: number): http.RateLimiter => {
    if (!mayHaveSeveralInstances(config)) return http.createRateLimiter({ count, windowMs, clock: timers.elapsed });
    return http.createSharedRateLimiter({ name, count, windowMs, storage, hideKey, clock, agreedClock, log });
  };
  return {
    toolCalls: limiter("tool_calls", rateLimit.toolCallsPerMinute, minute),
    servicenowCalls: limiter("servicenow_calls", servicenowCallsPerMinute, minute),
    oauthAttempts: limiter("oauth_attempts", rateLimit.oauthFailuresPerQuarterHour, 15 * minute),
    registrations: limiter("registrations", Math.ceil(rateLimit.oauthFailuresPerQuarterHour / 5), 60 * minute),
    // By each instance for itself: a question about one instance is no reason to write into the storage of all.
    healthChecks: http.createRateLimiter({
      count: bounds.healthChecksPerMinute ?? healthChecksPerMinute,
      windowMs: minute,
      clock: timers.elapsed,
    }),
  };
}
