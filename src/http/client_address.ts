/** Whose request it is behind proxies: the address that rate limits, throttling and audit go by. */
import { parseIpAddress } from "../lib/ip_address.ts";
import { isTrustedProxy, type TrustedProxies } from "../lib/trusted_proxies.ts";
import { type ForwardedFor, parseForwarded, parseXForwardedFor } from "./forwarded.ts";

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
