/** Listening on the addresses that the configuration names, with its failures in words. */
import { ConnectionPeer } from "../http/mod.ts";
import type { Endpoint } from "../lib/endpoint.ts";
import type { Log } from "../lib/log.ts";
import { type HttpServer, listenPersistently, type PersistentListener } from "../lib/persistent_listener.ts";
import { UnusableError } from "../lib/result.ts";
import { faultWords, systemFaultWords } from "../lib/system_fault.ts";
import type { Config } from "./config/config.ts";

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

/**
 * The server's own listener; it takes the preferred port if it is free where the configuration leaves the port to the
 * system. Throws {@link UnusableError} where it cannot listen, or its TLS files are unusable.
 */
export function listenForClients(
  http: Config["http"],
  answer: Endpoint,
  { log, preferredPort }: { readonly log: Log; readonly preferredPort: number | undefined },
): PersistentListener {
  const place = { host: http.host, port: http.port, remedy: "choose another with --port or --host" };
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

export function listen(
  { host: hostname, port, trustedProxies, tls, reusePort = false }: Config["http"] & { readonly reusePort?: boolean },
  answer: Endpoint,
): Deno.HttpServer<Deno.NetAddr> {
  const credentials = tls && { cert: tls.certificates, key: tls.privateKey };
  return Deno.serve(
    { hostname, port, onListen: () => {}, ...reusePort ? { reusePort } : {}, ...credentials },
    (request, info) => answer(request, new ConnectionPeer(request, info, trustedProxies)),
  );
}
