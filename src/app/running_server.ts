/** The server running in this isolate: the installation opened, the app built, a port listened on. */
import { createMetrics, startTelemetry, type Telemetry } from "../audit/mod.ts";
import type { Config } from "./config/config.ts";
import { askHealth, isHealthBody } from "../lib/endpoint.ts";
import { listenForClients, listenForMetrics, listenPublicly, type PersistentListener } from "./listeners.ts";
import type { Log } from "../lib/log.ts";
import { UnusableError } from "../lib/result.ts";
import { systemCode } from "../lib/system_fault.ts";
import { type App, type AppParts, buildApp } from "./app.ts";
import { canVerify, hasArgon2id } from "../oauth/mod.ts";
import { type Installation, logConfinement, openInstallation } from "./installation.ts";
import { atMost, systemTimers } from "../lib/time.ts";
import { problemWords } from "../llm/mod_settings.ts";
import { offeredModels } from "./offered_models.ts";
import { methodNames } from "../mcp/mod.ts";
import { missesTrustProxy, missingTrustWords, serverUrlFor, servesTls } from "./server_url.ts";
import { version } from "../lib/version.ts";

/** A server that runs, with what the welcome says of it. `serve` stops it. */
export interface RunningServer {
  /** Its address as clients know it. */
  readonly serverUrl: string;
  /** The port that it listens on. */
  readonly port: number;
  /** Whether it listens only once it has its first certificate. */
  readonly isWaiting: boolean;
  /** The one-time link with which the first person becomes the owner, or `null` when there is an owner. */
  readonly setUpLink: string | null;
  /** The models that agents are offered, and in one sentence what is missing; `isAway`: their engine. */
  readonly models: { readonly names: readonly string[]; readonly problem: string | null; readonly isAway: boolean };
  /** Drains: stops accepting, waits SHUTDOWN_TIMEOUT for requests in flight, closes. */
  stop(): Promise<void>;
}

export interface StartServerOptions extends
  Pick<
    AppParts,
    "log" | "clock" | "extraTools" | "fetchDocument" | "providerFetch" | "onConnected" | "onNewSetUpLink"
  >,
  Partial<Pick<AppParts, "bounds" | "kernel" | "takeOutDirectory">> {
  /** Called when the storage is open and its files are no longer needed by name. */
  readonly onInstallationOpen: () => void;
  /** Taken if free where the system chooses the port: with permissions by port, only this one can be listened on again. */
  readonly preferredPort?: number;
}

/** Starts the server. Throws with everything closed again: {@link UnusableError} for what was foreseen. */
export async function startServer(config: Config, options: StartServerOptions): Promise<RunningServer> {
  const { log, clock, bounds = {}, kernel } = options;
  await requireCheckableHash(config.authorizationServer, log);
  warnOfSettings(config, log);
  logConfinement(config.workspace, kernel, log);
  const telemetry = startTelemetry(config, { version, log });
  const installation = await openInstallation(config.storage, clock, {
    log,
    bounds: bounds.storage ?? {},
    ...(kernel?.available ? { kernel } : {}),
  });
  options.onInstallationOpen();
  const opened: OpenedParts = { app: null, server: null, metricsServer: null };
  const close = async (): Promise<void> => {
    await atMost(metricsShutdownMs, opened.metricsServer?.shutdown(), null);
    await closeInTime("app", opened.app?.close(), log);
    await closeInTime("storage", installation.storage.close(), log);
  };
  try {
    return await openServer(config, { ...options, ...installation, telemetry }, opened, close);
  } catch (error) {
    await opened.server?.shutdown();
    await close();
    if (opened.server === null) await requireNoOwnServer(error, config.http);
    throw error;
  }
}

/** Says so where what listens on the server's address already is one of ours. */
async function requireNoOwnServer(error: unknown, http: Config["http"]): Promise<void> {
  const { host, port } = http;
  if (!(error instanceof UnusableError) || systemCode(error.cause) !== "EADDRINUSE") return;
  const health = await askHealth({ host, port, usesTls: servesTls(http) });
  if (typeof health === "string" || !isHealthBody(health.body)) return;
  throw new UnusableError(
    `cannot listen on ${host} port ${port}: a Portcullis server already runs there`,
    "use it, stop it, or choose another address with --port or --host",
  );
}

/** The parts that are open so far, to be closed again where a later one cannot be opened. */
interface OpenedParts {
  app: App | null;
  server: PersistentListener | null;
  metricsServer: PersistentListener | null;
}

/** Listens before the app is built, so that the address is known; requests that come early wait for the app. */
async function openServer(
  config: Config,
  options: StartServerOptions & Installation & { readonly telemetry: Telemetry },
  opened: OpenedParts,
  close: () => Promise<void>,
): Promise<RunningServer> {
  const { log, clock, preferredPort } = options;
  const { http, server: { shutdownTimeoutSeconds } } = config;
  const { promise: answer, resolve: answerWith } = Promise.withResolvers<App["fetch"]>();
  const { publicDomain: name } = http;
  const publicly = name === undefined ? null : await listenPublicly({ ...http, name }, answer, options);
  const server = opened.server = publicly ?? listenForClients(http, answer, { log, preferredPort });
  const serverUrl = serverUrlFor(http, server.port);
  const { metricsAddress } = config.telemetry;
  const metrics = metricsAddress === undefined ? undefined : createMetrics({ methods: methodNames });
  const app = await buildApp(config, {
    ...options,
    bounds: options.bounds ?? {},
    timers: systemTimers,
    serverUrl,
    ...(metrics === undefined ? {} : { metrics }),
  });
  opened.app = app;
  answerWith(app.fetch);
  if (metricsAddress !== undefined && metrics !== undefined) {
    const { allowedHosts = [] } = http;
    opened.metricsServer = listenForMetrics(metricsAddress, {
      metrics,
      openStreams: app.openStreams,
      startedAt: clock(),
      log,
      allowedHosts,
    });
  }
  return {
    serverUrl,
    port: server.port,
    isWaiting: publicly?.hasCertificate() === false,
    setUpLink: await app.issueSetUpLink(),
    models: await modelsAtStart(config.ollama, app.model),
    async stop() {
      app.drain();
      const deadline = performance.now() + shutdownTimeoutSeconds * 1_000;
      const stopTimer = systemTimers.after(deadline - lastWordsMs - performance.now(), app.hurry);
      await app.finishBodies(deadline - performance.now()); // a shutdown would fail their reads
      await atMost(deadline - performance.now(), server.shutdown(), null);
      await close();
      stopTimer();
    },
  };
}

/** How long the start waits for the model's engine before it says that none answers. */
const modelPatienceMs = 2_000;

async function modelsAtStart(config: Config["ollama"], model: App["model"]): Promise<RunningServer["models"]> {
  const { engine, origin } = config.host;
  const report = await atMost(modelPatienceMs, model.recentReport(), null);
  if (report === null) return { names: [], problem: `${engine} does not answer at ${origin}`, isAway: false };
  const { names, problem } = offeredModels(config, report);
  const isAway = report.failure?.isAway === true;
  if (report.failure !== undefined || problem === null) return { names, problem: problem?.what ?? null, isAway };
  return { names, problem: problemWords(problem), isAway };
}

/** Warns where this runtime has no Argon2id; refuses the owner's hash where it cannot be checked without it. */
async function requireCheckableHash({ signIn, ownerPasswordHash }: Config["authorizationServer"], log: Log) {
  if (signIn !== "local" || await hasArgon2id()) return;
  const runtime = `this runtime (Deno ${Deno.version.deno})`;
  if (ownerPasswordHash !== undefined && !await canVerify(ownerPasswordHash)) {
    throw new UnusableError(
      `OWNER_PASSWORD_HASH is an Argon2id hash, which ${runtime} cannot check`,
      "make it with `portcullis hash-password --scrypt`, or run Deno 2.9 or later",
    );
  }
  log.write("warn", "no_argon2id", {
    problem:
      `${runtime} has no Argon2id: passphrases are hashed with scrypt, and Argon2id hashes made elsewhere are refused`,
    remedy: "run Deno 2.9 or later where you can; each passphrase is hashed with Argon2id at its next sign-in there",
  });
}

function warnOfSettings(config: Config, log: Log): void {
  if (!missesTrustProxy(config)) return;
  log.write("warn", "proxy_not_trusted", {
    problem: missingTrustWords,
    remedy: "set TRUST_PROXY; see docs/operations.md",
  });
}

/** A scrape is over within this time, or is given up. */
const metricsShutdownMs = 1_000;
/** Of SHUTDOWN_TIMEOUT, what calls get to send what they have. */
const lastWordsMs = 2_000;
/** The same for each other part. All of them together take less than the main thread waits (cli/serve_command.ts). */
const closeMs = 4_000;

/** A part that does not close must not keep the process: it is logged, and ends with it. */
async function closeInTime(part: string, closing: Promise<void> | undefined, log: Log): Promise<void> {
  if (await atMost(closeMs, closing, "late") === "late") log.write("error", "not_closed", { part });
}
