/** Resource indicators (RFC 8707): which of a request's `resource` values mean this server's MCP endpoint. */

/** Two spellings of a URL are the same target when only host case, default port or one trailing slash differ. */
function canonicalUrl(text: string): string | null {
  if (text.includes("#")) return null; // RFC 8707 §2: no fragment, not even an empty one
  const url = URL.parse(text);
  return url === null ? null : url.href.replace(/\/$/, "");
}

/**
 * Builds the predicate: every value is one of the accepted spellings, or the origin of one, since the MCP endpoint is
 * the only resource there. No value at all is fine.
 */
export function createResourceCheck(accepted: readonly string[]): (values: readonly string[]) => boolean {
  const spellings = accepted.flatMap((resource) => [resource, new URL(resource).origin]);
  const known = new Set(spellings.map(canonicalUrl).filter((url) => url !== null));
  return (values) =>
    values.every((value) => {
      const url = canonicalUrl(value);
      return url !== null && known.has(url);
    });
}
