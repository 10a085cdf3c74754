/** What proxies wrote about the way of a request: the addresses that it came through, the client's end first. */
import { addressKey, isTrustedProxy, parseIpAddress, type TrustedProxies } from "../lib/network.ts";
import type { Log } from "../lib/log.ts";
import type { Peer } from "../lib/endpoint.ts";

/** Addresses in the order in which they were added; what a proxy wrote instead of an address is an empty text. */
type ForwardedFor = readonly string[];

/** `X-Forwarded-For`: a list that each proxy appends to, with or without ports. */
export function parseXForwardedFor(value: string): ForwardedFor {
  return value.split(",").map((item) => withoutPort(item.trim()));
}

/** RFC 7230 §3.2.6: a token, or a quoted string with its escapes. */
const pair = /[ \t]*([!#$%&'*+\-.^_`|~\w]+)=(?:([!#$%&'*+\-.^_`|~\w:[\]]+)|"((?:[^"\\]|\\.)*)")[ \t]*/y;

/**
 * `Forwarded` (RFC 7239 §4). A value that breaks the grammar says nothing at all: a client that opens a quotation which
 * a proxy's addition then closes would otherwise speak for the proxy.
 */
export function parseForwarded(value: string): ForwardedFor | null {
  const addresses: string[] = [];
  let address = "";
  let at = 0;
  for (;;) {
    pair.lastIndex = at;
    const found = pair.exec(value);
    if (found === null) return null;
    const [whole, name = "", token, quoted = ""] = found;
    if (name.toLowerCase() === "for") address = withoutPort(token ?? quoted.replace(/\\(.)/g, "$1"));
    at += whole.length;
    const sign = value[at++];
    if (sign === ";") continue;
    if (sign !== "," && sign !== undefined) return null;
    addresses.push(address);
    address = "";
    if (sign === undefined) return addresses;
  }
}

/** RFC 7239 §6: `192.0.2.43:47011`, `[2001:db8::1]:4711`; IPv6 without brackets has no port. */
function withoutPort(node: string): string {
  const bracketed = /^\[([^\]]*)\](?::\w+)?$/.exec(node)?.[1];
  if (bracketed !== undefined) return bracketed;
  return /^([\d.]+):\d+$/.exec(node)?.[1] ?? (/^[\da-f.:]+(%[\w.-]+)?$/i.test(node) ? node : "");
}

/**
 * The client's address: the nearest one, counted from this server, that is no trusted proxy's. Each trusted hop is
 * believed about the one before it and about nothing else, so what a client wrote into the header itself is never
 * reached.
 *
 * A proxy that writes `X-Forwarded-For` passes on `Forwarded` as the client sent it, and the other way round. Which one
 * it writes is not known here: where both are there and lead to different clients, neither is believed.
 */
export function clientAddress(connection: string, headers: Headers, trusted: TrustedProxies): string {
  if (!isTrustedProxy(connection, 0, trusted)) return connection;
  const listed = headers.get("x-forwarded-for");
  const standard = headers.get("forwarded");
  const byList = listed === null ? null : firstUntrusted(connection, parseXForwardedFor(listed), trusted);
  const byStandard = standard === null ? null : firstUntrusted(connection, parseForwarded(standard) ?? [], trusted);
  if (byList === null || byStandard === null) return byList ?? byStandard ?? connection;
  return byList === byStandard ? byList : connection;
}

function firstUntrusted(connection: string, forwarded: ForwardedFor, trusted: TrustedProxies): string {
  let address = connection;
  for (let hop = 1; hop <= forwarded.length; hop++) {
    const text = forwarded[forwarded.length - hop] ?? "";
    if (parseIpAddress(text) === null) return address; // "unknown", or a name that a proxy made up (RFC 7239 §6.2, §6.3)
    address = text;
    if (!isTrustedProxy(address, hop, trusted)) return address;
  }
  return address;
}

// * Notices a proxy that is not trusted: requests of many clients, by what it says of them, that all come from one
// address. They then share one address's limits, so the log says so, once.

const clientsOfProxy = 3;
const maxPeers = 64;

/** Reads where a request says that it came from. Clients can forge this, so it causes one log line and no more. */
export type ProxyNotice = (peer: string, headers: Headers) => void;

/** Logs `proxy_not_trusted` once, when one peer has forwarded requests of several clients. */
export function createProxyNotice(log: Log): ProxyNotice {
  const clients = new Map<string, Set<string>>();
  let isTold = false;
  return (peer, headers) => {
    if (isTold) return;
    const client = lastOf(headers);
    if (client === undefined || parseIpAddress(client) === null) return;
    const seen = clients.get(peer) ?? new Set();
    if (!clients.has(peer) && clients.size >= maxPeers) return;
    clients.set(peer, seen.add(addressKey(client)));
    if (seen.size < clientsOfProxy) return;
    isTold = true;
    clients.clear();
    log.write("warn", "proxy_not_trusted", {
      peer,
      problem: "requests of several clients come from one address, whose limits they share",
      remedy: "if that is your proxy, name it in TRUST_PROXY; see docs/operations.md",
    });
  };
}

/** What the nearest proxy added. */
function lastOf(headers: Headers): string | undefined {
  const listed = headers.get("x-forwarded-for");
  if (listed !== null) return parseXForwardedFor(listed.slice(listed.lastIndexOf(",") + 1))[0];
  const standard = headers.get("forwarded");
  return standard === null ? undefined : parseForwarded(standard)?.at(-1);
}

/** Which proxies are trusted, and what is called about one that is not. */
interface Proxies {
  readonly trusted: TrustedProxies | undefined;
  readonly notice: ProxyNotice;
}

/** Asks Deno for the address when it is first read: most requests never read it. A class, since closures cost. */
export class ConnectionPeer implements Peer {
  constructor(
    private readonly request: Request,
    private readonly info: Deno.ServeHandlerInfo<Deno.NetAddr>,
    private readonly proxies: Proxies,
  ) {}

  get answerSent(): Promise<void> {
    return this.info.completed.catch(() => {});
  }

  get address(): string {
    // Where the platform listens by other means than TCP, there is none; all who call then share one.
    const hostname = (this.info.remoteAddr as Partial<Deno.NetAddr>).hostname ?? "unknown";
    const { trusted, notice } = this.proxies;
    if (trusted !== undefined && isTrustedProxy(hostname, 0, trusted)) {
      return clientAddress(hostname, this.request.headers, trusted);
    }
    notice(hostname, this.request.headers);
    return hostname;
  }
}
