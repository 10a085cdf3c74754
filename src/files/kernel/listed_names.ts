/** The names in what getdents64(2) has put into a buffer. */
import type { ListedName } from "./descriptor.ts";
import { direntLayout } from "./numbers.ts";
import { toName } from "./stored_name.ts";

/** Adds the names in the first `length` bytes, without the directory itself and the one above. */
export function addListedNames(found: ListedName[], entries: Uint8Array, length: number): void {
  for (let at = 0; at < length;) {
    const start = at + direntLayout.d_name;
    const name = toName(entries.subarray(start, entries.indexOf(0, start)));
    const type = entries[at + direntLayout.d_type] ?? 0;
    if (name !== "." && name !== "..") found.push({ name, type });
    at += (entries[at + direntLayout.d_reclen] ?? 0) + (entries[at + direntLayout.d_reclen + 1] ?? 0) * 256;
  }
}
