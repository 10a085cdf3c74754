/** What other parts use of http. */
export { createBodyIntake, intakeBytesFor } from "./rate_limit.ts";
export { ConnectionPeer, createProxyNotice, type ProxyNotice } from "./forwarded.ts";
export { createChallenges, createGuard, createResourceMetadataEndpoint, createSpellings } from "./guard.ts";
export {
  createHealthEndpoint,
  createLivenessEndpoint,
  createMetricsEndpoint,
  createReadinessEndpoint,
  createStorageProbe,
  type HealthOptions,
} from "./health.ts";
export {
  createHomeEndpoint,
  createIconsEndpoint,
  createMcpPage,
  createServerCardEndpoints,
  serverIcons,
  withIcons,
} from "./home.ts";
export { createMcpEndpoint, defaultMaxPublicBodyBytes } from "./mcp_endpoint.ts";
export type { EventStreamOptions } from "./mcp_response.ts";
export { knownNames } from "./router.ts";
export {
  createRateLimiter,
  createSharedRateLimiter,
  limitAttempts,
  limitBodies,
  limitRequests,
  type RateLimiter,
  type SharedRateLimiter,
} from "./rate_limit.ts";
export { createRouter, traceRequests } from "./router.ts";
