/** The listener of the metrics: an address of its own, so that who may read them is a matter of who can reach it. */
import type { Config } from "./config/config.ts";
import { createMetricsEndpoint } from "./http/metrics.ts";
import { knownNames } from "./http/origin.ts";
import type { Log } from "./lib/log.ts";
import { expose, expositionType } from "./metrics/exposition.ts";
import type { Metrics } from "./metrics/metrics.ts";
import { version } from "./version.ts";

/** What the listener answers from. */
export interface MetricsListenerOptions {
  readonly metrics: Metrics;
  readonly openStreams: () => number;
  /** In milliseconds since the epoch. */
  readonly startedAt: number;
  readonly log: Log;
}

/** Listens on METRICS_HOST and METRICS_PORT. Throws when it cannot. */
export function listenForMetrics(
  config: Config,
  port: number,
  { metrics, openStreams, startedAt, log }: MetricsListenerOptions,
): Deno.HttpServer<Deno.NetAddr> {
  const ready = Promise.withResolvers<ReturnType<typeof createMetricsEndpoint>>();
  const server = Deno.serve(
    { hostname: config.metricsHost, port, onListen: () => {} },
    async (request, { remoteAddr }) => await (await ready.promise)(request, { address: remoteAddr.hostname }),
  );
  ready.resolve(createMetricsEndpoint({
    names: knownNames([`http://localhost:${server.addr.port}`], [], config.allowedHosts ?? []),
    contentType: expositionType,
    expose: () => {
      const { rss, heapUsed, heapTotal } = Deno.memoryUsage();
      return expose(metrics, {
        version,
        openStreams: openStreams(),
        residentBytes: rss,
        heapUsedBytes: heapUsed,
        heapTotalBytes: heapTotal,
        startedAt: Math.floor(startedAt / 1_000),
      });
    },
  }));
  log.write("info", "metrics_listening", { host: config.metricsHost, port: server.addr.port });
  return server;
}
