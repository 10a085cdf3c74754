/** One worker that runs the server with few permissions, as the main thread sees it. */
import type { FetchDocument } from "../lib/document_fetcher.ts";
import type { Config } from "./config/config.ts";
import type { WriteLines } from "../lib/json_log.ts";
import type { ServerReport } from "./metrics_listener.ts";
import {
  createPendingAnswers,
  type Failed,
  type FromWorker,
  type Ready,
  type Refused,
  type Seat,
  type Stopped,
  type ToWorker,
} from "./worker_messages.ts";
import { permittedLibraries } from "../lib/library_paths.ts";
import { workerName } from "./sandbox/worker_name.ts";
import { hostAndPort, realPathBelow, serverPermissions } from "./sandbox/permissions.ts";
import { programName } from "../lib/program_name.ts";

/** A server behind the wall. */
export interface ServerThread {
  /** How the start went. */
  readonly started: Promise<Ready | Refused | Failed>;
  /** Resolves when the server has ended: in good order after {@link stop}, else with the reason. */
  readonly ended: Promise<Stopped | Failed>;
  /** Asks for an orderly end. */
  stop(): void;
  /** Asks for what it counted; never resolves when the worker ends first. */
  report(): Promise<ServerReport | null>;
  /** Ends the thread at once. */
  terminate(): void;
}

interface ServerThreadOptions {
  readonly config: Config;
  /** A module that calls `runServerInWorker`; its code is loaded with the permissions of this thread. */
  readonly entry: URL;
  readonly seat: Seat;
  /** `null` where clients may not name themselves by a URL. */
  readonly fetchDocument: FetchDocument | null;
  /** The worker has loaded its code. It opens and answers nothing before it gets its configuration, after this. */
  readonly onLoaded: () => void;
  readonly gatherReports: () => Promise<readonly ServerReport[]>;
  readonly writeLog: WriteLines;
}

/** An address key, or the name of a part of the server. */
const maxAskerLength = 64;

export function startServerThread(options: ServerThreadOptions): ServerThread {
  const { config, entry, seat, fetchDocument, onLoaded, gatherReports, writeLog } = options;
  const started = Promise.withResolvers<Ready | Refused | Failed>();
  const ended = Promise.withResolvers<Stopped | Failed>();
  const { http } = config;
  const { net, read, write, ffi, ...never } = serverPermissions(config, realPathBelow, permittedLibraries());
  const preferredPort = http.port === 0 ? freePort(http.host) : http.port;
  const permissions = {
    net: [...new Set([...net, hostAndPort(http.host, preferredPort)])],
    read: [...read],
    write: [...write],
    ffi: ffi.length > 0 && [...ffi],
    ...never,
  };
  const worker = new Worker(entry, {
    type: "module",
    name: workerName(ffi.length > 0 ? realPathBelow(config.workspace.dir) : null),
    deno: { permissions },
  });
  const send = (message: ToWorker): void => worker.postMessage(message);
  const reports = createPendingAnswers<ServerReport | null>();
  const fail = (failed: Failed): void => {
    started.resolve(failed);
    ended.resolve(failed);
  };
  worker.onmessage = ({ data }: MessageEvent<FromWorker>) => {
    switch (data.kind) {
      case "loaded":
        onLoaded();
        return send({ kind: "start", config, seat, preferredPort, program: programName() });
      case "fetch_document":
        // A broken tool may send anything: the fetcher checks the URL and counts, and a key is a short text.
        return void fetchDocument?.(String(data.url), String(data.asker).slice(0, maxAskerLength))
          .then((document) => send({ kind: "document", id: data.id, document }));
      case "gather_reports":
        return void gatherReports().then((all) => send({ kind: "reports", id: data.id, reports: all }));
      case "log": {
        const written = Promise.resolve(writeLog(data.lines));
        return void written.then((isWritten) => send({ kind: "logged", id: data.id, isWritten: isWritten ?? true }));
      }
      case "report":
        return reports.answer(data.id, data.report);
      case "ready":
      case "refused":
        return started.resolve(data);
      case "stopped":
        return ended.resolve(data);
      case "failed":
        return fail(data);
    }
  };
  worker.onerror = (event) => {
    event.preventDefault(); // Deno has printed it, with its stack
    fail({ kind: "failed", reason: event.message });
  };
  return {
    started: started.promise,
    ended: ended.promise,
    stop: () => send({ kind: "stop" }),
    report: () => reports.ask((id) => send({ kind: "report", id })),
    terminate: () => worker.terminate(),
  };
}

/** A port that is free now, so that the worker can be given the permission for it; 0 where the host cannot be listened on. */
function freePort(hostname: string): number {
  try {
    const listener = Deno.listen({ hostname, port: 0 });
    listener.close();
    return listener.addr.port;
  } catch {
    return 0; // the worker meets the same problem, and says so
  }
}
