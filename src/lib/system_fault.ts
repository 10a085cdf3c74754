/** Errors of the operating system and of the runtime, in words for people: without codes, and without the runtime's advice. */

const wordsByCode: Readonly<Record<string, string>> = {
  EACCES: "permission denied",
  EPERM: "permission denied",
  ENOENT: "there is no such file or directory",
  ENOTDIR: "a part of the path is a file, not a directory",
  EISDIR: "it is a directory",
  EEXIST: "a file is in its place",
  ELOOP: "its links lead in a circle",
  ENAMETOOLONG: "the name is too long",
  EROFS: "the file system is read-only",
  ENOSPC: "the disk is full",
  EDQUOT: "the disk quota is used up",
  EIO: "the disk reports an error",
  EMFILE: "the process has too many open files",
  ENFILE: "the machine has too many open files",
  EADDRINUSE: "it is in use: another program listens there",
  EADDRNOTAVAIL: "this machine does not have that address",
  ECONNREFUSED: "nothing listens there",
  ECONNRESET: "the connection was reset",
  ETIMEDOUT: "no answer in time",
  EHOSTUNREACH: "the host cannot be reached",
  ENETUNREACH: "the network cannot be reached",
  ENOTFOUND: "the host name has no address",
  EAI_AGAIN: "the name server does not answer",
};

/** Some of the runtime's errors have a class and no code. */
const codesByName: Readonly<Record<string, string>> = {
  PermissionDenied: "EACCES",
  NotFound: "ENOENT",
  NotADirectory: "ENOTDIR",
  IsADirectory: "EISDIR",
  AlreadyExists: "EEXIST",
  FilesystemLoop: "ELOOP",
  AddrInUse: "EADDRINUSE",
  AddrNotAvailable: "EADDRNOTAVAIL",
  ConnectionRefused: "ECONNREFUSED",
  ConnectionReset: "ECONNRESET",
  TimedOut: "ETIMEDOUT",
};

/** The system's code for an error, such as `EACCES`; `null` where it has none. */
export function systemCode(error: unknown): string | null {
  if (!(error instanceof Error)) return null;
  const { code, message, name } = error as Error & { readonly code?: unknown };
  if (typeof code === "string" && /^E[A-Z_0-9]+$/.test(code) && !code.startsWith("ERR_")) return code;
  if (/lookup address information/.test(message)) return "ENOTFOUND";
  return codesByName[name] ?? (/\(os error 40\)/.test(message) ? "ELOOP" : null);
}

/** What happened; `null` for an error of another kind. */
export function systemFaultWords(error: unknown): string | null {
  if (error instanceof Error && error.name === "NotCapable") return "the runtime does not allow it";
  const code = systemCode(error);
  return code === null ? null : wordsByCode[code] ?? `the system reports ${code}`;
}

/** The same, or the error's own message. */
export function faultWords(error: unknown): string {
  return systemFaultWords(error) ?? (error instanceof Error ? error.message : String(error));
}

/** What an error of a file or directory is about, as far as it says: for an error that nothing closer explains. */
export function faultyPath(error: unknown): string | null {
  if (!(error instanceof Error)) return null;
  const { path } = error as Error & { readonly path?: unknown };
  if (typeof path === "string") return path;
  return /(?:to|:.*) ["']([^"']+)["']/.exec(error.message)?.[1] ?? null;
}

/** What to do about a path that cannot be used; `another` says how to choose another. */
export function pathRemedy(error: unknown, another: string): string {
  switch (systemCode(error)) {
    case "EACCES":
    case "EPERM":
      return `let the user that runs this use it (chown or chmod), or ${another}`;
    case "EROFS":
      return `mount it for writing, or ${another}`;
    case "ENOSPC":
    case "EDQUOT":
      return `free some space, or ${another}`;
    default:
      return another;
  }
}

const soon = "try again in a moment";
const ask = "ask its operator";

/** For callers of the server: faults of its machine, which are no bug and nothing that they did. */
const remediesByCode: Readonly<Record<string, string>> = {
  EMFILE: `the server has too many open files; ${soon}`,
  ENFILE: `the server's machine has too many open files; ${soon}`,
  ENOMEM: `the server's machine has no memory left; ${soon}`,
  ENOSPC: `no space left on the disk; delete what is not needed, or ${ask}`,
  EDQUOT: `the disk quota is used up; delete what is not needed, or ${ask}`,
  EROFS: `the server's file system is read-only; ${ask}`,
  EIO: `the server's disk reported an error; ${ask}`,
};

/** What was to be loaded could not be, such as a module for want of open files. */
export class LoadFailure extends Error {
  override readonly name = "LoadFailure";
}

/** A file system failed where no answer has a place for a refusal. */
export class FileSystemFault extends Error {
  override readonly name = "FileSystemFault";
  constructor(readonly code: string) {
    super(`the file system failed: ${code}`);
  }
}

/** What happened, and what to do; `null` for an error of another kind. */
export function machineFaultWords(error: unknown): string | null {
  if (error instanceof LoadFailure) return `a part of the server could not be loaded; ${soon}`;
  return error instanceof FileSystemFault
    ? fileSystemFaultWords(error.code)
    : remediesByCode[systemCode(error) ?? ""] ?? null;
}

/** The same as {@link machineFaultWords} for a file system's error by its code, whatever that is. */
export function fileSystemFaultWords(code: string): string {
  if (code === "ETIMEDOUT") return `the server's disk does not answer; try again later, or ${ask}`;
  if (code === "EBUSY") return `another program holds the lock of the workspace; ${soon}`;
  return remediesByCode[code] ?? `the file system reported an error; ${soon}`;
}
