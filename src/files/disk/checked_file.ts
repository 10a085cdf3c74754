/** An open file, or what is locked, by node:fs. */
import type { Stats } from "node:fs";
import { nodeFs } from "../../lib/node_modules.ts";
import type { DiskFile, DiskInfo, DiskLock } from "./directory.ts";

class CheckedFile implements DiskFile {
  readonly #descriptor: number;

  constructor(descriptor: number, readonly info: DiskInfo) {
    this.#descriptor = descriptor;
  }

  read(buffer: Uint8Array, position: number): number {
    return nodeFs().readSync(this.#descriptor, buffer, 0, buffer.byteLength, position);
  }

  readLater(buffer: Uint8Array, position: number): Promise<number> {
    return later((done) => nodeFs().read(this.#descriptor, buffer, 0, buffer.byteLength, position, done));
  }

  async write(bytes: Uint8Array): Promise<void> {
    let written = 0;
    while (written < bytes.byteLength) {
      const length = bytes.byteLength - written;
      written += await later<number>((done) => nodeFs().write(this.#descriptor, bytes, written, length, null, done));
    }
  }

  flush(): Promise<void> {
    return later((done) => nodeFs().fdatasync(this.#descriptor, done));
  }

  setMode(mode: number): void {
    nodeFs().fchmodSync(this.#descriptor, mode);
  }

  setOwner(uid: number, gid: number): void {
    nodeFs().fchownSync(this.#descriptor, uid, gid); // never by path: another process could lead that to any file
  }

  close(): void {
    nodeFs().closeSync(this.#descriptor);
  }
}

/** O_NONBLOCK: should a pipe have taken the file's place by now, opening it returns instead of waiting for a writer. */
export function openToRead(path: string): number {
  const { openSync, constants: { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } } = nodeFs();
  return openSync(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
}

export function openToAppend(path: string): number {
  const { openSync, constants: { O_WRONLY, O_CREAT, O_APPEND, O_NOFOLLOW } } = nodeFs();
  return openSync(path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW, 0o600);
}

/** The file of a descriptor, which it closes. */
export function fileOf(descriptor: number): DiskFile {
  return new CheckedFile(descriptor, toInfo(nodeFs().fstatSync(descriptor)));
}

/** The lock of a file that Deno has opened. */
export function toLock(file: Deno.FsFile): DiskLock {
  return {
    info: file.statSync(),
    tryLock: () => file.tryLockSync(true),
    unlock: () => file.unlockSync(),
    close: () => file.close(),
  };
}

/** The result of a function of node:fs that calls back. */
function later<T>(begin: (done: (error: Error | null, value?: T) => void) => void): Promise<T> {
  return new Promise((resolve, reject) => begin((error, value) => error ? reject(error) : resolve(value as T)));
}

function toInfo(stats: Stats): DiskInfo {
  const { dev, ino, mode, nlink, uid, gid, size, mtime, ctime, birthtime } = stats;
  const kind = { isFile: stats.isFile(), isDirectory: stats.isDirectory(), isSymlink: stats.isSymbolicLink() };
  return { ...kind, dev, ino, mode, nlink, uid, gid, size, mtime, ctime, birthtime };
}
