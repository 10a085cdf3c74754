/** Addresses as what attempts are counted by. */
import { parseIpAddress } from "./ip_address.ts";

/**
 * The key of a peer: an IPv4 address, or the /64 network that one IPv6 host can fill at will (RFC 4291 §2.5.4). One
 * address has one key in all its spellings: by a proxy's header an IPv4 address may come as `::ffff:c000:207`, too, and
 * all of them would share the network `::/64`.
 */
export function addressKey(address: string): string {
  if (!address.includes(":")) return address;
  const parsed = parseIpAddress(address);
  if (parsed === null) return address;
  const { family, number } = parsed;
  return family === 4
    ? groupsOf(number, { count: 4, bits: 8n }).join(".")
    : groupsOf(number >> 64n, { count: 4, bits: 16n }).map((group) => group.toString(16)).join(":") + "::/64";
}

function groupsOf(number: bigint, { count, bits }: { readonly count: number; readonly bits: bigint }): bigint[] {
  return Array.from({ length: count }, (_, at) => (number >> bits * BigInt(count - 1 - at)) & ((1n << bits) - 1n));
}
