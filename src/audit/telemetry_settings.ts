/** Settings under the heading Metrics. */
import { parseListenAddress } from "../lib/parsers.ts";
import { optional } from "../lib/setting.ts";

export const telemetrySettings = {
  metricsAddress: optional({
    env: "METRICS_PORT",
    parse: parseListenAddress,
    help: "port, or HOST:PORT, on which Prometheus reads /metrics without a token; without it there are no metrics",
  }),
};

/** A collector's endpoint for logs (OTLP/HTTP). */
export interface LogsTarget {
  /** May hold a key, as the headers may. */
  readonly url: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly serviceName: string;
  readonly timeoutMs: number;
}
