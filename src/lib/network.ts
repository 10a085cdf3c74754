/** IP addresses and networks as data that a configuration can hold, and what of the internet a client may name. */

/** A text without its percent-encoding; `null` where that is no UTF-8, or a `%` lacks its digits. */
export function decodeTriplets(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}

/** An address or a network: which family, its number, and how many of its first bits count. */
interface IpNetwork {
  readonly family: 4 | 6;
  readonly number: bigint;
  readonly prefixBits: number;
}

const bitsOf = { 4: 32, 6: 128 } as const;

/** One address, as a network of itself. An IPv4 address inside IPv6 (RFC 4291 §2.5.5.2) is the IPv4 address. */
export function parseIpAddress(text: string): IpNetwork | null {
  const ipv4 = parseIpv4(text);
  if (ipv4 !== null) return { family: 4, number: ipv4, prefixBits: 32 };
  const ipv6 = text.includes(":") ? parseIpv6(text.replace(/%[\w.-]+$/, "")) : null;
  if (ipv6 === null) return null;
  return ipv6 >> 32n === 0xffffn
    ? { family: 4, number: ipv6 & 0xffff_ffffn, prefixBits: 32 }
    : { family: 6, number: ipv6, prefixBits: 128 };
}

/** `10.0.0.0/8`, `2001:db8::/32`, or a single address. Bits beyond the prefix must be zero: a slip is refused, not guessed. */
export function parseIpNetwork(text: string): IpNetwork | null {
  const [, addressText = "", prefixText] = /^([^/]+)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
  const address = parseIpAddress(addressText);
  if (address === null || prefixText === undefined) return address;
  const prefixBits = Number(prefixText);
  // A prefix counts in the notation that was written: an IPv4 address inside IPv6 takes none.
  if (prefixBits > bitsOf[address.family] || (address.family === 4 && addressText.includes(":"))) return null;
  const hostBits = BigInt(bitsOf[address.family] - prefixBits);
  return address.number >> hostBits << hostBits === address.number ? { ...address, prefixBits } : null;
}

export function holdsAddress(network: IpNetwork, address: IpNetwork): boolean {
  if (network.family !== address.family) return false;
  const hostBits = BigInt(bitsOf[network.family] - network.prefixBits);
  return network.number >> hostBits === address.number >> hostBits;
}

/** The number of an IPv4 address in its one spelling. */
function parseIpv4(text: string): bigint | null {
  const parts = text.split(".");
  // Four decimal numbers without leading zeros: other spellings mean different things to different parsers.
  if (parts.length !== 4 || !parts.every((part) => /^(0|[1-9]\d{0,2})$/.test(part) && Number(part) < 256)) return null;
  return parts.reduce((value, part) => value * 256n + BigInt(part), 0n);
}

/** The number of an IPv6 address in any of its spellings, without a zone. */
function parseIpv6(text: string): bigint | null {
  // The URL parser knows all spellings, embedded IPv4 included, and writes one of them.
  const host = /^[0-9a-f:.]+$/i.test(text) ? URL.parse(`http://[${text}]/`)?.hostname : undefined;
  if (host === undefined) return null;
  const [head = "", tail] = host.slice(1, -1).split("::");
  const groupsOf = (part: string): string[] => part === "" ? [] : part.split(":");
  const left = groupsOf(head);
  const right = groupsOf(tail ?? "");
  const zeros = Array.from({ length: 8 - left.length - right.length }, () => "0");
  return [...left, ...zeros, ...right].reduce((value, group) => value * 65_536n + BigInt(`0x${group}`), 0n);
}

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

/** A host as it stands in a URL, or not, without the brackets of an IPv6 address. */
export function withoutBrackets(host: string): string {
  return host.replace(/^\[|\]$/g, "");
}

/** The port that a URL names, or that its scheme stands for. */
export function portOf({ port, protocol }: URL): number {
  return Number(port || (protocol === "https:" ? 443 : 80));
}

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

/** Whether the environment names a proxy that Deno's fetch uses for loopback addresses too. */
export function environmentHasProxy(variable: (name: string) => string | undefined): boolean {
  return ["http_proxy", "https_proxy", "all_proxy"].some((name) =>
    Boolean(variable(name)) || Boolean(variable(name.toUpperCase()))
  );
}

// Which URLs a client may name itself by, or keep its keys at: only those are ever fetched.

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
export function isPublicHostName(host: string): boolean {
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

/** Not globally reachable (IANA special-purpose registries), or leading elsewhere. */
const specialNetworks = [
  ...["0.0.0.0/8", "10.0.0.0/8", "127.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "224.0.0.0/4", "240.0.0.0/4"],
  ...["100.64.0.0/10", "169.254.0.0/16"], // carrier-grade NAT; link-local, where clouds keep their metadata
  ...["192.0.0.0/24", "192.31.196.0/24", "192.52.193.0/24", "192.175.48.0/24", "2620:4f:8000::/48"],
  ...["192.0.2.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "2001:db8::/32", "3fff::/20"], // examples
  ...["192.88.99.0/24", "2001::/23", "2002::/16"], // Teredo, 6to4: lead to an IPv4 address of the attacker's choice
].map(networkOf);
/** Outside it lie loopback, unique local, link-local, multicast and NAT64 addresses. */
const globalUnicast = networkOf("2000::/3");

function networkOf(text: string): IpNetwork {
  const network = parseIpNetwork(text);
  if (network === null) throw new TypeError(`not a network: ${text}`);
  return network;
}

/** Whether an IP address is globally reachable unicast. Anything that is no plain IP address is not. */
export function isPublicAddress(text: string): boolean {
  const address = text.includes("%") ? null : parseIpAddress(text);
  if (address === null || specialNetworks.some((network) => holdsAddress(network, address))) return false;
  // An IPv4 address inside IPv6 is not sent to the IPv4 address everywhere.
  return address.family === 4 ? !text.includes(":") : holdsAddress(globalUnicast, address);
}
