/** Which URLs a client may name itself by, or keep its keys at: only those are ever fetched. */
import { holdsAddress, type IpNetwork, parseIpAddress, parseIpNetwork } from "./network.ts";

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
