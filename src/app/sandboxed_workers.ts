/**
 * Several workers behind the wall, each a server on the same port and installation. Crashed workers restart with
 * exponential backoff; a crash loop stops them all and reports the cause.
 */
import type { Config } from "./config/config.ts";
import type { JsonLog, WriteLines } from "../lib/json_log.ts";
import type { Failed, Ready, Refused, Seat, Stopped } from "./worker_messages.ts";
import { giveUp } from "./sandbox/permissions.ts";
import { documentFetcherOf, type SandboxedServer } from "./sandboxed_server.ts";
import { type ServerThread, startServerThread } from "./server_thread.ts";
import { type Clock, pause } from "../lib/time.ts";
import type { ServerReport } from "./metrics_listener.ts";

/** When a crashed worker restarts. */
export interface RestartPolicy {
  readonly firstPauseMs: number;
  readonly longestPauseMs: number;
  /** A worker that ran for this long did not crash quickly: the count starts again. */
  readonly steadyMs: number;
  /** This many quick crashes in a row stop the server. */
  readonly maxQuickEnds: number;
}

/** Pauses of 0.25, 0.5, 1, 2 and 4 seconds; the sixth quick crash is the last. */
export const restartPolicy: RestartPolicy = {
  firstPauseMs: 250,
  longestPauseMs: 30_000,
  steadyMs: 60_000,
  maxQuickEnds: 6,
};

export interface SandboxedWorkersOptions {
  readonly log: JsonLog;
  readonly writeLog: WriteLines;
  /** Only differences are used. */
  readonly clock: Clock;
  readonly policy: RestartPolicy;
}

const reportMs = 1_000;

/**
 * Starts WORKERS workers; the server is ready when all of them are. This thread keeps the permissions for files,
 * network and the C library, to grant each new worker its share, and gives up all others.
 */
export function startSandboxedWorkers(
  config: Config,
  entry: URL,
  { log, writeLog, clock, policy }: SandboxedWorkersOptions,
): SandboxedServer {
  const fetchDocument = documentFetcherOf(config);
  const answering = new Set<ServerThread>();
  const stopping = new AbortController();

  const gatherReports = async (): Promise<readonly ServerReport[]> => {
    const enough = new AbortController();
    const late = pause(reportMs, enough.signal).then(() => null);
    const reports = await Promise.all(Array.from(answering, (thread) => Promise.race([thread.report(), late])));
    enough.abort();
    return reports.filter((report) => report !== null);
  };
  const start = (configured: Config, seat: Seat): ServerThread => {
    const onLoaded = (): void => {
      giveUp(["env", "run", "sys", "import"]);
      if (config.workspace.store !== "disk") giveUp(["ffi"]);
    };
    return startServerThread({ config: configured, entry, seat, fetchDocument, onLoaded, gatherReports, writeLog });
  };
  const untilEnd = async (thread: ServerThread): Promise<Stopped | Failed> => {
    const began = await thread.started;
    if (began.kind === "refused") return { kind: "failed", reason: began.text.trim() };
    if (began.kind === "failed") return began;
    answering.add(thread);
    const stop = (): void => thread.stop();
    if (stopping.signal.aborted) stop();
    stopping.signal.addEventListener("abort", stop);
    const end = await thread.ended;
    stopping.signal.removeEventListener("abort", stop);
    answering.delete(thread);
    return end;
  };
  /** Keeps a worker on one seat: resolves when it was told to stop, or its worker crashed too often. */
  const keepSeat = async (
    first: ServerThread,
    restart: () => ServerThread,
    worker: number,
  ): Promise<Stopped | Failed> => {
    let thread = first;
    let quickEnds = 0;
    for (;;) {
      const began = clock();
      const end = await untilEnd(thread);
      thread.terminate();
      if (end.kind === "stopped" || stopping.signal.aborted) return end;
      quickEnds = clock() - began >= policy.steadyMs ? 1 : quickEnds + 1;
      const { firstPauseMs, longestPauseMs, maxQuickEnds } = policy;
      const pauseMs = Math.min(firstPauseMs * 2 ** (quickEnds - 1), longestPauseMs);
      const { reason } = end;
      if (quickEnds >= maxQuickEnds) {
        log.write("error", "worker_given_up", { worker, reason, quickEnds });
        return {
          kind: "failed",
          reason: `worker ${worker} ended ${quickEnds} times in a row, the last time: ${reason}`,
        };
      }
      log.write("error", "worker_ended", { worker, reason, pauseMs });
      await log.flush();
      await pause(pauseMs, stopping.signal);
      if (stopping.signal.aborted) return { kind: "stopped" };
      thread = restart();
      void thread.started.then(({ kind }) => kind === "ready" && log.write("info", "worker_started", { worker }));
    }
  };

  const started = Promise.withResolvers<Ready | Refused | Failed>();
  const run = async (): Promise<Stopped | Failed> => {
    const first = start(config, { isFirst: true, opensPort: true });
    const opened = await first.started;
    if (opened.kind !== "ready") {
      started.resolve(opened);
      return { kind: "stopped" };
    }
    const samePort = { ...config, http: { ...config.http, port: opened.port } };
    const others = Array.from(
      { length: config.server.workers - 1 },
      () => start(samePort, { isFirst: false, opensPort: false }),
    );
    const threads = [first, ...others];
    const seats = threads.map((thread, index) => {
      const seat: Seat = { isFirst: index === 0, opensPort: false };
      return keepSeat(thread, () => start(samePort, seat), index + 1);
    });
    const beginnings = await Promise.all(others.map((thread) => thread.started));
    const problem = beginnings.find(({ kind }) => kind !== "ready");
    if (problem === undefined) started.resolve(opened);
    else {
      stopping.abort();
      await Promise.all(seats);
      started.resolve(problem);
    }
    const end = await Promise.race([
      Promise.all(seats).then((): Stopped => ({ kind: "stopped" })),
      ...seats.map((seat) => seat.then((each) => each.kind === "failed" ? each : new Promise<never>(() => {}))),
    ]);
    stopping.abort();
    await Promise.all(seats);
    return end;
  };
  return { started: started.promise, ended: run().finally(() => log.flush()), stop: () => stopping.abort() };
}
