/** Which proxies' word about a request's way is taken. */
import { holdsAddress, type IpNetwork, parseIpAddress } from "./ip_address.ts";

/** Those at the last so many hops, or those with an address in these networks. */
export type TrustedProxies =
  | { readonly kind: "hops"; readonly count: number }
  | { readonly kind: "networks"; readonly networks: readonly IpNetwork[] };

/** Whether the proxy so many hops before the connection's other end, which is hop 0, is trusted. */
export function isTrustedProxy(address: string, hop: number, trusted: TrustedProxies): boolean {
  if (trusted.kind === "hops") return hop < trusted.count;
  const parsed = parseIpAddress(address);
  return parsed !== null && trusted.networks.some((network) => holdsAddress(network, parsed));
}
