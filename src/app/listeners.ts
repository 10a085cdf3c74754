/** Listening on the addresses that the configuration names, each with its failures in words. */
import { ConnectionPeer, createMetricsEndpoint, knownNames, loadPublicCertificate } from "../http/mod.ts";
import type { ServedCertificate } from "../http/mod.ts";
import type { Endpoint } from "../lib/endpoint.ts";
import type { Log } from "../lib/log.ts";
import { UnusableError } from "../lib/result.ts";
import { faultWords, systemFaultWords } from "../lib/system_fault.ts";
import type { Config } from "./config/config.ts";
import { nodeProcess } from "../lib/program.ts";
import type { Metrics } from "../audit/mod.ts";
import { version } from "../lib/version.ts";
import { pause, systemTimers } from "../lib/time.ts";
import type { Installation, Parts } from "./installation.ts";

interface ListenPlace {
  readonly host: string;
  readonly port: number;
  /** Its purpose, where that is not the server itself. */
  readonly use?: string;
  readonly remedy: string;
}

const unreservedPort = 1_024;

/** What to do about a port of a public server that cannot be listened on. */
export function portRemedy(setting: "PORT" | "HTTP_PORT"): string {
  return "end what listens there, let the service bind it (AmbientCapabilities=CAP_NET_BIND_SERVICE, docs/operations.md), " +
    `or set ${setting} to a port to which ${setting === "PORT" ? 443 : 80} is forwarded`;
}

/** Listens by `listen`. Throws {@link UnusableError} where the address cannot be listened on. */
export function listeningOn<T>({ host, port, use = "", remedy }: ListenPlace, listen: () => T): T {
  try {
    return listen();
  } catch (error) {
    const isReserved = error instanceof Deno.errors.PermissionDenied && port > 0 && port < unreservedPort;
    const rights = `ports below ${unreservedPort} need rights that this user lacks: `;
    throw new UnusableError(
      `cannot listen on ${host} port ${port}${use}: ${faultWords(error)}`,
      isReserved ? `${rights}${remedy}` : remedy,
      { cause: error },
    );
  }
}

/** An endpoint that answers by one that is still to come; requests that arrive before it wait. */
function waitingFor(coming: Promise<Endpoint>): Endpoint {
  let answer: Endpoint = async (request, peer) => await (await coming)(request, peer);
  void coming.then((there) => answer = there);
  return (request, peer) => answer(request, peer);
}

/**
 * The server's own listener; it takes the preferred port if it is free where the configuration leaves the port to the
 * system. Throws {@link UnusableError} where it cannot listen, or its TLS files are unusable.
 */
export function listenForClients(
  http: Config["http"],
  coming: Promise<Endpoint>,
  { log, preferredPort }: { readonly log: Log; readonly preferredPort: number | undefined },
): PersistentListener {
  const place = { host: http.host, port: http.port, remedy: "choose another with --port or --host" };
  const answer = waitingFor(coming);
  const on = (port: number): HttpServer => listen({ ...http, port }, answer);
  try {
    return listenPersistently({
      listen: (again) =>
        again === null ? listeningOn(place, () => listenFirst(http.port, preferredPort, on)) : on(again),
      log,
    });
  } catch (error) {
    if (!(error instanceof UnusableError) || http.tls === undefined || systemFaultWords(error.cause) !== null) {
      throw error;
    }
    throw new UnusableError(
      `cannot serve https: ${faultWords(error.cause)}`,
      "TLS_CERT_FILE has to name certificates, TLS_KEY_FILE the private key of the first, both as PEM",
      { cause: error },
    );
  }
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

function listen(
  { host: hostname, port, trustedProxies, tls, reusePort = false }: Config["http"] & { readonly reusePort?: boolean },
  answer: Endpoint,
): Deno.HttpServer<Deno.NetAddr> {
  const credentials = tls && { cert: tls.certificates, key: tls.privateKey };
  return Deno.serve(
    { hostname, port, onListen: () => {}, ...reusePort ? { reusePort } : {}, ...credentials },
    (request, info) => answer(request, new ConnectionPeer(request, info, trustedProxies)),
  );
}

// * For metrics, on a separate address: any client that reaches it may read them.

interface MetricsListenerOptions {
  readonly metrics: Metrics;
  readonly openStreams: () => number;
  /** In milliseconds since the epoch. */
  readonly startedAt: number;
  readonly log: Log;
  /** Names under which it may be called beside localhost. */
  readonly allowedHosts: readonly string[];
}

/** Listens on METRICS_PORT. Throws {@link UnusableError} where it cannot. */
export function listenForMetrics(
  { host, port }: { readonly host: string; readonly port: number },
  { metrics, openStreams, startedAt, log, allowedHosts }: MetricsListenerOptions,
): PersistentListener {
  const ready = Promise.withResolvers<ReturnType<typeof createMetricsEndpoint>>();
  const listen = (again: number | null): HttpServer =>
    Deno.serve(
      { hostname: host, port: again ?? port, onListen: () => {} },
      async (request, { remoteAddr }) => await (await ready.promise)(request, { address: remoteAddr.hostname }),
    );
  const place = { host, port, use: " for metrics", remedy: "choose another with METRICS_PORT" };
  const server = listeningOn(place, () => listenPersistently({ listen, log }));
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

// * As PUBLIC_DOMAIN: on HTTP_PORT at once, on PORT with TLS as soon as there is a certificate.

/** Linux alone has it in a form that Deno offers: two servers on one port, each with its certificate. */
const sharesPorts = Deno.build.os === "linux";
/** Elsewhere the port is free again once the server before has stopped accepting. */
const takeOverMs = 20;
/** Nothing is answered and no request came for so long: after a while, that nothing is answered has to do. */
const [quietMs, patienceMs, longestMs, lookMs] = [500, 600_000, 86_400_000, 50];
/** How long browsers insist on https. Not longer: they also refuse a certificate that has expired meanwhile. */
const strictTransport = `max-age=${30 * 86_400}`;

interface ServedListener extends Pick<PersistentListener, "shutdown"> {
  isQuietFor(milliseconds: number): boolean;
}

/**
 * Throws {@link UnusableError} where a port cannot be had. Resolves when TLS is served, or when the first attempt to
 * get a certificate has failed: then it goes on trying.
 */
export async function listenPublicly(
  http: Config["http"] & { readonly name: string },
  coming: Promise<Endpoint>,
  options: Installation & Pick<Parts, "log" | "clock"> & Partial<Pick<Parts, "bounds">>,
) {
  const { host, port, httpPort, name, acmeDirectory: directory } = http;
  const { log, bounds } = options;
  // At once, not when the certificate is there; and servers that share a port would not notice one another.
  listeningOn({ host, port, remedy: portRemedy("PORT") }, () => Deno.listen({ hostname: host, port }).close());
  let current: ServedListener | null = null;
  const closing = new AbortController();
  const former = new Set<Promise<void>>();
  let retiring = Promise.resolve();
  const serve = (certificate: ServedCertificate): ServedListener => {
    const { answer: counted, isQuietFor } = countAnswers(withStrictTransport(waitingFor(coming)));
    const tls = { ...certificate, files: [] };
    const open = (): HttpServer => listen({ ...http, tls, reusePort: sharesPorts }, counted);
    return { ...listenPersistently({ listen: open, log }), isQuietFor };
  };
  /** Deno's shutdown fails bodies that are being read and connections in their handshake, so it waits for a quiet moment. */
  const retire = async ({ shutdown, isQuietFor }: ServedListener): Promise<void> => {
    for (let waited = 0; waited < longestMs; waited += lookMs) {
      if (closing.signal.aborted || isQuietFor(waited < patienceMs ? quietMs : 0)) break;
      await pause(lookMs, closing.signal);
    }
    const draining = shutdown().finally(() => former.delete(draining));
    former.add(draining);
  };
  /** The next server takes over the port; the one before finishes what it has. */
  const onCertificate = async (next: ServedCertificate): Promise<void> => {
    const before = current;
    if (before !== null && !sharesPorts) await retire(before);
    while (!closing.signal.aborted) {
      try {
        current = serve(next);
        break;
      } catch (error) {
        if (before === null || sharesPorts || !(error instanceof Deno.errors.AddrInUse)) throw error;
        await pause(takeOverMs);
      }
    }
    if (before !== null && sharesPorts) retiring = Promise.all([retiring, retire(before)]).then(() => {});
  };
  const { createCertificateKeeper } = await loadPublicCertificate();
  const keeper = createCertificateKeeper({
    ...options,
    name,
    directory,
    onCertificate,
    timers: systemTimers,
    fetch,
    ...bounds?.certificate,
  });
  const plain = listeningOn(
    { host, port: httpPort, use: " for the certificate authority and redirects", remedy: portRemedy("HTTP_PORT") },
    () =>
      listenPersistently({
        listen: () => Deno.serve({ hostname: host, port: httpPort, onListen: () => {} }, keeper.answer),
        log,
      }),
  );
  await keeper.start();
  return {
    port,
    hasCertificate: keeper.hasCertificate,
    async shutdown() {
      closing.abort();
      await keeper.close();
      await retiring;
      await Promise.all([plain.shutdown(), current?.shutdown(), ...former]);
    },
  };
}

/** RFC 6797 §7.1, for what browsers load. */
function withStrictTransport(answer: Endpoint): Endpoint {
  return (request, peer) => {
    const answered = answer(request, peer);
    if (request.method !== "GET") return answered;
    return Promise.resolve(answered).then((response) => {
      response.headers.set("strict-transport-security", strictTransport);
      return response;
    });
  };
}

/** Knows whether something is being answered, and when the last request came or was answered. */
function countAnswers(answer: Endpoint): { readonly answer: Endpoint; isQuietFor(milliseconds: number): boolean } {
  let answering = 0;
  let lastAt = performance.now();
  const count = (change: 1 | -1): void => {
    answering += change;
    lastAt = performance.now();
  };
  return {
    isQuietFor: (milliseconds) => answering === 0 && performance.now() - lastAt >= milliseconds,
    async answer(request, peer) {
      count(1);
      try {
        return await answer(request, peer);
      } finally {
        count(-1);
      }
    },
  };
}

/** The used part of what `Deno.serve` returns. */
type HttpServer = Pick<Deno.HttpServer<Deno.NetAddr>, "addr" | "finished" | "shutdown">;

/**
 * A listener that keeps its port: it outlives a failing `accept`, above all one that fails because the process is out of
 * descriptors, and listens again. Open connections, and what is in flight on them, stay.
 */
export interface PersistentListener {
  readonly port: number;
  /** Accepts no more connections; resolves when the requests in flight have been answered. */
  shutdown(): Promise<void>;
}

const firstPauseMs = 50;
const longestPauseMs = 1_000;
/** Accepting for this long ends an outage. */
const steadyMs = 5_000;
/** Each failure leaves a server behind that answers on the connections it has; beyond this, the oldest is shut down. */
const maxFormerServers = 32;

/**
 * Listens with `listen`, which is called with `null` at first and then with the port to take again. Throws what the
 * first call throws.
 */
function listenPersistently(
  { listen, log }: { readonly listen: (port: number | null) => HttpServer; readonly log: Log },
): PersistentListener {
  const first = listen(null);
  const { port } = first.addr;
  const servers = [first];
  const stopping = new AbortController();

  /** Tries until the port can be had; `null` when there is no more need. */
  const listenAgain = async (firstWait: number): Promise<HttpServer | null> => {
    for (let wait = firstWait;; wait = longer(wait)) {
      await pause(wait, stopping.signal);
      if (stopping.signal.aborted) return null;
      try {
        return listen(port);
      } catch (error) {
        if (error instanceof Deno.errors.NotCapable) throw error; // waiting brings no permission back
      }
    }
  };
  const keepListening = async (): Promise<void> => {
    let wait = 0; // 0: no outage
    for (let server: HttpServer | null = first; server !== null;) {
      const began = systemTimers.elapsed();
      const failure = await server.finished.then(() => null, (error: unknown) => ({ error }));
      if (failure === null || stopping.signal.aborted) return;
      if (systemTimers.elapsed() - began > steadyMs) wait = 0;
      if (wait === 0) log.write("error", "accept_failed", { port, error: String(failure.error), hint });
      wait = longer(wait);
      server = await listenAgain(wait);
      if (server !== null) servers.push(server);
      if (servers.length > maxFormerServers) servers.shift()?.shutdown().catch(() => {}); // its failure is known
    }
  };
  const kept = keepListening();
  return {
    port,
    async shutdown() {
      stopping.abort();
      await Promise.allSettled([kept, ...servers.map((server) => server.shutdown())]);
    },
  };
}

const hint = "open connections stay; put a proxy with connection limits in front, or raise the limit of descriptors";

function longer(milliseconds: number): number {
  return Math.min(Math.max(milliseconds * 2, firstPauseMs), longestPauseMs);
}
