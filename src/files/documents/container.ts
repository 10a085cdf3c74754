/** Zip containers, which docx, xlsx, pptx, odt and epub are (APPNOTE.TXT 6.3). Sizes are counted before bytes are made. */
import { inflateRawSync } from "node:zlib";
import { type DocumentBudget, DocumentRefusal } from "./document.ts";

/** Entries of one container. */
const maxEntries = 20_000;
const endSize = 22;
const maxCommentBytes = 65_535;

export interface Container {
  readonly names: readonly string[];
  /** The bytes of an entry, or `null` where there is none. */
  read(name: string): Uint8Array | null;
}

/** Reads a container's list of entries; each entry is inflated when it is asked for. */
export function openContainer(bytes: Uint8Array, budget: DocumentBudget): Container {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const damaged = new DocumentRefusal("it is damaged: its zip container cannot be read");
  const within = <T>(read: () => T): T => {
    try {
      return read();
    } catch (error) {
      throw error instanceof DocumentRefusal ? error : damaged;
    }
  };
  const entries = within(() => {
    let end = bytes.length - endSize;
    const lowest = Math.max(0, end - maxCommentBytes);
    while (end >= lowest && view.getUint32(end, true) !== 0x06054b50) end--;
    if (end < lowest) throw damaged;
    const count = view.getUint16(end + 10, true);
    if (count > maxEntries) throw new DocumentRefusal(`its zip container has more than ${maxEntries} entries`);
    const found = new Map<string, number>();
    let at = view.getUint32(end + 16, true); // 4.3.16
    for (let entry = 0; entry < count && view.getUint32(at, true) === 0x02014b50; entry++) {
      const nameLength = view.getUint16(at + 28, true);
      const name = new TextDecoder().decode(bytes.subarray(at + 46, at + 46 + nameLength));
      found.set(name.replace(/^\/|\\/g, (part) => part === "\\" ? "/" : "").toLowerCase(), at);
      at += 46 + nameLength + view.getUint16(at + 30, true) + view.getUint16(at + 32, true);
    }
    return found;
  });
  return {
    names: [...entries.keys()],
    read: (name) =>
      within(() => {
        const at = entries.get(name.toLowerCase());
        if (at === undefined) return null;
        if ((view.getUint16(at + 8, true) & 1) === 1) throw new DocumentRefusal("it is encrypted with a password");
        const [method, packed, size] = [
          view.getUint16(at + 10, true),
          view.getUint32(at + 20, true),
          view.getUint32(at + 24, true),
        ];
        const local = view.getUint32(at + 42, true);
        const start = local + 30 + view.getUint16(local + 26, true) + view.getUint16(local + 28, true);
        const content = bytes.subarray(start, start + packed);
        budget.take(method === 0 ? content.length : size);
        // What says less than it holds is refused by the bound, before it is made.
        return method === 0 ? content : new Uint8Array(inflateRawSync(content, { maxOutputLength: Math.max(size, 1) }));
      }),
  };
}
