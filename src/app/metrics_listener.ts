/** The listener for metrics, on a separate address: any client that reaches it may read them. */
import type { ListenAddress } from "../lib/settings.ts";
import { createMetricsEndpoint, knownNames } from "../http/mod.ts";
import type { Log } from "../lib/log.ts";
import { nodeProcess } from "../lib/program.ts";
import { listenPersistently, type PersistentListener } from "../lib/persistent_listener.ts";
import type { Metrics } from "../audit/mod.ts";
import { version } from "../lib/version.ts";

interface MetricsListenerOptions {
  readonly metrics: Metrics;
  readonly openStreams: () => number;
  /** In milliseconds since the epoch. */
  readonly startedAt: number;
  readonly log: Log;
  /** Names under which it may be called beside localhost. */
  readonly allowedHosts: readonly string[];
}

/** Listens on METRICS_PORT. Throws when it cannot. */
export function listenForMetrics(
  { host, port }: ListenAddress,
  { metrics, openStreams, startedAt, log, allowedHosts }: MetricsListenerOptions,
): PersistentListener {
  const ready = Promise.withResolvers<ReturnType<typeof createMetricsEndpoint>>();
  const server = listenPersistently({
    listen: (again) =>
      Deno.serve(
        { hostname: host, port: again ?? port, onListen: () => {} },
        async (request, { remoteAddr }) => await (await ready.promise)(request, { address: remoteAddr.hostname }),
      ),
    log,
  });
  const names = knownNames([`http://localhost:${server.port}`], [], allowedHosts);
  ready.resolve(createMetricsEndpoint(names, () => {
    const { rss, heapUsed } = Deno.memoryUsage();
    const { user, system } = nodeProcess().cpuUsage();
    return metrics.expose({
      version,
      openStreams: openStreams(),
      residentBytes: rss,
      heapUsedBytes: heapUsed,
      cpuSeconds: (user + system) / 1e6,
      startedAt: Math.floor(startedAt / 1_000),
    });
  }));
  log.write("info", "metrics_listening", { host, port: server.port });
  return server;
}
