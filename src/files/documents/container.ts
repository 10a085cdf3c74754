/** Zip containers, which docx, xlsx, pptx, odt and epub are (APPNOTE.TXT 6.3), and remarks on macros and files outside. */
import { inflateRawSync } from "node:zlib";
import { type DocumentBudget, DocumentRefusal, nameWords } from "./document.ts";
import { countOf } from "./markdown.ts";
import { type Element, parseMarkup, type ParseOptions } from "./markup.ts";

/** Entries of one container. */
const maxEntries = 20_000;
const endSize = 22;
const maxCommentBytes = 65_535;

/**
 * Reads a container's list of entries; each entry is inflated when it is asked for, and its size is counted before its
 * bytes are made. Throws for what is damaged.
 */
export function openContainer(bytes: Uint8Array, budget: DocumentBudget) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let end = bytes.length - endSize;
  const lowest = Math.max(0, end - maxCommentBytes);
  while (end >= lowest && view.getUint32(end, true) !== 0x06054b50) end--;
  if (end < lowest) throw new DocumentRefusal("it is damaged: its zip container cannot be read");
  const count = view.getUint16(end + 10, true);
  if (count > maxEntries) throw new DocumentRefusal(`its zip container has more than ${maxEntries} entries`);
  const entries = new Map<string, number>();
  let at = view.getUint32(end + 16, true); // 4.3.16
  for (let entry = 0; entry < count && view.getUint32(at, true) === 0x02014b50; entry++) {
    const nameLength = view.getUint16(at + 28, true);
    const name = new TextDecoder().decode(bytes.subarray(at + 46, at + 46 + nameLength));
    entries.set(name.replaceAll("\\", "/").replace(/^\//, "").toLowerCase(), at);
    at += 46 + nameLength + view.getUint16(at + 30, true) + view.getUint16(at + 32, true);
  }
  /** The bytes of an entry, empty where there is none. */
  const read = (name = ""): Uint8Array => {
    const at = entries.get(name.toLowerCase());
    if (at === undefined) return new Uint8Array();
    if ((view.getUint16(at + 8, true) & 1) === 1) throw new DocumentRefusal("it is encrypted with a password");
    const [isStored, packed] = [view.getUint16(at + 10, true) === 0, view.getUint32(at + 20, true)];
    const local = view.getUint32(at + 42, true);
    const start = local + 30 + view.getUint16(local + 26, true) + view.getUint16(local + 28, true);
    const content = bytes.subarray(start, start + packed);
    const size = isStored ? content.length : view.getUint32(at + 24, true);
    budget.take(size);
    // What says less than it holds is refused by the bound, before it is made.
    return isStored ? content : new Uint8Array(inflateRawSync(content, { maxOutputLength: Math.max(size, 1) }));
  };
  return {
    names: [...entries.keys()],
    read,
    /** The root of an entry's XML, empty where there is no such entry. */
    part: (name?: string, options?: ParseOptions): Element => parseMarkup(read(name), budget, options),
  };
}

export function macroRemarks(names: readonly string[], pattern: RegExp): string[] {
  return names.some((name) => pattern.test(name)) ? ["contains macros, which were not run"] : [];
}

export function outsideRemarks(outside: readonly { readonly target: string }[]): string[] {
  const were = outside.length === 1 ? "was" : "were";
  const count = countOf(outside.length, "outside file");
  return outside.length === 0 ? [] : [`refers to ${count}, which ${were} not fetched: ${targetWords(outside)}`];
}

export function targetWords(relations: readonly { readonly target: string }[]): string {
  return relations.slice(0, 5).map(({ target }) => nameWords(target)).join(", ");
}
