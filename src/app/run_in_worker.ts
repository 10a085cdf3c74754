/** The worker's side of the wall: runs the server, and reports to the main thread. */
import { workspaceKernel } from "./sandbox/workspace_kernel.ts"; // before all else: see there
import type { FetchDocument } from "../lib/document_fetcher.ts";
import type { Config } from "./config/config.ts";
import { systemClock } from "../lib/time.ts";
import { type JsonLog, stderrLog, type WriteLines } from "../lib/log.ts";
import { loadAsyncContexts, nodeProcess } from "../lib/program.ts";
import { problemText, UnusableError } from "../lib/result.ts";
import { crashText, faultWords } from "../lib/system_fault.ts";
import type { ProviderFetch } from "../oauth/mod.ts";
import type { Tool } from "../mcp/mod.ts";
import type { Bounds } from "./installation.ts";
import { type RunningServer, startServer, type StartServerOptions } from "./running_server.ts";
import type { Answers, FromWorker, Question, ToWorker } from "./sandboxed_server.ts";
import { giveUpHost, giveUpPath, listenAddresses, realPathBelow, storagePaths } from "./sandbox/permissions.ts";
import { setProgramName, setUpWords } from "../lib/program_name.ts";

/** The used part of a worker's global scope: the type libraries of windows and workers exclude each other. */
interface WorkerScope {
  onmessage: (event: MessageEvent<ToWorker>) => void;
  postMessage(message: FromWorker, transfer?: Transferable[]): void;
  close: () => void;
}

/** What the module given to `serve` calls, once: the server with these tools beside its own. */
export function runServerInWorker(extraTools: readonly Tool[], bounds: Bounds = {}): void {
  const scope = globalThis as unknown as WorkerScope;
  let running: Promise<RunningServer | null> | undefined;
  let log: JsonLog | undefined;
  const pending = new Map<number, (answer: never) => void>();
  let asked = 0;
  // If the main thread ends first, the answer never comes.
  const ask = <Kind extends keyof Answers>(question: Question & { kind: Kind }, transfer: Transferable[] = []) =>
    new Promise<Answers[Kind]>((resolve) => {
      pending.set(++asked, resolve);
      scope.postMessage({ ...question, id: asked }, transfer);
    });
  // The main thread limits how many of these fetches run, and for how long.
  const fetchDocument: FetchDocument = (url, asker) => ask({ kind: "fetch_document", url, asker });
  const providerFetch: ProviderFetch = async (url, { headers, body = null }) => {
    const reply = await ask({ kind: "ask_provider", question: { url, headers, body } });
    if (reply === null) throw new TypeError("The provider did not answer");
    return new Response(reply.bytes.length === 0 ? null : reply.bytes, { status: reply.status });
  };
  const writeLog: WriteLines = (lines) => ask({ kind: "log", lines }, [lines.buffer]);
  // A worker that ends says nothing to its parent, whose process would go on without a server.
  addEventListener("unload", () => {
    fail("its thread called exit() or close()");
  });
  const fail = (reason: string): void => {
    void log?.flush(); // posts the lines at once, before the reason
    scope.postMessage({ kind: "failed", reason });
  };
  const breakOff = (event: Event, error: unknown): void => {
    event.preventDefault();
    log?.write("error", "server_broke_off", { error: crashText(error) });
    fail(`Uncaught ${String(error)}`);
  };
  scope.close = () => Deno.exit(1);
  addEventListener("error", (event) => breakOff(event, event.error));
  addEventListener("unhandledrejection", (event) => breakOff(event, event.reason));
  scope.onmessage = ({ data }) => {
    switch (data.kind) {
      case "answer":
        pending.get(data.id)?.(data.answer as never);
        return void pending.delete(data.id);
      case "start": {
        const { preferredPort } = data;
        setProgramName(data.program);
        const config = data.config; // a copy that was sent is no longer frozen
        for (const part of Object.values(config)) Object.freeze(part);
        // Libraries that look for their variables find none, instead of an exception. Ours has one: for PostgreSQL.
        if (extraTools.length > 0 || config.storage.database?.kind === "postgres") nodeProcess().env = {};
        if (extraTools.length > 0) loadAsyncContexts(); // a tool may use some
        log = stderrLog(config.server, writeLog);
        const takeOutDirectory = (name: string): void => scope.postMessage({ kind: "take_out", name });
        // beside the log, which holds no secret
        const onNewSetUpLink = (url: string) => void writeLog(new TextEncoder().encode(setUpWords(url)));
        const own = { log, extraTools, bounds, preferredPort };
        const options = { ...own, fetchDocument, providerFetch, takeOutDirectory, onNewSetUpLink };
        running = start(config, options, (message) => scope.postMessage(message));
        return;
      }
      case "stop":
        return void stop(running, log).then(
          () => scope.postMessage({ kind: "stopped" }),
          (error) => fail(`it could not close everything: ${String(error)}`),
        );
    }
  };
  scope.postMessage({ kind: "loaded" });
}

async function start(
  config: Config,
  options: Omit<StartServerOptions, "log" | "clock" | "onConnected" | "kernel" | "onInstallationOpen"> & {
    readonly log: JsonLog;
  },
  post: (message: FromWorker) => void,
): Promise<RunningServer | null> {
  const tell = (message: FromWorker): void => {
    void options.log.flush(); // posts the lines first: what it tells may end the process
    post(message);
  };
  try {
    const started = await startServer(config, {
      ...options,
      clock: systemClock,
      onConnected: (name) => tell({ kind: "connected", name }),
      kernel: workspaceKernel,
      // The database stays open; its files and the master key are out of reach for every tool from here on.
      onInstallationOpen: () => storagePaths(config, realPathBelow).forEach(giveUpPath),
    });
    // The port itself stays: it is listened on again when accepting fails. Port 0 would let a tool listen anywhere.
    listenAddresses(config).filter((address) => address.endsWith(":0")).forEach(giveUpHost);
    const { stop: _, ...ready } = started;
    tell({ kind: "ready", ...ready });
    return started;
  } catch (error) {
    tell(
      error instanceof UnusableError
        ? { kind: "refused", text: problemText(error) }
        : { kind: "failed", reason: faultWords(error) },
    );
    return null;
  }
}

async function stop(running: Promise<RunningServer | null> | undefined, log: JsonLog | undefined): Promise<void> {
  log?.write("info", "stopping");
  await (await running)?.stop();
  await log?.flush();
}
