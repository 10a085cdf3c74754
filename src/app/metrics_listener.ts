/** The listener of the metrics: an address of its own, so that who may read them is a matter of who can reach it. */
import type { ListenAddress } from "../lib/settings.ts";
import { createMetricsEndpoint, knownNames } from "../http/mod.ts";
import type { Log } from "../lib/log.ts";
import { nodeProcess } from "../lib/program.ts";
import { listenPersistently, type PersistentListener } from "../lib/persistent_listener.ts";
import type { Counts } from "../audit/mod.ts";
import { addCounts, expose, expositionType } from "../audit/later.ts";
import { version } from "../lib/version.ts";

/** What one server tells of itself: plain data, which threads can send each other. */
export interface ServerReport {
  readonly counts: Counts;
  readonly openStreams: number;
  readonly heapUsedBytes: number;
  readonly heapTotalBytes: number;
}

/** What the listener answers from. */
interface MetricsListenerOptions {
  /** Asks every server of this process. */
  readonly gatherReports: () => Promise<readonly ServerReport[]>;
  /** In milliseconds since the epoch. */
  readonly startedAt: number;
  readonly log: Log;
  /** Names under which it may be called beside localhost. */
  readonly allowedHosts: readonly string[];
}

/** Listens on METRICS_PORT. Throws when it cannot. */
export function listenForMetrics(
  { host, port }: ListenAddress,
  { gatherReports, startedAt, log, allowedHosts }: MetricsListenerOptions,
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
  ready.resolve(createMetricsEndpoint({
    names: knownNames([`http://localhost:${server.port}`], [], allowedHosts),
    contentType: expositionType,
    expose: async () => {
      const reports = await gatherReports();
      const sum = (pick: (report: ServerReport) => number): number =>
        reports.reduce((total, report) => total + pick(report), 0);
      return expose(addCounts(reports.map(({ counts }) => counts)), {
        version,
        workers: reports.length,
        openStreams: sum(({ openStreams }) => openStreams),
        residentBytes: Deno.memoryUsage().rss,
        cpuSeconds: cpuSeconds(),
        heapUsedBytes: sum(({ heapUsedBytes }) => heapUsedBytes),
        heapTotalBytes: sum(({ heapTotalBytes }) => heapTotalBytes),
        startedAt: Math.floor(startedAt / 1_000),
      });
    },
  }));
  log.write("info", "metrics_listening", { host, port: server.port });
  return server;
}

function cpuSeconds(): number {
  const { user, system } = nodeProcess().cpuUsage();
  return (user + system) / 1e6;
}
