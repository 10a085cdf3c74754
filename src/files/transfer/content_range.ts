/**
 * The header `Content-Range` of an upload (RFC 9110 §14.4, §14.5): a part of a file whose size is known, or `bytes *` with
 * no body, which asks how much is there.
 */

/** What a request brings. */
export type SentRange =
  /** From the first byte to the one after the last. */
  | { readonly kind: "part"; readonly from: number; readonly to: number; readonly sizeBytes: number }
  | { readonly kind: "question"; readonly sizeBytes: number | null };

export function parseContentRange(header: string): SentRange | null {
  const found = /^bytes[ \t]+(?:(\d{1,15})-(\d{1,15})\/(\d{1,15})|\*\/(\d{1,15}|\*))$/i.exec(header.trim());
  if (found === null) return null;
  const [, first, last, size, asked] = found;
  if (asked !== undefined) return { kind: "question", sizeBytes: asked === "*" ? null : Number(asked) };
  const part = { from: Number(first), to: Number(last) + 1, sizeBytes: Number(size) };
  return part.from < part.to && part.to <= part.sizeBytes ? { kind: "part", ...part } : null;
}

/** The header `Range` of an answer that says how much is there; nothing of none. */
export function rangeOfKept(sizeBytes: number): Readonly<Record<string, string>> {
  return sizeBytes === 0 ? {} : { range: `bytes=0-${sizeBytes - 1}` };
}
