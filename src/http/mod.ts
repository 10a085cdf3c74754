/**
 * The server's HTTP side: routes and their checks (Host, Origin, CORS), the guard that turns a token into a principal,
 * rate limits and memory budgets, `/mcp` over HTTP, health, and the home page for browsers. `app` builds and wires it.
 *
 * The caller is known before a body is read, and every body, answer and stream is bounded before work is done for it.
 * Only this part knows the router (Hono); it imports nothing of `oauth`.
 */
export { createChallenges, createGuard, createResourceMetadataEndpoint, createSpellings } from "./guard.ts";
export { createBodyIntake, intakeBytesFor, limitAttempts, limitBodies } from "./guard.ts";
export { createRateLimiter, createSharedRateLimiter, type RateLimiter } from "./guard.ts";
export { createHealthEndpoints, createStorageProbe } from "./health.ts";
export { createHomeEndpoint, createIconEndpoint, iconPath, serverIcons } from "./home.ts";
export { createMcpEndpoint, defaultMaxPublicBodyBytes, type EventStreamOptions } from "./mcp_endpoint.ts";
export { ConnectionPeer, createMetricsEndpoint, createRouter, knownNames } from "./router.ts";
export type { CertificateState, ServedCertificate } from "./public_certificate.ts";
/** Gets and renews the certificate of `PUBLIC_DOMAIN`: loaded where it is set. */
export const loadPublicCertificate = (): Promise<typeof import("./public_certificate.ts")> =>
  import("./public_certificate.ts");
