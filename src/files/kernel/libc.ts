/**
 * The functions of glibc behind {@link Descriptor}. A foreign function can do anything that the process can, whatever
 * Deno's permissions say: nothing here leaves this folder, and a test holds that.
 */
import { permittedLibraries } from "../../lib/library_paths.ts";
import { errorNames } from "./numbers.ts";

const functions = {
  openat2: { name: "syscall", parameters: ["i32", "i32", "buffer", "buffer", "i32"], result: "i32" },
  statx: { parameters: ["i32", "buffer", "i32", "u32", "buffer"], result: "i32" },
  statfs: { name: "statfs64", parameters: ["buffer", "buffer"], result: "i32" },
  readlinkat: { parameters: ["i32", "buffer", "buffer", "usize"], result: "i32" },
  getdents64: { parameters: ["i32", "buffer", "usize"], result: "i32" },
  mkdirat: { parameters: ["i32", "buffer", "u32"], result: "i32" },
  unlinkat: { parameters: ["i32", "buffer", "i32"], result: "i32" },
  linkat: { parameters: ["i32", "buffer", "i32", "buffer", "i32"], result: "i32" },
  renameat: { parameters: ["i32", "buffer", "i32", "buffer"], result: "i32" },
  renameat2: { parameters: ["i32", "buffer", "i32", "buffer", "u32"], result: "i32" },
  pread: { name: "pread64", parameters: ["i32", "buffer", "usize", "i64"], result: "i32" },
  preadLater: { name: "pread64", parameters: ["i32", "buffer", "usize", "i64"], result: "i32", nonblocking: true },
  write: { parameters: ["i32", "buffer", "usize"], result: "i32" },
  writeLater: { name: "write", parameters: ["i32", "buffer", "usize"], result: "i32", nonblocking: true },
  fdatasyncLater: { name: "fdatasync", parameters: ["i32"], result: "i32", nonblocking: true },
  fchmod: { parameters: ["i32", "u32"], result: "i32" },
  fchown: { parameters: ["i32", "u32", "u32"], result: "i32" },
  flock: { parameters: ["i32", "i32"], result: "i32" },
  close: { parameters: ["i32"], result: "i32" },
  inotifyInit: { name: "inotify_init1", parameters: ["i32"], result: "i32" },
  inotifyAdd: { name: "inotify_add_watch", parameters: ["i32", "buffer", "u32"], result: "i32" },
  inotifyRemove: { name: "inotify_rm_watch", parameters: ["i32", "i32"], result: "i32" },
  readLater: { name: "read", parameters: ["i32", "buffer", "usize"], result: "i32", nonblocking: true },
  errnoLocation: { name: "__errno_location", parameters: [], result: "pointer" },
  memcpy: { parameters: ["buffer", "pointer", "usize"], result: "void" },
  mmap: { parameters: ["usize", "usize", "i32", "i32", "i32", "i64"], result: "isize" },
  trimLater: { name: "malloc_trim", parameters: ["usize"], result: "i32", nonblocking: true, optional: true },
  copyMapped: { name: "memcpy", parameters: ["buffer", "usize", "usize"], result: "void" },
} as const;

/** The functions by name. */
export type Libc = Deno.DynamicLibrary<typeof functions>["symbols"];

/** Loads glibc; the reason in words where that cannot be. */
export function loadLibc(): Libc | string {
  const permitted = permittedLibraries();
  if (permitted.length === 0) return "foreign functions are not permitted (--allow-ffi)";
  for (const path of permitted) {
    try {
      return Deno.dlopen(path, functions).symbols;
    } catch {
      continue; // not where this distribution keeps it, or too old
    }
  }
  return "glibc was not found, or is too old";
}

const lastError = new Int32Array(1);

/** Why the last call of this thread failed. Only right after it, and not for calls that ran on another thread. */
export function errorOf(libc: Libc): KernelError {
  libc.memcpy(lastError, libc.errnoLocation(), 4n);
  const number = lastError[0] ?? 0;
  return new KernelError(errorNames[number] ?? `E${number}`);
}

/** A call that failed, with the system's name for the reason. */
export class KernelError extends Error {
  override readonly name = "KernelError";
  constructor(readonly code: string) {
    super(`the system refused a file operation: ${code}`);
  }
}

Object.freeze(KernelError.prototype);
Object.freeze(KernelError);
