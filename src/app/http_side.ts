/** The HTTP side of a server: its endpoints, each with its limits, behind one router. */
import { defaultWorkspaceLimits, loadTransfers, refusalWords, transferPath } from "../files/mod.ts";
import type { Access, TransferLinks, WorkspaceSource } from "../files/mod.ts";
import type { Endpoint, Route } from "../lib/endpoint.ts";
import { loadOnce } from "../lib/program.ts";
import { basePathOf } from "../lib/page.ts";
import type { AttemptRecorder, Live } from "../console/mod.ts";
import { type AuthorizationRoute, type AuthorizationServer, maxOAuthBodyBytes, type Verifier } from "../oauth/mod.ts";
import type { Config } from "./config/config.ts";
import { isLoopbackHost } from "../lib/settings.ts";
import * as http from "../http/mod.ts";
import type { createProfiles, McpServer } from "../mcp/mod.ts";
import type { LimitName, Metrics } from "../audit/mod.ts";
import { version } from "../lib/version.ts";
import { callerKey } from "../lib/principal.ts";
import { maxMessageBytes } from "./protocol_server.ts";
import type { Parts } from "./installation.ts";
import { serverUrlSpellings } from "./server_url.ts";
import { scopesOf } from "./servicenow_wiring.ts";
import type { Approval } from "./approval.ts";
import type { createRateLimits } from "./rate_limits.ts";

/** Who may open without a token, by COMPATIBILITY: every other value goes by the caller. */
const publicInitialize: Readonly<Record<string, "always" | "never">> = { servicenow: "always", spec: "never" };

/** The tools' way to make links, and the endpoint at which they are used. */
export function openTransfers(source: WorkspaceSource, parts: Parts, access: Access) {
  const limits = parts.bounds.transfers ?? {};
  const load = loadOnce(async () =>
    (await loadTransfers()).createTransfers({ ...parts, source, access, limits, refusalWords })
  );
  const links: TransferLinks = {
    forDownload: async (principal, path) => await (await load()).links.forDownload(principal, path),
    forUpload: async (principal, path, rule) => await (await load()).links.forUpload(principal, path, rule),
  };
  const endpoint: Endpoint = async (request, peer) => await (await load()).endpoint(request, peer);
  return {
    links,
    endpoint,
    /** Admits no more; resolves when the running ones have ended, or after so many milliseconds. */
    finish: (milliseconds: number) => load.ifLoaded(({ finish }) => finish(milliseconds)),
    close: () => load.ifLoaded(({ close }) => close()),
  };
}

interface HttpSideParts extends Parts {
  readonly authorizationServer: AuthorizationServer;
  readonly transfers: ReturnType<typeof openTransfers> | null;
  readonly mcp: McpServer;
  readonly consoleRoutes: readonly Route[];
  readonly probeStorage: () => Promise<void>;
  readonly isWorkspaceThere: () => Promise<boolean>;
  readonly profiles: ReturnType<typeof createProfiles>;
  readonly limits: ReturnType<typeof createRateLimits>;
  readonly metrics?: Metrics;
  readonly attempts: AttemptRecorder;
}

export function createHttpSide(config: Config, parts: HttpSideParts) {
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
      createRequestId: () => crypto.randomUUID(),
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
      elapsed: () => parts.timers.elapsed(),
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

// * Who may use a link to a file: a person whose access still holds, while calls of the client are not stopped, for
// what the rules about calls allow.

const tools = { download: "file_read", upload: "file_write" };

export function createTransferAccess(
  verifier: Pick<Verifier, "isLive" | "changeCount">,
  live: Pick<Live, "callWatch" | "switches">,
  { judge, rules }: Pick<Approval, "judge" | "rules">,
): Access {
  let known: unknown[] = [];
  let changes = 0;
  return {
    isLive: async (principal) => live.callWatch.refusal(principal) === null && await verifier.isLive(principal),
    async judge({ principal, direction, path }) {
      const rule = await judge(principal, tools[direction], path);
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
