/** Errors of the operating system and of the runtime, in words for people: without codes, and without the runtime's advice. */
import type * as z from "zod";
import { UnusableError } from "./result.ts";

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

/** What was thrown, and where, for the log alone. */
export function crashText(error: unknown): string {
  return error instanceof Error ? error.stack ?? error.message : String(error);
}

const maxFetchWords = 200;

/** What `fetch` says of a failure, by its last part: the layers above repeat the address. */
export function fetchFaultWords(error: unknown): string {
  if (error instanceof DOMException) return "no answer in time";
  const words = faultWords(error instanceof Error && error.cause instanceof Error ? error.cause : error);
  return (words.split(": ").at(-1) ?? words).replace(/ \(os error \d+\)/, "").slice(0, maxFetchWords);
}

/** The path that a file system error names, for errors without a better explanation. */
export function faultyPath(error: unknown): string | null {
  if (!(error instanceof Error)) return null;
  const { path } = error as Error & { readonly path?: unknown };
  if (typeof path === "string") return path;
  return /(?:to|:.*) ["']([^"']+)["']/.exec(error.message)?.[1] ?? null;
}

const pathRemedies: Readonly<Record<string, string>> = {
  EACCES: "let the user that runs this use it (chown or chmod), or ",
  EPERM: "let the user that runs this use it (chown or chmod), or ",
  EROFS: "mount it for writing, or ",
  ENOSPC: "free some space, or ",
  EDQUOT: "free some space, or ",
};

/** What to do about a path that cannot be used; `another` says how to choose another. */
export function pathRemedy(error: unknown, another: string): string {
  return `${pathRemedies[systemCode(error) ?? ""] ?? ""}${another}`;
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

/** More is asked for at once than can be begun in time. */
export class Overload extends Error {
  override readonly name = "Overload";
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
  if (error instanceof Overload) return `${error.message}; ${soon}`;
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

const unreadableRemedy =
  "a newer version wrote it, or the database is damaged: run the newest version, or restore a backup";

/** A fault of what is stored. It may name files, hosts and families of records, but no stored value. */
export class StorageFault extends UnusableError {
  override readonly name: string = "StorageFault";
}

/** Whether an error says that the call was wrong, not the database. */
export function isCallersMistake(error: unknown): boolean {
  return error instanceof TypeError || error instanceof RangeError;
}

/** What a stored text says. Throws {@link StorageFault} where it is not JSON, without showing it. */
export function parseStoredJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new StorageFault("a stored record cannot be read: it is not JSON", unreadableRemedy);
  }
}

/** A value from the storage, as its schema has it. Throws {@link StorageFault} for anything else; `what` names its kind. */
export function parseStored<Schema extends z.ZodType>(schema: Schema, value: unknown, what: string): z.output<Schema> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const where = issue === undefined || issue.path.length === 0 ? "" : ` at ${issue.path.map(String).join(".")}`;
  throw new StorageFault(
    `a stored record (${what}) cannot be read: ${issue?.code ?? "invalid"}${where}`,
    unreadableRemedy,
  );
}

/** Well again in most cases within this time; a client that asks earlier is refused at no cost. */
const defaultRetryAfterSeconds = 2;
const faultRetrySeconds = 5;

/** What storages reject with when the database fails them. The cause has the driver's words, for the log alone. */
export class StorageUnavailableError extends StorageFault {
  override readonly name = "StorageUnavailableError";
  readonly retryAfterSeconds: number;

  /** As {@link StorageFault}. */
  constructor(
    problem: string,
    options: ErrorOptions & { readonly remedy?: string; readonly retryAfterSeconds?: number } = {},
  ) {
    super(problem, options.remedy ?? "check the database", options);
    this.retryAfterSeconds = options.retryAfterSeconds ?? defaultRetryAfterSeconds;
  }
}

/** Why the server cannot answer right now. */
export interface Unavailability {
  /** The guard of the storage has logged that it is lost; a fault of the machine is still to be logged. */
  readonly cause: "storage_unavailable" | "machine_fault";
  readonly text: string;
  readonly retryAfterSeconds: number;
}

/** Why a request that failed can be made again, and when; `null` for a bug. */
export function unavailability(error: unknown): Unavailability | null {
  if (error instanceof StorageUnavailableError) {
    const { retryAfterSeconds } = error;
    const text = `The server cannot use its database right now. Try again in ${retryAfterSeconds} s`;
    return { cause: "storage_unavailable", text, retryAfterSeconds };
  }
  const words = machineFaultWords(error);
  if (words === null) return null;
  return { cause: "machine_fault", text: `The server cannot answer: ${words}`, retryAfterSeconds: faultRetrySeconds };
}
