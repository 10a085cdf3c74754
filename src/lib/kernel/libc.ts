/**
 * The functions of glibc behind `Descriptor`, and the numbers and layouts of what they take and give.
 * A foreign function can do anything that the process can, whatever Deno's permissions say: nothing here leaves this
 * folder, and a test holds that.
 */
import { permittedLibraries } from "../start_flags.ts";

// Numbers and layouts of Linux's interface. tests/kernel/ compares them with the headers of each architecture.

const { freeze } = Object; // other code of the isolate can import these, and replace what is not taken now

/** From fcntl.h, linux/fs.h, sys/file.h and sys/mman.h. */
export const file = freeze({
  AT_FDCWD: -100,
  AT_SYMLINK_NOFOLLOW: 0x100,
  AT_REMOVEDIR: 0x200,
  AT_NO_AUTOMOUNT: 0x800,
  AT_EMPTY_PATH: 0x1000,
  RENAME_NOREPLACE: 1,
  LOCK_EX: 2,
  LOCK_NB: 4,
  LOCK_UN: 8,
  PROT_READ: 1,
  MAP_SHARED: 1,
});

/** From linux/stat.h: flags, and `struct statx` with offsets in bytes. */
export const statx = freeze({
  STATX_BASIC_STATS: 0x7ff,
  STATX_BTIME: 0x800,
  STATX_MNT_ID: 0x1000,
  S_IFMT: 0o170000,
  S_IFDIR: 0o040000,
  S_IFREG: 0o100000,
  S_IFLNK: 0o120000,
  bytes: 256,
  stx_nlink: 16,
  stx_uid: 20,
  stx_gid: 24,
  stx_mode: 28,
  stx_ino: 32,
  stx_size: 40,
  stx_btime: 80,
  stx_ctime: 96,
  stx_mtime: 112,
  stx_dev_major: 136,
  stx_dev_minor: 140,
  stx_mnt_id: 144,
});

/** From dirent.h: types, and `struct dirent64` with offsets in bytes; the name ends with a zero byte. */
export const dirent = freeze(
  { d_reclen: 16, d_type: 18, d_name: 19, DT_UNKNOWN: 0, DT_DIR: 4, DT_REG: 8, DT_LNK: 10 },
);

const sharedFlags = {
  O_WRONLY: 0o1,
  O_CREAT: 0o100,
  O_EXCL: 0o200,
  O_APPEND: 0o2000,
  O_NOCTTY: 0o400,
  O_NONBLOCK: 0o4000,
  O_CLOEXEC: 0o2000000,
  O_PATH: 0o10000000,
};

/** What open(2) takes, from asm/fcntl.h: the only numbers in use that differ between the architectures. */
export const openFlags = freeze({
  x86_64: freeze({ ...sharedFlags, O_DIRECTORY: 0o200000, O_NOFOLLOW: 0o400000 }),
  aarch64: freeze({ ...sharedFlags, O_DIRECTORY: 0o40000, O_NOFOLLOW: 0o100000 }),
});
/** The architectures whose numbers are here; both are little-endian. */
export type Architecture = keyof typeof openFlags;

/** From asm/unistd.h and linux/openat2.h. `struct open_how` is flags, mode and resolve, 64 bits each. */
export const openat2 = freeze({
  SYS_openat2: 437, // a call without a function in glibc; new calls have one number everywhere
  RESOLVE_NO_XDEV: 0x01,
  RESOLVE_NO_MAGICLINKS: 0x02,
  RESOLVE_NO_SYMLINKS: 0x04,
  RESOLVE_BENEATH: 0x08,
  openHowBytes: 24,
});

/** From asm-generic/errno.h and errno-base.h. Others become `E` and their number. */
export const errorNames: Readonly<Record<number, string>> = freeze({
  1: "EPERM",
  2: "ENOENT",
  4: "EINTR",
  5: "EIO",
  6: "ENXIO",
  9: "EBADF",
  11: "EAGAIN",
  12: "ENOMEM",
  13: "EACCES",
  16: "EBUSY",
  17: "EEXIST",
  18: "EXDEV",
  19: "ENODEV",
  20: "ENOTDIR",
  21: "EISDIR",
  22: "EINVAL",
  23: "ENFILE",
  24: "EMFILE",
  26: "ETXTBSY",
  27: "EFBIG",
  28: "ENOSPC",
  30: "EROFS",
  31: "EMLINK",
  36: "ENAMETOOLONG",
  38: "ENOSYS",
  39: "ENOTEMPTY",
  40: "ELOOP",
  75: "EOVERFLOW",
  95: "EOPNOTSUPP",
  110: "ETIMEDOUT",
  116: "ESTALE",
  122: "EDQUOT",
});

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
  errnoLocation: { name: "__errno_location", parameters: [], result: "pointer" },
  mmap: { parameters: ["usize", "usize", "i32", "i32", "i32", "i64"], result: "isize" },
  copyMapped: { name: "memcpy", parameters: ["buffer", "usize", "usize"], result: "void" },
  memcpy: { parameters: ["buffer", "pointer", "usize"], result: "void" },
  trimLater: { name: "malloc_trim", parameters: ["usize"], result: "i32", nonblocking: true, optional: true },
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
