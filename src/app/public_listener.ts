/** Listens as PUBLIC_DOMAIN: on HTTP_PORT at once, on PORT with TLS as soon as there is a certificate. */
import { loadPublicCertificate, type ProxyNotice, type ServedCertificate } from "../http/mod.ts";
import type { Endpoint } from "../lib/endpoint.ts";
import type { Log } from "../lib/log.ts";
import { type HttpServer, listenPersistently, type PersistentListener } from "../lib/persistent_listener.ts";
import { type Clock, pause, systemTimers } from "../lib/time.ts";
import type { Bounds } from "./bounds.ts";
import type { Config } from "./config/config.ts";
import type { Installation } from "./installation.ts";
import { listen, listeningOn, portRemedy } from "./listeners.ts";

interface PublicListenerOptions extends Installation {
  readonly log: Log;
  readonly clock: Clock;
  readonly notice: ProxyNotice;
  readonly bounds?: Bounds;
}

interface PublicListener extends PersistentListener {
  hasCertificate(): boolean;
}

/** Linux alone has it in a form that Deno offers: two servers on one port, each with its certificate. */
const sharesPorts = Deno.build.os === "linux";
/** Elsewhere the port is free again once the server before has stopped accepting. */
const takeOverMs = 20;
/** How long browsers insist on https. Not longer: they also refuse a certificate that has expired meanwhile. */
const strictTransport = `max-age=${30 * 86_400}`;

/**
 * Throws {@link UnusableError} where a port cannot be had. Resolves when TLS is served, or when the first attempt to get
 * a certificate has failed: then it goes on trying.
 */
export async function listenPublicly(
  http: Config["http"] & { readonly name: string },
  answer: Endpoint,
  options: PublicListenerOptions,
): Promise<PublicListener> {
  const { host, port, httpPort, name, acmeDirectory: directory } = http;
  const { log, notice, bounds } = options;
  // At once, not when the certificate is there; and servers that share a port would not notice one another.
  listeningOn({ host, port, remedy: portRemedy("PORT") }, () => Deno.listen({ hostname: host, port }).close());
  let current: PersistentListener | null = null;
  let isClosed = false;
  const former = new Set<Promise<void>>();
  const serve = (certificate: ServedCertificate): HttpServer => {
    const tls = { ...certificate, files: [] };
    return listen({ ...http, tls, reusePort: sharesPorts }, notice, withStrictTransport(answer));
  };
  const retire = (listener: PersistentListener): void => {
    const draining = listener.shutdown().finally(() => former.delete(draining));
    former.add(draining);
  };
  /** The next server takes over the port; the one before finishes what it has. */
  const onCertificate = async (next: ServedCertificate): Promise<void> => {
    const before = current;
    if (before !== null && !sharesPorts) retire(before);
    for (;;) {
      if (isClosed) return;
      try {
        current = listenPersistently({ listen: () => serve(next), log });
        break;
      } catch (error) {
        if (before === null || sharesPorts || !(error instanceof Deno.errors.AddrInUse)) throw error;
        await pause(takeOverMs);
      }
    }
    if (before !== null && sharesPorts) retire(before);
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
      isClosed = true;
      await keeper.close();
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
