/** The server running in this isolate: the installation opened, the app built, a port listened on. */
import { StorageFault } from "../lib/storage_fault.ts";
import { type App, buildApp } from "./app.ts";
import type { Bounds } from "./bounds.ts";
import type { FetchDocument } from "../authorization_server/documents/document_fetcher.ts";
import { hasArgon2id } from "../authorization_server/users/argon2id.ts";
import { canVerify } from "../authorization_server/users/password_hash.ts";
import type { Config } from "../config/config.ts";
import { warnOfFormerSettings } from "../config/former_settings.ts";
import type { TlsConfig } from "../config/tls.ts";
import type { HttpSettings } from "../http/settings.ts";
import { ConnectionPeer } from "../http/connection_peer.ts";
import { createProxyNotice, type ProxyNotice } from "../http/proxy/proxy_notice.ts";
import { openInstallation } from "./installation.ts";
import type { Clock } from "../lib/time/clock.ts";
import type { Log } from "../lib/log/log.ts";
import { type HttpServer, listenPersistently, type PersistentListener } from "../lib/persistent_listener.ts";
import { failure, type Result, success } from "../lib/result.ts";
import { faultWords, systemFaultWords } from "../lib/system_fault.ts";
import { methodNames } from "../mcp/revisions/modern.ts";
import type { Tool } from "../mcp/tool.ts";
import { createMetrics } from "../telemetry/metrics/metrics.ts";
import { observeStorage } from "../telemetry/metrics/observed_storage.ts";
import { listenForMetrics, type ServerReport } from "./metrics_listener.ts";
import { missesTrustProxy, serverUrlFor } from "./server_url.ts";
import { startTelemetry } from "../telemetry/telemetry.ts";
import { version } from "../version.ts";
import { UnusableWorkspaceError } from "../workspace/unusable_workspace.ts";

export interface RunningServer {
  /** Its address as clients know it. */
  readonly serverUrl: string;
  /** The port that it listens on. */
  readonly port: number;
  /** The one-time link with which the first person becomes the owner, or `null` when there is an owner. */
  readonly setUpLink: string | null;
  /** Answers for the delay that the configuration says, then takes no more requests, gives those in flight the time that the configuration says, closes everything. */
  stop(): Promise<void>;
  /** What it counted, or `null` where nothing is counted. */
  report(): ServerReport | null;
}

/** What a server knows that shares its port, installation and process with others. */
export interface Team {
  /** The first one answers for all where only one can: it reads out the metrics of all. */
  readonly isFirst: boolean;
  /** Nobody listened on the port before this one. */
  readonly opensPort: boolean;
  readonly gatherReports: () => Promise<readonly ServerReport[]>;
}

/** Why a server cannot start, and what to do about it. */
export interface StartProblem {
  readonly problem: string;
  readonly remedy: string;
}

export interface StartServerOptions {
  readonly log: Log;
  readonly clock: Clock;
  readonly extraTools: readonly Tool[];
  /** Fetches what clients that name themselves by a URL say of themselves, and nothing that is not public. */
  readonly fetchDocument: FetchDocument;
  readonly bounds?: Bounds;
  /** Called when the storage is open and its files are needed by name no more. */
  readonly onInstallationOpen: () => void;
  /** For one of several. */
  readonly team?: Team;
  /** Taken if free where the configuration leaves the port to the system: with permissions by port, the only one that can be taken again. */
  readonly preferredPort?: number;
}

/** Starts the server. Throws for what nobody foresaw, with everything closed again. */
export async function startServer(
  config: Config,
  { log, clock, extraTools, fetchDocument, onInstallationOpen, team, preferredPort, bounds = {} }: StartServerOptions,
): Promise<Result<RunningServer, StartProblem>> {
  const { http, authorizationServer } = config;
  if (authorizationServer.signIn === "local" && !await hasArgon2id()) {
    const runtime = `this runtime (Deno ${Deno.version.deno})`;
    if (
      authorizationServer.ownerPasswordHash !== undefined && !await canVerify(authorizationServer.ownerPasswordHash)
    ) {
      return failure({
        problem: `OWNER_PASSWORD_HASH is an Argon2id hash, which ${runtime} cannot check`,
        remedy: "make it with `hash-password --scrypt`, or run Deno 2.9 or later",
      });
    }
    const isFurther = team !== undefined && !team.opensPort;
    if (!isFurther) {
      log.write("warn", "no_argon2id", {
        problem:
          `${runtime} has no Argon2id: passphrases are hashed with scrypt, and those hashed elsewhere not accepted`,
        remedy:
          "run Deno 2.9 or later where you can; each passphrase is hashed with Argon2id at its next sign-in there",
      });
    }
  }
  if (team === undefined || team.opensPort) warnOfFormerSettings(config.formerSettings, log);
  const notice = createProxyNotice(log);
  if (missesTrustProxy(config) && (team === undefined || team.opensPort)) {
    log.write("warn", "proxy_not_trusted", {
      problem:
        "SERVER_URL is https, which a proxy has to answer, and no proxy is trusted: all people share one address",
      remedy: "set TRUST_PROXY; see docs/operations.md",
    });
  }
  const startedTelemetry = startTelemetry(config, { version, log });
  if (!startedTelemetry.ok) return startedTelemetry;
  const telemetry = startedTelemetry.value;
  const installation = await openInstallation(config.storage, clock, { log, bounds: bounds.storage ?? {} });
  if (!installation.ok) return installation;
  onInstallationOpen();
  let app: App | undefined;
  let server: PersistentListener | undefined;
  let metricsServer: PersistentListener | undefined;
  const close = async (): Promise<void> => {
    await Promise.race([metricsServer?.shutdown(), wait(metricsShutdownMilliseconds)]);
    await closeInTime("app", app?.close());
    await closeInTime("storage", installation.value.storage.close());
  };
  /** A part that does not close must not keep the process: it is told, and ends with it. */
  const closeInTime = async (part: string, closing: Promise<void> | undefined): Promise<void> => {
    const closed = Promise.resolve(closing).then(() => true);
    if (await Promise.race([closed, wait(closeMilliseconds)]) === true) return;
    log.write("error", "not_closed", { part });
  };
  try {
    const ready = Promise.withResolvers<App>();
    if (team?.opensPort) {
      listeningOn({ host: http.host, port: http.port, remedy: mainRemedy }, () => requireFreePort(http));
    }
    const answer: App["fetch"] = (request, peer) =>
      app?.fetch(request, peer) ?? ready.promise.then((built) => built.fetch(request, peer));
    server = listenPersistently({
      listen: (again) => {
        const on = (port: number) => listen({ ...http, port }, { reusePort: team !== undefined, notice }, answer);
        return again === null
          ? listeningOn(
            { host: http.host, port: http.port, remedy: mainRemedy },
            () => listenFirst(http.port, preferredPort, on),
          )
          : on(again);
      },
      log,
    });
    const serverUrl = serverUrlFor(http, server.port);
    const { metricsAddress } = config.telemetry;
    const { allowedHosts = [] } = http;
    const metrics = metricsAddress === undefined ? undefined : createMetrics({ methods: methodNames });
    const { storage, secrets } = installation.value;
    const built = await buildApp(config, {
      storage: metrics === undefined && !telemetry.tracer.exports ? storage : observeStorage(storage, {
        ...(metrics === undefined ? {} : { onError: metrics.countStorageError }),
        tracer: telemetry.tracer,
        location: config.storage.database,
      }),
      telemetry,
      secrets,
      serverUrl,
      log,
      clock,
      extraTools,
      fetchDocument,
      bounds,
      ...(metrics === undefined ? {} : { metrics }),
    });
    app = built;
    ready.resolve(built);
    const report = (): ServerReport | null => {
      if (metrics === undefined) return null;
      const { requests, answers, tools, totals } = metrics;
      const { heapUsed: heapUsedBytes, heapTotal: heapTotalBytes } = Deno.memoryUsage();
      return {
        counts: { requests, answers, tools, totals },
        openStreams: built.openStreams,
        heapUsedBytes,
        heapTotalBytes,
      };
    };
    if (metricsAddress !== undefined && (team === undefined || team.isFirst)) {
      const gatherReports = team?.gatherReports ?? (() => Promise.resolve([report()].filter((each) => each !== null)));
      const remedy = "choose another with METRICS_PORT";
      metricsServer = listeningOn(
        { ...metricsAddress, use: " for metrics", remedy },
        () => listenForMetrics(metricsAddress, { gatherReports, startedAt: clock(), log, allowedHosts }),
      );
    }
    const setUpLink = team === undefined || team.opensPort ? await built.issueSetUpLink() : null;
    const mainServer = server;
    return success({
      serverUrl,
      port: server.port,
      setUpLink,
      report,
      async stop() {
        built.announceStop();
        if (config.server.shutdownDelaySeconds > 0) await wait(config.server.shutdownDelaySeconds * 1_000);
        built.drain();
        const deadline = performance.now() + config.server.shutdownTimeoutSeconds * 1_000;
        void wait(deadline - lastWordsMilliseconds - performance.now()).then(built.hurry);
        await built.finishBodies(deadline - performance.now()); // a shutdown would fail their reads
        await Promise.race([mainServer.shutdown(), wait(deadline - performance.now())]);
        await close();
      },
    });
  } catch (error) {
    await server?.shutdown();
    await close();
    if (error instanceof StorageFault || error instanceof UnusableWorkspaceError) {
      return failure({ problem: error.message, remedy: error.remedy });
    }
    if (!(error instanceof ListenError)) throw error;
    if (http.tls !== undefined && server === undefined && systemFaultWords(error.cause) === null) {
      return failure({
        problem: `cannot serve https: ${faultWords(error.cause)}`,
        remedy: "TLS_CERT_FILE has to name certificates, TLS_KEY_FILE the private key of the first, both as PEM",
      });
    }
    return failure({ problem: error.message, remedy: error.remedy });
  }
}

const mainRemedy = "choose another with --port or --host";

/** An address that cannot be listened on: told apart from everything else that fails while a server starts. */
class ListenError extends Error {
  readonly remedy: string;

  constructor(place: string, remedy: string, cause: unknown) {
    super(`cannot listen on ${place}: ${faultWords(cause)}`, { cause });
    this.remedy = remedy;
  }
}

interface ListenPlace {
  readonly host: string;
  readonly port: number;
  /** What it is for, where that is not the server itself. */
  readonly use?: string;
  readonly remedy: string;
}

function listeningOn<T>({ host, port, use = "", remedy }: ListenPlace, listen: () => T): T {
  try {
    return listen();
  } catch (error) {
    const isReserved = error instanceof Deno.errors.PermissionDenied && port > 0 && port < unreservedPort;
    const rights = `ports below ${unreservedPort} need rights that this user lacks: `;
    throw new ListenError(`${host} port ${port}${use}`, isReserved ? `${rights}${remedy}` : remedy, error);
  }
}

const unreservedPort = 1_024;

/** A scrape is over within this time, or is given up. */
const metricsShutdownMilliseconds = 1_000;
/** Of `SHUTDOWN_TIMEOUT`, what calls get to send what they have. */
const lastWordsMilliseconds = 2_000;
/** The same for each other part. All of them together take less than the main thread waits (cli/serve.ts). */
const closeMilliseconds = 4_000;

/** Throws where somebody listens: with `reusePort`, another server of the same user would be joined without a word. */
function requireFreePort({ host: hostname, port }: HttpSettings): void {
  if (port !== 0) Deno.listen({ hostname, port }).close();
}

/** Another program may have taken the preferred port in the meantime. */
function listenFirst(port: number, preferred: number | undefined, listen: (port: number) => HttpServer): HttpServer {
  if (port !== 0 || preferred === undefined) return listen(port);
  try {
    return listen(preferred);
  } catch (error) {
    if (!(error instanceof Deno.errors.AddrInUse)) throw error;
    return listen(port);
  }
}

/** With `reusePort`, Linux spreads new connections over all who listen. */
function listen(
  { host: hostname, port, trustedProxies, tls }: Config["http"],
  { reusePort, notice }: { readonly reusePort: boolean; readonly notice: ProxyNotice },
  fetch: App["fetch"],
): Deno.HttpServer<Deno.NetAddr> {
  const proxies = { trusted: trustedProxies, notice };
  return Deno.serve(
    { hostname, port, reusePort, onListen: () => {}, ...credentialsOf(tls) },
    (request, info) => fetch(request, new ConnectionPeer(request, info, proxies)),
  );
}

function credentialsOf(tls: TlsConfig | undefined): Deno.TlsCertifiedKeyPem | Record<never, never> {
  return tls === undefined ? {} : { cert: tls.certificates, key: tls.privateKey };
}

function wait(milliseconds: number): Promise<void> {
  return new Promise((resolve) => void Deno.unrefTimer(setTimeout(resolve, milliseconds)));
}
