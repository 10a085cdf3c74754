/** An open file, or what is locked, by node:fs. */
import { closeSync, fchmodSync, fchownSync, fdatasync, fstatSync, read, readSync, type Stats, write } from "node:fs";
import { promisify } from "node:util";
import type { DiskFile, DiskInfo, DiskLock } from "../directory.ts";

const readAsync = promisify(read);
const writeAsync = promisify(write);
const fdatasyncAsync = promisify(fdatasync);

class CheckedFile implements DiskFile {
  readonly #descriptor: number;

  constructor(descriptor: number, readonly info: DiskInfo) {
    this.#descriptor = descriptor;
  }

  read(buffer: Uint8Array, position: number): number {
    return readSync(this.#descriptor, buffer, 0, buffer.byteLength, position);
  }

  async readLater(buffer: Uint8Array, position: number): Promise<number> {
    return (await readAsync(this.#descriptor, buffer, 0, buffer.byteLength, position)).bytesRead;
  }

  async write(bytes: Uint8Array): Promise<void> {
    let written = 0;
    while (written < bytes.byteLength) {
      const length = bytes.byteLength - written;
      written += (await writeAsync(this.#descriptor, bytes, written, length, null)).bytesWritten;
    }
  }

  async flush(): Promise<void> {
    await fdatasyncAsync(this.#descriptor);
  }

  setMode(mode: number): void {
    fchmodSync(this.#descriptor, mode);
  }

  setOwner(uid: number, gid: number): void {
    fchownSync(this.#descriptor, uid, gid); // never by path: another process could lead that to any file
  }

  close(): void {
    closeSync(this.#descriptor);
  }
}

/** The file of a descriptor, which it closes. */
export function fileOf(descriptor: number): DiskFile {
  return new CheckedFile(descriptor, toInfo(fstatSync(descriptor)));
}

/** The lock of a file that Deno has opened. */
export function toLock(file: Deno.FsFile): DiskLock {
  return {
    info: file.statSync(),
    lock: () => file.lockSync(true),
    tryLock: () => file.tryLockSync(true),
    unlock: () => file.unlockSync(),
    close: () => file.close(),
  };
}

function toInfo(stats: Stats): DiskInfo {
  const { dev, ino, mode, nlink, uid, gid, size, mtime, ctime, birthtime } = stats;
  const kind = { isFile: stats.isFile(), isDirectory: stats.isDirectory(), isSymlink: stats.isSymbolicLink() };
  return { ...kind, dev, ino, mode, nlink, uid, gid, size, mtime, ctime, birthtime };
}
