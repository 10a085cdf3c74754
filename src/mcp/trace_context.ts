/** W3C Trace Context: which distributed trace a request belongs to. */
import { metaOf } from "./json.ts";

const traceParent = /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(-.*)?$/;

/**
 * The trace's id, from `_meta` of the request (MCP 2026-07-28, SEP-414) or else from the header; `undefined` without a
 * valid one, as if none had been sent (Trace Context §3.2.2). It is the sender's word and proves nothing.
 */
export function traceIdOf(params: unknown, header: string | null): string | undefined {
  const inBody = metaOf(params)?.["traceparent"];
  return (typeof inBody === "string" ? parseTraceId(inBody) : undefined) ??
    (header === null ? undefined : parseTraceId(header));
}

function parseTraceId(text: string): string | undefined {
  const found = traceParent.exec(text);
  if (found === null) return undefined;
  const [, version, traceId, more] = found;
  return version === "00" && more !== undefined ? undefined : traceId; // later versions may say more, this one may not
}
