/** The names in what getdents64(2) has put into a buffer. */
import type { ListedName } from "./descriptor.ts";
import { direntLayout } from "./numbers.ts";
import { toNameText } from "./stored_name.ts";

const decoder = new TextDecoder("utf-8", { ignoreBOM: true }); // U+FEFF at its start is a part of a name
export const decode = decoder.decode.bind(decoder);

/** Adds the names in the first `length` bytes, without the directory itself and the one above. */
export function addListedNames(found: ListedName[], entries: Uint8Array, length: number): void {
  for (let at = 0; at < length;) {
    const start = at + direntLayout.d_name;
    const stored = entries.subarray(start, entries.indexOf(0, start));
    const decoded = decode(stored);
    const name = decoded.includes("\ufffd") ? toNameText(stored) : decoded;
    const type = entries[at + direntLayout.d_type] ?? 0;
    if (name !== "." && name !== "..") found.push({ name, type });
    at += (entries[at + direntLayout.d_reclen] ?? 0) + (entries[at + direntLayout.d_reclen + 1] ?? 0) * 256;
  }
}
