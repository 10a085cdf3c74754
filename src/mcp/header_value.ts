/** Values in `Mcp-Name` and `Mcp-Param-*` headers (MCP 2026-07-28, basic/transports/streamable-http: value encoding). */

const prefix = "=?base64?";
const suffix = "?=";
const canonicalBase64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** The value a header stands for: decoded when it has the base64 form, else itself; `null` when the form is broken. */
export function decodeHeaderValue(value: string): string | null {
  if (value.length < prefix.length + suffix.length || !value.startsWith(prefix) || !value.endsWith(suffix)) {
    return value;
  }
  const base64 = value.slice(prefix.length, -suffix.length);
  if (!canonicalBase64.test(base64)) return null;
  try {
    return decoder.decode(Uint8Array.from(atob(base64), (character) => character.charCodeAt(0)));
  } catch {
    return null; // not UTF-8
  }
}
