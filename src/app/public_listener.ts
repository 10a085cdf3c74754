/** Listens as PUBLIC_DOMAIN: on HTTP_PORT at once, on PORT with TLS as soon as there is a certificate. */
import { loadPublicCertificate, type ServedCertificate } from "../http/mod.ts";
import type { Endpoint } from "../lib/endpoint.ts";
import { type HttpServer, listenPersistently, type PersistentListener } from "../lib/persistent_listener.ts";
import { pause, systemTimers } from "../lib/time.ts";
import type { Config } from "./config/config.ts";
import type { Installation, Parts } from "./installation.ts";
import { listen, listeningOn, portRemedy } from "./listeners.ts";

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
  answer: Endpoint,
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
    const { answer: counted, isQuietFor } = countAnswers(withStrictTransport(answer));
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
