/**
 * Settings of the stored audit and of metrics, with their defaults and bounds. `app` reads them before the rest of
 * audit is loaded.
 */
import { mebibyte, optional, parseDuration, parseInteger, parseListenAddress, required } from "../lib/settings.ts";
import type { ValuesOf } from "../lib/settings.ts";

/** Settings under the heading Audit. */
export const auditSettings = {
  keepMs: required({
    env: "AUDIT_KEEP",
    default: "30d",
    parse: parseDuration,
    help: "how long the stored audit is kept, such as 30d or 12h",
  }),
  maxBytes: required({
    env: "AUDIT_MAX_BYTES",
    default: String(64 * mebibyte),
    parse: parseInteger(0, 2 ** 40),
    help: "bytes of the stored audit, oldest lines removed first; 0 stores none",
  }),
};

/** The values of {@link auditSettings}, parsed. */
export type AuditSettings = ValuesOf<typeof auditSettings>;

/** Settings under the heading Metrics. */
export const telemetrySettings = {
  metricsAddress: optional({
    env: "METRICS_PORT",
    parse: parseListenAddress,
    help: "port, or HOST:PORT, on which Prometheus reads /metrics without a token; without it there are no metrics",
  }),
};
