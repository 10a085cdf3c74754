/** Headers that keep a file from being more than bytes to a browser, whatever is in it and whatever its name is. */

/** No page of ours shows it, runs it or frames it, and no cache or page learns the address, which is the credential. */
export const transferHeaders = {
  "cache-control": "no-store, no-transform", // a proxy that compresses would break ranges
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  "content-security-policy": "sandbox; default-src 'none'; frame-ancestors 'none'",
  "cross-origin-resource-policy": "same-origin",
  "x-robots-tag": "noindex",
};

export const fileType = "application/octet-stream";

const maxAsciiName = 100;
/** What reorders, hides or ends text, and what a file system takes for more than a letter. */
const misleading = /[\p{Cc}\p{Cf}\u2028\u2029\\/:*?"<>|]+/gu;

/** The last name of a path in letters that are safe in an address, a shell and a file system. */
export function headerName(path: string): string {
  const name = path.slice(path.lastIndexOf("/") + 1);
  const plain = name.normalize("NFC").replace(/[^A-Za-z0-9._-]+/g, "_").replace(/^[.-]+/, "_");
  return plain.length <= maxAsciiName ? plain : `${plain.slice(0, maxAsciiName / 2)}${plain.slice(-maxAsciiName / 2)}`;
}

/** RFC 6266 §4.1, with the name in ASCII for old clients and in UTF-8 (RFC 8187 §3.2.1). */
export function contentDisposition(path: string): string {
  const name = path.slice(path.lastIndexOf("/") + 1).toWellFormed().replace(misleading, "_");
  const extended = encodeURIComponent(name).replace(
    /['()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `attachment; filename="${headerName(path)}"; filename*=UTF-8''${extended}`;
}
