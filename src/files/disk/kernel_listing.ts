/** An open directory whose entries are read by its descriptor. */
import type { Descriptor } from "../kernel/descriptor.ts";
import type { EntryStatus } from "../kernel/entry_status.ts";
import { DT_DIR, DT_LNK, DT_REG, DT_UNKNOWN } from "../kernel/numbers.ts";
import type { EntryKind } from "../workspace/listing.ts";
import { nextTurn } from "../../lib/turns.ts";
import { type DiskInfo, type DiskListing, isForeign } from "./directory.ts";
import { statusOrClose } from "./kernel_file.ts";

export class KernelListing implements DiskListing {
  readonly info: EntryStatus;
  readonly #descriptor: Descriptor;
  readonly #root: DiskInfo;

  constructor(descriptor: Descriptor, root: DiskInfo) {
    this.#descriptor = descriptor;
    this.#root = root;
    this.info = statusOrClose(descriptor);
  }

  *entries(): Generator<{ readonly name: string; readonly kind: EntryKind }> {
    for (const batch of this.#batches()) yield* batch;
  }

  async *entriesInTurns(): AsyncGenerator<readonly { readonly name: string; readonly kind: EntryKind }[]> {
    for (const batch of this.#batches()) {
      yield batch; // takes a millisecond or two
      await nextTurn();
    }
  }

  entryOf(name: string): EntryStatus | null {
    return this.#descriptor.statusOf(name);
  }

  detailsOf(name: string): EntryStatus | null {
    const status = this.entryOf(name);
    return status === null || isForeign(this.#root, status) ? null : status;
  }

  lookAgain(): EntryStatus {
    return this.#descriptor.status();
  }

  [Symbol.dispose](): void {
    this.#descriptor.close();
  }

  *#batches(): Generator<readonly { readonly name: string; readonly kind: EntryKind }[]> {
    for (let batch; (batch = this.#descriptor.readEntries()).length > 0;) {
      yield batch.map(({ name, type }) => ({ name, kind: this.#kindOf(name, type) }));
    }
  }

  #kindOf(name: string, type: number): EntryKind {
    if (type === DT_REG) return "file";
    if (type === DT_DIR) return "directory";
    if (type === DT_LNK) return "link";
    const status = type === DT_UNKNOWN ? this.#descriptor.statusOf(name) : null; // a file system that does not tell
    if (status === null) return "other";
    return status.isSymlink ? "link" : status.isDirectory ? "directory" : status.isFile ? "file" : "other";
  }
}
