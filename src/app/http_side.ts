/** The HTTP side of a server: its endpoints, each with its limits, behind one router. */
import { defaultWorkspaceLimits, transferPath } from "../files/mod.ts";
import type { Endpoint, Route } from "../lib/endpoint.ts";
import { basePathOf } from "../lib/page.ts";
import type { AttemptRecorder } from "../console/mod.ts";
import { type AuthorizationRoute, type AuthorizationServer, maxOAuthBodyBytes } from "../oauth/mod.ts";
import type { Config } from "./config/config.ts";
import { isLoopbackHost } from "../lib/settings.ts";
import * as http from "../http/mod.ts";
import type { createProfiles, McpServer } from "../mcp/mod.ts";
import type { LimitName, Metrics } from "../audit/mod.ts";
import { version } from "../lib/version.ts";
import { callerKey } from "../lib/principal.ts";
import { maxMessageBytes } from "./protocol_server.ts";
import { mayHaveSeveralInstances, type Parts } from "./installation.ts";
import { serverUrlSpellings } from "./server_url.ts";
import { scopesOf, servicenowCallsPerMinute } from "./servicenow_wiring.ts";
import type { Toolbox } from "./toolbox.ts";
import type { AgreedClock } from "../lib/time.ts";

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

const minute = 60_000;
/** For each address. */
const healthChecksPerMinute = 30;

/**
 * The rate limits: which are shared by all instances, and which each instance counts for itself. One instance alone on
 * its storage counts in memory only.
 */
export function createRateLimits(
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
