/**
 * Notices a proxy that is not trusted: requests of many clients, by what it says of them, that all come from one
 * address. Limits by address are then one for all of them, so the operator is told, once.
 */
import { addressKey } from "../lib/address_key.ts";
import { parseIpAddress } from "../lib/ip_address.ts";
import type { Log } from "../lib/log.ts";
import { parseForwarded, parseXForwardedFor } from "./forwarded.ts";

const clientsOfProxy = 3;
const maxPeers = 64;

/** Reads where a request says that it came from. Clients can forge this, so it causes one log line and no more. */
export type ProxyNotice = (peer: string, headers: Headers) => void;

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
