/** Where the next page of a list starts. */
import type { ServicenowInstance } from "./instance.ts";

/**
 * Where `rel="next"` leads (RFC 8288 §3). Only the offset is taken from it: the address is never followed, and has to
 * be the instance's own.
 */
export function nextOffset(link: string | null, { origin }: ServicenowInstance, offset: number): number | null {
  for (const part of (link ?? "").split(/,\s*(?=<)/)) {
    const [, target = ""] = /^\s*<([^>]*)>\s*;\s*rel="?next"?\s*$/.exec(part) ?? [];
    const url = URL.parse(target, origin);
    if (target === "" || url === null || url.origin !== origin) continue;
    const next = toCount(url.searchParams.get("sysparm_offset"));
    if (next !== null && next > offset) return next;
  }
  return null;
}

function toCount(text: string | null): number | null {
  return text !== null && /^\d{1,10}$/.test(text) ? Number(text) : null;
}
