/**
 * What a disk workspace asks of the system, and the port of two ways to get it: by descriptors, where the kernel
 * confines names (kernel/), and by paths that are checked before and after (checked_directory.ts).
 */
import { failure } from "../../lib/result.ts";
import type { ListedName } from "../kernel/descriptor.ts";
import type { OnEntryChange } from "../kernel/directory_watch.ts";
import type { WorkspaceRefusal } from "../workspace/port.ts";

/** What the system says of an entry, a link itself. */
export interface DiskInfo extends
  Pick<
    Deno.FileInfo,
    | "isFile"
    | "isDirectory"
    | "isSymlink"
    | "size"
    | "mtime"
    | "ctime"
    | "birthtime"
    | "dev"
    | "mode"
    | "nlink"
    | "uid"
    | "gid"
  > {
  /** More than a number can tell apart is a bigint, where the kernel resolves names; Deno's own calls round it. */
  readonly ino: number | bigint | null;
  /** Where the system tells. */
  readonly mountId?: number;
}

/** An open file, which its user closes. */
export interface DiskFile {
  /** As it was when it was opened. */
  readonly info: DiskInfo;
  /** Bytes read at `position` into `buffer`; 0 at the end. */
  read(buffer: Uint8Array, position: number): number;
  readLater(buffer: Uint8Array, position: number): Promise<number>;
  /** Writes all of it where the last write ended. */
  write(bytes: Uint8Array): Promise<void>;
  /** Resolves when what was written is on the disk. */
  flush(): Promise<void>;
  setMode(mode: number): void;
  setOwner(uid: number, gid: number): void;
  close(): void;
}

/** A file or directory that is locked by one process at a time, until it ends or closes it. */
export interface DiskLock {
  /** As it was when it was opened. */
  readonly info: DiskInfo;
  /** Whether it got the lock at once. */
  tryLock(): boolean;
  unlock(): void;
  close(): void;
}

/** An open directory whose entries are read. */
export interface DiskListing extends Disposable {
  /** As it was when it was opened. */
  readonly info: DiskInfo;
  /** The entries, all at once. */
  entries(): Iterable<ListedName>;
  /** The entries of a long directory in batches, giving others their turn in between. */
  entriesInTurns(): AsyncIterable<readonly ListedName[]>;
  /** What an entry is, of which something may be mounted there. */
  entryOf(name: string): DiskInfo | null;
  /** The same, without telling anything of what is mounted. */
  detailsOf(name: string): DiskInfo | null;
  /** How the directory is now; `null` when another was put in its place. */
  lookAgain(): DiskInfo | null;
}

/**
 * A directory inside the workspace, good until the step ends in which it was reached. Methods throw the system's error,
 * which `toRefusal` reads. Each `name` is one name.
 */
export interface DiskDirectory {
  status(): DiskInfo;
  statusOf(name: string): DiskInfo | null;
  /** Where a link leads; `null` when that is not UTF-8. */
  readLink(name: string): string | null;
  /** A directory in this one. */
  enter(name: string): DiskDirectory;
  /** Opens the directory at the end of a path of names; `.` is this one. */
  list(path: string): DiskListing;
  /** Opens the regular file that was found; `null` when another entry was put in its place. */
  openFile(name: string, found: DiskInfo): DiskFile | null;
  /** Opens a file in the staging directory, where no path of a caller leads; `null` when there is no file. */
  openOwn(name: string): DiskFile | null;
  createFile(name: string): DiskFile;
  /** Opens a file to lock it; `null` when there is none, or no file. */
  openLock(name: string, create: boolean): DiskLock | null;
  /** Opens this directory to lock it. */
  openSelf(): DiskLock;
  /** Makes a directory unless there is something of that name. */
  makeDirectory(name: string, mode?: number): void;
  removeFile(name: string): void;
  /** Removes an empty directory. */
  removeDirectory(name: string): void;
  /** Removes what is there with all below it; that nothing is there is no error. */
  removeTree(name: string): void;
  removeTreeInTurns(name: string): Promise<void>;
  /** Renames the entry that was found. With `found` left out, whatever is there. */
  rename(name: string, to: DiskDirectory, newName: string, found?: DiskInfo): void;
  /** Renames unless there is something of the new name; says whether it did. */
  renameNew(name: string, to: DiskDirectory, newName: string, found?: DiskInfo): boolean;
  /** Two entries take each other's name in one step; `false` where the system has no such step. */
  exchange(name: string, to: DiskDirectory, otherName: string): boolean;
  /** Gives a file a second name, unless there is something of that name; `false` where it can have none. */
  link(name: string, to: DiskDirectory, newName: string): boolean;
  /** Adds a short text to a file of the server's own, which is made when it is missing. */
  appendText(name: string, text: string): void;
  /** Whether what lies here, or at this name, still is inside and not denied: another process may have moved it. */
  isStillInside(name?: string): boolean;
  /** The same for a directory whose entries are to change: it is not protected either. */
  isStillChangeable(): boolean;
}

/** The way to the files of one workspace. */
export interface DiskAccess {
  /** The workspace's directory; `null` when another was put in its place since it was opened. Throws when it is gone. */
  root(): DiskDirectory | null;
  /** Runs a step that gives up control nowhere, and then closes the directories that it reached. */
  step<T>(run: () => T): T;
  /** Reaches a directory that stays good until it is disposed of. */
  hold(reach: () => DiskDirectory): { readonly value: DiskDirectory } & Disposable;
  /**
   * Opens what lies at a path of names without links, in one call; `null` where that cannot be, for whatever reason.
   * Absent where there is no such call. With `isRootSeen` the root is not looked at once more.
   */
  openPlain?(path: string, purpose: "read" | "status", isRootSeen: boolean): DiskFile | null;
  /** The same for a directory; the root is looked at. */
  listPlain?(path: string): DiskListing | null;
  /** Reports changes in a directory until the returned function is called. Absent where the system has no such call. */
  watch?(path: string, onChange: OnEntryChange): () => void;
  close(): void;
}

/** Whether two looks were at one entry. */
export function isSame(one: DiskInfo, other: DiskInfo): boolean {
  return one.dev === other.dev && one.ino === other.ino;
}

/** Whether an entry lies on another file system than the root, or on another mount of the same one. */
export function isForeign(root: DiskInfo, entry: DiskInfo): boolean {
  return entry.dev !== root.dev || entry.mountId !== root.mountId;
}

/** Changes whenever the content does: every write here makes a new inode, and others change size or times. */
export function versionOf(info: DiskInfo): string {
  return [info.ino, info.size, info.mtime?.getTime(), info.ctime?.getTime()].join("-");
}

/** Tells one version of a file from another, and a directory from another; moving it changes nothing of it. */
export function identityOf({ isDirectory, ino, birthtime, size, mtime }: DiskInfo): string {
  const numbers = [birthtime?.getTime(), ...isDirectory ? [] : [size, mtime?.getTime()]];
  return [ino || 0, ...numbers.map((number) => Math.trunc(number || 0))].join("-"); // NaN where the system does not tell
}

/**
 * The refusal for an error that Deno or node:fs threw: its code decides, its text (which holds paths) is dropped.
 * Throws everything else on.
 */
export function toRefusal(error: unknown): WorkspaceRefusal {
  if (error instanceof Deno.errors.NotCapable) return { reason: "denied", because: "permission" };
  const code = errorCode(error);
  if (code === undefined) throw error;
  switch (code) {
    case "ENOENT":
      return { reason: "not_found" };
    case "EILSEQ":
      return { reason: "denied", because: "name_not_unicode" };
    case "ENOTDIR":
      return { reason: "not_a_directory" };
    case "EEXIST":
      return { reason: "already_exists" };
    case "ENOTEMPTY":
      return { reason: "not_empty" };
    case "EISDIR":
      return { reason: "is_directory" };
    case "ELOOP": // a link was met where there was a file or a directory a moment before
    case "ESTALE":
      return { reason: "denied", because: "changed_while_opening" };
    case "EACCES":
    case "EPERM":
      return { reason: "denied", because: "permission" };
    case "EROFS":
      return { reason: "denied", because: "read_only" };
    case "EXDEV":
      return { reason: "denied", because: "other_file_system" };
    case "ENXIO": // a socket, or a device without a driver
    case "ENODEV":
      return { reason: "not_a_file" };
    case "ENAMETOOLONG":
      return { reason: "bad_name", rule: "name_too_long" };
    case "ENOSPC":
    case "EDQUOT":
    case "EFBIG":
      return { reason: "no_space" };
    default:
      return { reason: "io", code };
  }
}

/** What was looked at is not what is there now. */
export const changedMeanwhile = failure({ reason: "denied", because: "changed_while_opening" } as const);

/** A file can have no second name: the file system has none, or the system none for files of others. */
export const unlinkable: ReadonlySet<string> = new Set([
  "EINVAL",
  "ENOSYS",
  "EOPNOTSUPP",
  "ENOTSUP",
  "EPERM",
  "EMLINK",
]);

/** The POSIX code of a file system error, or `undefined` for any other error. */
export function errorCode(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  const code: unknown = Reflect.get(error, "code");
  return typeof code === "string" && /^E[A-Z0-9]+$/.test(code) ? code : undefined;
}
