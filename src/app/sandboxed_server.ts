/** The main thread's side of the wall: starts the server in a worker of few permissions, and gives up its own. */
import { isObject, parseJson } from "../lib/json.ts";
import { readBounded } from "../lib/request_text.ts";
import { isSafeUrl } from "../lib/settings.ts";
import { createDocumentFetcher, createInternet, type FetchDocument } from "../lib/document_fetcher.ts";
import type { WriteLines } from "../lib/log.ts";
import { documentModules, programModuleUrl } from "../lib/program.ts";
import { permittedLibraries } from "../lib/start_flags.ts";
import { programName } from "../lib/program_name.ts";
import type { Config } from "./config/config.ts";
import { hasNames, readAdded, writeAdded } from "./config/directories.ts";
import { giveUp, hostAndPort, permissionNames, realPathBelow, serverPermissions } from "./sandbox/permissions.ts";
import type { RunningServer } from "./running_server.ts";

/** A server whose directories have names can be started anew with others, for which this thread needs its permissions. */
const neededAgain: ReadonlySet<string> = new Set(["read", "write", "net", "ffi"]);

/** An address key, or the name of a part of the server. */
const maxAskerLength = 64;

/**
 * Starts the worker. When its code is there, this thread gives up everything, and only then does the server get its
 * configuration. `entry` is a module that calls `runServerInWorker`; its code is loaded with the permissions of this
 * thread. `port`: where the one before it listened.
 */
export function startSandboxedServer(config: Config, entry: URL, writeLog: WriteLines, port?: number) {
  const started = Promise.withResolvers<Message<"ready" | "refused" | "failed">>();
  const ended = Promise.withResolvers<Message<"stopped" | "failed">>();
  const connected = Promise.withResolvers<string>();
  const { http } = config;
  const { net, read, write, ffi, ...never } = serverPermissions(config, realPathBelow, permittedLibraries());
  const preferredPort = port ?? (http.port === 0 ? freePort(http.host) : http.port);
  const isChangeable = hasNames(config.workspace);
  const permissions = {
    net: [...new Set([...net, hostAndPort(http.host, preferredPort)])],
    read: [...read, documentModules().directory],
    write: [...write],
    ffi: ffi.length > 0 && [...ffi],
    ...never,
  };
  // The checked fetch of clients' documents is done here, and that of the provider; the network stays for nothing else.
  const fetchDocument = config.authorizationServer.clientMetadataDocuments
    ? createDocumentFetcher(createInternet(), () => performance.now())
    : null;
  const { company } = config.authorizationServer;
  const askProvider = company === null ? null : createProviderGateway(company.issuer);
  const worker = new Worker(entry, {
    type: "module",
    // the directories that the kernel confines it to
    name: ffi.length > 0
      ? JSON.stringify(config.workspace.directories.map(({ path }) => realPathBelow(path)))
      : "server",
    deno: { permissions },
  });
  const send = (message: ToWorker): void => worker.postMessage(message);
  const answerTo = (id: number) => (answer: Answers[keyof Answers]) => send({ kind: "answer", id, answer });
  const fail = (failed: Message<"failed">): void => {
    started.resolve(failed);
    ended.resolve(failed);
  };
  worker.onmessage = ({ data }: MessageEvent<FromWorker>) => {
    switch (data.kind) {
      case "loaded":
        giveUp(
          permissionNames.filter((name) =>
            isChangeable ? !neededAgain.has(name) : name !== "net" || (fetchDocument ?? askProvider) === null
          ),
        );
        return send({ kind: "start", config, preferredPort, program: programName() });
      case "fetch_document":
        // A broken tool may send anything: the fetcher checks the URL and counts, and a key is a short text.
        return void fetchDocument?.(String(data.url), String(data.asker).slice(0, maxAskerLength))
          .then(answerTo(data.id));
      case "ask_provider":
        return void askProvider?.(data.question).then(answerTo(data.id));
      case "log":
        return void Promise.resolve(writeLog(data.lines)).then((isWritten) => answerTo(data.id)(isWritten ?? true));
      case "take_out": {
        const { dataDir } = config.storage;
        const added = readAdded(dataDir);
        if (isChangeable && added.ok) writeAdded(dataDir, added.value.filter(({ name }) => name !== data.name));
        return;
      }
      case "connected":
        return connected.resolve(String(data.name));
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
    /** How the start went. */
    started: started.promise,
    /** Resolves when the server has ended: in good order after `stop`, else with the reason. */
    ended: ended.promise,
    /** The name of the first client that connects. */
    connected: connected.promise,
    /** Asks it to finish. */
    stop: () => send({ kind: "stop" }),
    /** Ends its thread, once it has stopped. */
    end: () => worker.terminate(),
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

/** The module of the worker with the server's own tools. */
export function serverWorkerUrl(): URL {
  return programModuleUrl("src/app/server_worker.ts");
}

// Messages between this thread and the server's worker.

export type ToWorker =
  /** Once, as the answer to `loaded`. */
  | {
    readonly kind: "start";
    readonly config: Config;
    readonly preferredPort: number;
    readonly program: string;
  }
  /** The answer to a question: see {@link Answers}. */
  | { readonly kind: "answer"; readonly id: number; readonly answer: Answers[keyof Answers] }
  /** Finish what is in flight, close everything, answer `stopped`. */
  | { readonly kind: "stop" };

/** What the worker asks the main thread for, by the kind of the question. */
export type Question =
  /** A client named itself by this URL: the worker may not connect there, the main thread may, and checks where to. */
  | { readonly kind: "fetch_document"; readonly url: string; readonly asker: string }
  /** A request to the company's provider, whose hosts the main thread knows by its metadata. */
  | { readonly kind: "ask_provider"; readonly question: ProviderQuestion }
  /** Whole lines of the log, which the main thread writes. */
  | { readonly kind: "log"; readonly lines: Uint8Array<ArrayBuffer> };

export interface Answers {
  readonly fetch_document: Awaited<ReturnType<FetchDocument>>;
  readonly ask_provider: ProviderReply;
  /** Whether they are written. */
  readonly log: boolean;
}

export type FromWorker =
  /** Its code is loaded: from now on no permission to load any is needed. */
  | { readonly kind: "loaded" }
  | (Question & { readonly id: number })
  /** A person takes out a directory that was added to the workspace. */
  | { readonly kind: "take_out"; readonly name: string }
  /** The first client that connected, as it calls itself. */
  | { readonly kind: "connected"; readonly name: string }
  | (Omit<RunningServer, "stop"> & { readonly kind: "ready" })
  /** The server cannot run, for a reason that was foreseen: `error:` and `hint:` lines. */
  | { readonly kind: "refused"; readonly text: string }
  | { readonly kind: "failed"; readonly reason: string }
  /** The server has ended because it was told to. */
  | { readonly kind: "stopped" };

/** What the worker says, of these kinds. */
type Message<Kind extends FromWorker["kind"]> = Extract<FromWorker, { readonly kind: Kind }>;

// The main thread's way to the company's provider, for a server whose worker may connect to no host that its configuration
// does not name: the provider's metadata says where its endpoints are. It reaches the issuer's origin, and those that the
// issuer's own metadata names, and no other.

/** A request to the provider, as it comes from the worker. */
interface ProviderQuestion {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Posted where there is one. */
  readonly body: string | null;
}

/** `null` where there is none: refused, unreachable, too slow or too large. */
type ProviderReply = { readonly status: number; readonly bytes: Uint8Array<ArrayBuffer> } | null;

/** A little more than `maxAnswerBytes` of the provider's reader, which then says that an answer is too large. */
const maxReplyBytes = 1_100_000;
const requestMs = 10_000;
/** The worker's own limit for the provider (oauth/company_provider.ts): only a broken tool asks for more. */
const maxAtOnce = 20;

/** Makes the way to one issuer. */
export function createProviderGateway(issuer: string): (question: ProviderQuestion) => Promise<ProviderReply> {
  const origins = new Set([new URL(issuer).origin]);
  const metadataUrl = `${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`;
  // One connection a request: Deno repeats a request by itself where a kept one breaks, and a code works once.
  const client = Deno.createHttpClient({ poolMaxIdlePerHost: 0 });
  let running = 0;
  return async (question) => {
    if (running >= maxAtOnce) return null;
    running += 1;
    try {
      const { url, headers, body } = question; // a broken tool may send anything
      if (!origins.has(new URL(url).origin)) return null;
      const response = await fetch(url, {
        ...body === null ? {} : { method: "POST", body },
        headers,
        redirect: "manual",
        signal: AbortSignal.timeout(requestMs),
        client,
      });
      const bytes = await readBounded(response, maxReplyBytes) ?? new Uint8Array(maxReplyBytes);
      if (url === metadataUrl && response.status === 200) {
        for (const origin of originsIn(parseJson(new TextDecoder().decode(bytes)), issuer)) origins.add(origin);
      }
      return { status: response.status, bytes };
    } catch {
      return null;
    } finally {
      running -= 1;
    }
  };
}

const endpoints = ["token_endpoint", "jwks_uri", "userinfo_endpoint"];

/** Where the issuer's endpoints are. They are as many as the names above, however often the metadata changes. */
function originsIn(metadata: unknown, issuer: string): readonly string[] {
  if (!isObject(metadata) || metadata["issuer"] !== issuer) return [];
  return endpoints.flatMap((name) => {
    const url = URL.parse(String(metadata[name]));
    return url !== null && isSafeUrl(url) ? [url.origin] : [];
  });
}
