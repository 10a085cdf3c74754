/** An open file, or what is locked, by its descriptor. */
import type { Descriptor } from "../kernel/descriptor.ts";
import type { EntryStatus } from "../kernel/entry_status.ts";
import { type DiskFile, type DiskInfo, type DiskListing, type DiskLock, isForeign } from "./directory.ts";
import { DT_DIR, DT_LNK, DT_REG, DT_UNKNOWN } from "../kernel/libc.ts";
import type { EntryKind } from "../workspace/port.ts";
import { nextTurn } from "../../lib/turns.ts";

class KernelFile implements DiskFile, DiskLock {
  readonly #descriptor: Descriptor;

  constructor(descriptor: Descriptor, readonly info: EntryStatus) {
    this.#descriptor = descriptor;
  }

  read(buffer: Uint8Array, position: number): number {
    return this.#descriptor.read(unshared(buffer), position);
  }

  readLater(buffer: Uint8Array, position: number): Promise<number> {
    return this.#descriptor.readLater(unshared(buffer), position);
  }

  write(bytes: Uint8Array): Promise<void> {
    return this.#descriptor.write(unshared(bytes));
  }

  flush(): Promise<void> {
    return this.#descriptor.flush();
  }

  setMode(mode: number): void {
    this.#descriptor.setMode(mode);
  }

  setOwner(uid: number, gid: number): void {
    this.#descriptor.setOwner(uid, gid);
  }

  tryLock(): boolean {
    return this.#descriptor.tryLock();
  }

  unlock(): void {
    this.#descriptor.unlock();
  }

  close(): void {
    this.#descriptor.close();
  }
}

/** Takes the descriptor: `null`, and closed, where it is of something else than a file. */
export function openFile(descriptor: Descriptor): KernelFile | null {
  const file = openAny(descriptor);
  if (file.info.isFile) return file;
  file.close();
  return null;
}

/** Takes the descriptor, whatever it is of. */
export function openAny(descriptor: Descriptor): KernelFile {
  return new KernelFile(descriptor, statusOrClose(descriptor));
}

/** The status of what was just opened, which is closed where the system does not tell. */
export function statusOrClose(descriptor: Descriptor): EntryStatus {
  try {
    return descriptor.status();
  } catch (error) {
    descriptor.close();
    throw error;
  }
}

/** No buffer for bytes of files is shared between threads. */
function unshared(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  return bytes as Uint8Array<ArrayBuffer>;
}

// An open directory whose entries are read by its descriptor.

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
