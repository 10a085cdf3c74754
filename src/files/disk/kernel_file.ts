/** An open file, or what is locked, by its descriptor. */
import type { Descriptor, Screening } from "../kernel/descriptor.ts";
import type { EntryStatus } from "../kernel/entry_status.ts";
import type { DiskFile, DiskLock } from "./directory.ts";

export class KernelFile implements DiskFile, DiskLock {
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

  handTo(screening: Screening): void {
    screening.hand(this.#descriptor, this.info.size);
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
