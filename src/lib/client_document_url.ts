/** Which URLs a client may name itself by, or keep its keys at: only those are ever fetched. */
import { parseIpv4, parseIpv6 } from "./network.ts";

const maxUrlLength = 300;

/** Whether a text has the form of a document's URL (draft-ietf-oauth-client-id-metadata-document-00 §3). */
export function isClientDocumentUrl(clientId: string): boolean {
  if (clientId.length > maxUrlLength || !clientId.startsWith("https://")) return false;
  const url = URL.parse(clientId);
  // The canonical spelling has no dot segments, no upper-case host, no default port, no backslash, no line break.
  if (url === null || url.href !== clientId || clientId.includes("#")) return false;
  if (url.username !== "" || url.password !== "" || url.pathname === "/") return false;
  return isPublicHostName(url.hostname);
}

/** A name with a dot that is not reserved for private use; no IP address (RFC 6761, RFC 6762, RFC 9476). */
function isPublicHostName(host: string): boolean {
  const labels = host.split(".");
  const last = labels.at(-1) ?? "";
  const reserved = ["localhost", "local", "internal", "lan", "home", "corp", "arpa", "alt", "onion"];
  return labels.length >= 2 && labels.every(isHostLabel) && /[a-z]/.test(last) && !reserved.includes(last);
}

/** Letters, digits and hyphens (RFC 1123 §2.1), and the underscore, which some hosts have. */
function isHostLabel(label: string): boolean {
  return /^[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?$/.test(label);
}

// Which IP addresses are out on the internet, where a document may be fetched from (SSRF).

/** IPv4 ranges that are not globally reachable (IANA special-purpose registry), as network and prefix length. */
const forbiddenIpv4: readonly (readonly [string, number])[] = [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10], // carrier-grade NAT
  ["127.0.0.0", 8],
  ["169.254.0.0", 16], // link-local, where clouds keep their metadata
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.0.2.0", 24],
  ["192.31.196.0", 24],
  ["192.52.193.0", 24],
  ["192.88.99.0", 24], // 6to4 relays
  ["192.168.0.0", 16],
  ["192.175.48.0", 24],
  ["198.18.0.0", 15],
  ["198.51.100.0", 24],
  ["203.0.113.0", 24],
  ["224.0.0.0", 4],
  ["240.0.0.0", 4],
];

/** Parts of 2000::/3 that are tunnels, translations, documentation or otherwise special. */
const forbiddenIpv6: readonly (readonly [string, number])[] = [
  ["2001:0:0:0:0:0:0:0", 23], // Teredo, benchmarking, ORCHID
  ["2001:db8:0:0:0:0:0:0", 32],
  ["2002:0:0:0:0:0:0:0", 16], // 6to4: leads to an IPv4 address of the attacker's choice
  ["2620:4f:8000:0:0:0:0:0", 48],
  ["3fff:0:0:0:0:0:0:0", 20],
];

function isWithin(address: bigint, network: bigint, prefixLength: number, bits: number): boolean {
  const shift = BigInt(bits - prefixLength);
  return address >> shift === network >> shift;
}

/** Whether an IP address is globally reachable unicast. Anything that is no plain IP address is not. */
export function isPublicAddress(text: string): boolean {
  const ipv4 = parseIpv4(text);
  if (ipv4 !== null) {
    return !forbiddenIpv4.some(([network, length]) => isWithin(ipv4, parseIpv4(network) ?? 0n, length, 32));
  }
  if (!text.includes(":")) return false;
  const ipv6 = parseIpv6(text);
  // Global unicast is 2000::/3; outside it lie loopback, ULA, link-local, multicast, IPv4-mapped and NAT64 addresses.
  return ipv6 !== null && isWithin(ipv6, 1n << 125n, 3, 128) &&
    !forbiddenIpv6.some(([network, length]) => isWithin(ipv6, parseIpv6(network) ?? 0n, length, 128));
}
