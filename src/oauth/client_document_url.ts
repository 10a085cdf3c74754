/** Which URLs a client may name itself by, or keep its keys at: only those are ever fetched. */

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
