/** The address of a request's client: the connection's other end, or what trusted proxies say of it. */
import { isTrustedProxy, parseIpAddress, type TrustedProxies } from "../lib/network.ts";
import type { Peer } from "../lib/endpoint.ts";

/** One item of `X-Forwarded-For`, a list that each proxy appends to, with or without ports; `null` for no address. */
function addressIn(item: string): string | null {
  const node = item.trim();
  const [, ipv6, ipv4] = /^\[([^\]]*)\](?::\w+)?$|^([\d.]+):\d+$/.exec(node) ?? [];
  const address = ipv6 ?? ipv4 ?? node;
  return parseIpAddress(address) === null ? null : address;
}

/**
 * The client's address: the nearest one, counted from this server, that is no trusted proxy's. Each trusted hop is
 * believed about the one before it and about nothing else, so what a client wrote into the header itself is never
 * reached.
 *
 * A proxy that writes `Forwarded` (RFC 7239) instead passes on `X-Forwarded-For` as the client sent it. So where the
 * former is there, neither is believed.
 */
export function clientAddress(connection: string, headers: Headers, trusted: TrustedProxies): string {
  const listed = headers.get("x-forwarded-for");
  if (listed === null || headers.has("forwarded") || !isTrustedProxy(connection, 0, trusted)) return connection;
  let address = connection;
  for (const [hop, item] of listed.split(",").reverse().entries()) {
    const before = addressIn(item);
    if (before === null) return address; // "unknown", or a name that a proxy made up
    address = before;
    if (!isTrustedProxy(address, hop + 1, trusted)) return address;
  }
  return address;
}

/** Asks Deno for the address when it is first read: most requests never read it. A class, since closures cost. */
export class ConnectionPeer implements Peer {
  constructor(
    private readonly request: Request,
    private readonly info: Deno.ServeHandlerInfo<Deno.NetAddr>,
    private readonly trusted: TrustedProxies | undefined,
  ) {}

  get answerSent(): Promise<void> {
    return this.info.completed.catch(() => {});
  }

  get address(): string {
    // Where the platform listens by other means than TCP, there is none; all who call then share one.
    const hostname = (this.info.remoteAddr as Partial<Deno.NetAddr>).hostname ?? "unknown";
    return this.trusted === undefined ? hostname : clientAddress(hostname, this.request.headers, this.trusted);
  }
}
