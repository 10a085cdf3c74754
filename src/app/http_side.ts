/** The HTTP side of a server: its endpoints, each with its limits, behind one router. */
import type { AttemptRecorder } from "../console/connections/recorder.ts";
import type { AuthorizationRoute, AuthorizationServer } from "../oauth/authorization_server.ts";
import { maxOAuthBodyBytes } from "../oauth/request_body.ts";
import type { Config } from "./config/config.ts";
import { isLoopbackHost } from "../lib/parsers.ts";
import { createBodyIntake, intakeBytesFor } from "../http/body_intake.ts";
import { createHealthEndpoint, createLivenessEndpoint, createReadinessEndpoint, type HealthOptions } from "../http/health.ts";
import { createHomeEndpoint, createMcpPage } from "../http/home.ts";
import { createIconsEndpoint } from "../http/icons.ts";
import { limitAttempts, limitBodies, limitRequests } from "../http/limited.ts";
import { createMcpEndpoint, defaultMaxPublicBodyBytes } from "../http/mcp_endpoint.ts";
import { knownNames } from "../http/origin.ts";
import { createRouter } from "../http/router.ts";
import { createServerCardEndpoints } from "../http/server_card.ts";
import { traceRequests } from "../http/traced_requests.ts";
import type { Endpoint, Route } from "../lib/endpoint.ts";
import type { Log } from "../lib/log.ts";
import type { McpServer } from "../mcp/mcp_server.ts";
import type { Timers } from "../lib/timers.ts";
import type { ServerInfo } from "../mcp/revision.ts";
import type { createProfiles } from "../mcp/profile.ts";
import type { createChallenges } from "../http/challenge.ts";
import type { createGuard } from "../http/guard.ts";
import type { LimitName, Metrics } from "../audit/metrics.ts";
import type { Telemetry } from "../audit/telemetry.ts";
import { transferPath } from "../files/transfer/port.ts";
import { version } from "../lib/version.ts";
import { defaultWorkspaceLimits } from "../files/workspace/limits.ts";
import type { Bounds } from "./bounds.ts";
import { callerKey } from "../lib/principal.ts";
import { maxMessageBytes } from "./protocol_server.ts";
import type { RateLimits } from "./rate_limits.ts";
import type { OpenedTransfers } from "./transfers.ts";

interface HttpSideParts {
  readonly serverUrl: string;
  /** The server's URL in every spelling that users type. */
  readonly spellings: readonly string[];
  readonly serverInfo: ServerInfo;
  readonly authorizationServer: AuthorizationServer;
  readonly resourceMetadata: Endpoint;
  readonly transfers: OpenedTransfers | null;
  readonly mcp: McpServer;
  readonly consoleRoutes: readonly Route[];
  readonly probeStorage: () => Promise<void>;
  readonly isWorkspaceThere: () => Promise<boolean>;
  readonly profiles: ReturnType<typeof createProfiles>;
  readonly guard: ReturnType<typeof createGuard>;
  readonly challenges: ReturnType<typeof createChallenges>;
  readonly limits: RateLimits;
  readonly bounds: Bounds;
  readonly log: Log;
  readonly timers: Timers;
  readonly metrics?: Metrics;
  readonly telemetry: Telemetry;
  readonly attempts: AttemptRecorder;
}

interface HttpSide {
  readonly fetch: Endpoint;
  /** From here on `/health/ready` answers 503; everything else goes on. */
  announceStop(): void;
  /** Admits no more bodies; resolves when those that are arriving have, or after so many milliseconds. */
  finishBodies(milliseconds: number): Promise<void>;
}

export function createHttpSide(config: Config, parts: HttpSideParts): HttpSide {
  const { serverUrl, spellings, serverInfo, authorizationServer, resourceMetadata, transfers, mcp, profiles } = parts;
  const { guard, challenges, limits, bounds, log, metrics, telemetry } = parts;
  const resource = `${serverUrl}/mcp`;
  const serverCard = createServerCardEndpoints({ resource, serverInfo });
  const { bodyTimeoutMs, maxPublicBodyBytes = defaultMaxPublicBodyBytes } = bounds.http ?? {};
  const refusedBy = (limit: LimitName) => (): void => metrics?.countRateLimited(limit);
  const maxBodyBytes = maxMessageBytes(config.workspace);
  const intake = createBodyIntake(intakeBytesFor(Math.max(maxBodyBytes, defaultWorkspaceLimits.maxReadBytes)));
  // Apart, since no rate limit holds strangers back at the handshake: a dozen addresses can fill its share.
  const handshakeIntake = createBodyIntake(intakeBytesFor(maxPublicBodyBytes));
  const oauthIntake = createBodyIntake(intakeBytesFor(maxOAuthBodyBytes));
  const { credentialKey } = authorizationServer;
  const limitRoute = ({ limit, ...route }: AuthorizationRoute): Route => {
    if (limit === "none") return route;
    const endpoint = limit === "registrations"
      ? limitRequests(limits.registrations, route.endpoint, refusedBy("registration"))
      : route.endpoint;
    const limited = limitAttempts(limits.oauthAttempts, endpoint, { credentialKey, onRefused: refusedBy("oauth") });
    return { ...route, endpoint: limitBodies(oauthIntake, maxOAuthBodyBytes, limited) };
  };
  const limitHealth = (endpoint: Endpoint): Endpoint =>
    limitRequests(limits.healthChecks, endpoint, refusedBy("health"));
  let draining = false;
  const health: HealthOptions = {
    version,
    probeStorage: parts.probeStorage,
    isWorkspaceThere: parts.isWorkspaceThere,
    isDraining: () => draining,
  };
  const pages = {
    resource,
    isSetUp: authorizationServer.isSetUp,
    hasConsole: parts.consoleRoutes.length > 0,
    hasServicenow: config.servicenow.access !== undefined,
  };
  const fetch = createRouter({
    mcp: createMcpEndpoint({
      mcp,
      authenticate: guard.authenticate,
      challenge: challenges,
      profileOf: profiles.of,
      publicProfile: profiles.publicProfile,
      createRequestId: () => crypto.randomUUID(),
      publicInitialize: config.mcp.publicInitialize,
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
    mcpPage: createMcpPage(pages),
    routes: [
      {
        // RFC 9728 §3.1
        paths: ["/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp"],
        kind: "shared",
        endpoint: resourceMetadata,
      },
      ...authorizationServer.routes.map(limitRoute),
      ...parts.consoleRoutes.map((route) => limitRoute({ ...route, limit: "attempts" })),
      { paths: ["/.well-known/ai-catalog.json"], kind: "shared", endpoint: serverCard.catalog },
      { paths: ["/mcp/server-card"], kind: "shared", endpoint: serverCard.card }, // SEP-2127
      { paths: ["/health"], kind: "plain", endpoint: limitHealth(createHealthEndpoint(health)) },
      { paths: ["/health/live"], kind: "plain", endpoint: createLivenessEndpoint() },
      { paths: ["/health/ready"], kind: "plain", endpoint: limitHealth(createReadinessEndpoint(health)) },
      ...(transfers === null
        ? []
        : [{ paths: [`${transferPath}*`], kind: "plain", endpoint: transfers.endpoint } as const]),
      { paths: ["/icons/*"], kind: "shared", endpoint: createIconsEndpoint() },
      { paths: ["/"], kind: "plain", endpoint: createHomeEndpoint(pages) },
    ],
    names: knownNames(spellings, config.http.allowedOrigins ?? [], config.http.allowedHosts ?? []),
    log,
    arrivals: parts.attempts,
    observers: [
      ...(telemetry.tracer.exports ? [traceRequests(telemetry.tracer)] : []),
      ...(metrics === undefined ? [] : [{ onAnswer: metrics.countAnswer }]),
    ],
  });
  return {
    fetch,
    announceStop() {
      draining = true;
    },
    finishBodies: async (milliseconds) =>
      void await Promise.all([
        ...[intake, handshakeIntake, oauthIntake].map((each) => each.stop(milliseconds)),
        transfers?.finish(milliseconds),
      ]),
  };
}
