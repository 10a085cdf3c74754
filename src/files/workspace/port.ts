/**
 * The workspace port: one tree of files that a caller cannot leave. The disk and the store-backed workspace implement
 * it and pass the same contract. Refusals are values; only lost infrastructure and bugs are exceptions.
 */
import type { Principal } from "../../lib/principal.ts";
import type { ArrivingContent, Change, ChangeAuthor, KeptItem, Left, Passage, ReceiveOptions } from "./change.ts";
import { failure, type Result } from "../../lib/result.ts";
import type { NewNameRule, WorkspacePath } from "./path.ts";

/** How long changes are kept, and how many bytes of files. */
export interface TrashLimits {
  readonly keepMs: number;
  readonly maxBytes: number;
}

/** What is kept of a workspace's files, beside its quota; the oldest goes first. */
export const maxTrashBytes = 1024 * 1024 * 1024;

/** The limits of a workspace. */
export interface WorkspaceLimits {
  /** What one read may give. */
  readonly maxReadBytes: number;
  /** What one write may bring. */
  readonly maxWriteBytes: number;
  /** What one write in pieces may bring where no quota says less. */
  readonly maxArrivingBytes: number;
  /** How large a file may become by appending and copying. */
  readonly maxFileBytes: number;
  /** What one listing may give. */
  readonly maxListEntries: number;
  /** How many entries one search may visit, and one deletion take away where nothing is kept of it. */
  readonly maxTreeEntries: number;
  /** Quota: what all files together may have. `null`: no quota. */
  readonly maxTotalBytes: number | null;
}

/** Limits that suit a person's own workspace. */
export const defaultWorkspaceLimits: WorkspaceLimits = {
  maxReadBytes: 1024 * 1024,
  maxWriteBytes: 1024 * 1024,
  maxArrivingBytes: 1024 * 1024 * 1024,
  maxFileBytes: 64 * 1024 * 1024,
  maxListEntries: 1000,
  maxTreeEntries: 20_000,
  maxTotalBytes: null,
};

/** What an entry of a directory is. Where a `link` leads is never told; `other` is a pipe, a socket or a device. */
export type EntryKind = "file" | "directory" | "link" | "other";

/** One entry of a directory. */
export interface DirectoryEntry {
  /** As stored, bytes that are not UTF-8 as halves of surrogate pairs: `showName` and `toPathText` make texts of it. */
  readonly name: string;
  readonly kind: EntryKind;
  /** With `details`, of a file. */
  readonly sizeBytes?: number;
  /** With `details`: milliseconds since the epoch. */
  readonly modifiedAt?: number;
}

/** How to list. */
interface ListOptions {
  /** At most this many entries, and never more than `maxListEntries`. */
  readonly limit?: number;
  /** Only names that come after this one, to continue a listing. */
  readonly after?: string;
  /** Also sizes and times. */
  readonly details?: boolean;
}

/** Entries of one directory, in the order of `compareNames`. */
interface Listing {
  readonly entries: readonly DirectoryEntry[];
  /** Whether the directory has further entries. */
  readonly hasMore: boolean;
}

/** Why access was denied. Stable names, for the audit log and the tests. */
export type DenialCause =
  | "outside_link"
  | "link_loop"
  | "unreadable_link"
  | "other_file_system"
  | "hard_link"
  | "reserved"
  | "other_name"
  | "name_not_unicode"
  | "denied_name"
  | "protected_name"
  | "top_level"
  | "permission"
  | "read_only"
  | "changed_while_opening"
  | "workspace_replaced";

/** An expected refusal. None of them depends on anything outside the workspace. */
export type WorkspaceRefusal =
  | { readonly reason: "not_found" }
  | { readonly reason: "denied"; readonly because: DenialCause }
  | { readonly reason: "bad_name"; readonly rule: NewNameRule | "name_too_long" }
  | { readonly reason: "too_deep"; readonly limit: number }
  | { readonly reason: "is_root" }
  | { readonly reason: "is_directory" }
  | { readonly reason: "not_a_directory" }
  /** Neither a file nor a directory: a pipe, a socket or a device. */
  | { readonly reason: "not_a_file" }
  | { readonly reason: "already_exists" }
  | { readonly reason: "not_empty" }
  /** The directory of a joined workspace is not there now, as that of a disk that was taken out. */
  | { readonly reason: "away" }
  /** A directory or a link cannot be moved into another directory of a joined workspace. */
  | { readonly reason: "across" }
  /** A directory cannot be moved into itself. */
  | { readonly reason: "into_itself" }
  | { readonly reason: "too_large"; readonly sizeBytes: number; readonly limitBytes: number }
  | { readonly reason: "too_many_entries"; readonly limit: number }
  | { readonly reason: "no_space" }
  | { readonly reason: "quota"; readonly limit: number }
  /** The file is not (or no longer) what the caller expects. */
  | { readonly reason: "conflict" }
  /** A document cannot be read as text. */
  | { readonly reason: "document"; readonly words: string }
  /** The file system failed; `code` is its error code, such as `EIO`. */
  | { readonly reason: "io"; readonly code: string };

/** The refusal of what may not be reached or changed. */
export function denied(because: DenialCause) {
  return failure({ reason: "denied", because } as const);
}

/** What an operation gives. */
export type Outcome<T> = Result<T, WorkspaceRefusal>;

/** A refusal of an operation on two paths, and which of them it is about; `isCopied`: a move has copied the file. */
export type PairRefusal = WorkspaceRefusal & { readonly about: "from" | "to" | "both"; readonly isCopied?: boolean };

/** What an operation on two paths gives. */
export type PairOutcome<T> = Result<T, PairRefusal>;

/** The outcome, its refusal being about one path or both. */
export function refusedAt<T>(about: PairRefusal["about"], outcome: Outcome<T>): PairOutcome<T> {
  return outcome.ok ? outcome : failure({ ...outcome.error, about });
}

/** An answer that is there at once where that is cheap, and later otherwise. */
export type Eventually<T> = T | Promise<T>;

/** A part of a file. */
interface ByteRange {
  readonly offsetBytes: number;
  readonly lengthBytes: number;
}

/** A file's content, or a part of it. */
export interface FileContent {
  readonly bytes: Uint8Array;
  /** The size of the whole file. */
  readonly sizeBytes: number;
  /** SHA-256 of the whole content in hexadecimal, what a conditional write refers to; `null` when `bytes` is a part. */
  readonly sha256: string | null;
  /** Changes whenever the content changes: parts with the same version are of the same content. */
  readonly version: string;
  /** Milliseconds since the epoch. */
  readonly modifiedAt: number;
  /** The mode of the file, where it has one. */
  readonly mode?: number | null;
}

/** A part of a file that was read into a caller's buffer. */
export interface ReadPart {
  /** 0 at the end of the file. */
  readonly lengthBytes: number;
  /** The size of the whole file. */
  readonly sizeBytes: number;
}

/** What is known of a file or directory without its content. */
export interface EntryInfo {
  readonly kind: "file" | "directory" | "other";
  readonly sizeBytes: number; // of a file; 0 otherwise
  /** Milliseconds since the epoch. */
  readonly modifiedAt: number;
}

/** How to write. */
export interface WriteOptions {
  /** `create` refuses what is there; `overwrite` (the default) creates or replaces; `append` creates or adds at the end. */
  readonly mode?: "create" | "overwrite" | "append";
  /** Refuse as a conflict unless the file is there and its content has this SHA-256, in hexadecimal. */
  readonly ifMatch?: string;
  /** What an edit makes of which places, for {@link Trash}: it can then be undone in a file that was changed since. */
  readonly passages?: readonly Passage[];
  /** Puts back what was there, also in a file that was made read-only since, as {@link Trash} does. */
  readonly isReturning?: boolean | undefined;
}

/** What a write left behind. */
export interface WrittenFile {
  /** The size of the whole file. */
  readonly sizeBytes: number;
  /** SHA-256 of the whole file's content in hexadecimal. */
  readonly sha256: string;
  /** Whether the file was not there before. */
  readonly created: boolean;
  /** Of a file with several names (hard links): the names that keep the old content. */
  readonly otherNames?: number;
}

/** Of a file that a move replaced. */
export type Moved = Pick<WrittenFile, "otherNames">;

/** The port itself. Links are followed inside the workspace, except that `move` and `remove` act on a link itself. */
export interface Workspace {
  readonly limits: WorkspaceLimits;
  /**
   * Absolute paths of the machine's directories, as the owner named them and as links lead to them, each with the path
   * in the workspace that it is: empty for the whole.
   */
  readonly directories?: Readonly<Record<string, string>>;
  /**
   * The content of a regular file, at most `maxReadBytes` of it; a whole file that is larger is refused. Small files
   * are answered without a promise.
   */
  read(path: WorkspacePath, range?: ByteRange): Eventually<Outcome<FileContent>>;
  /**
   * Whether the file still has the bytes and the time of `known`, which a read of it gave. It looks at all of them, and
   * answers at once; `false` also where that would take long. Absent where it is no cheaper than to read.
   */
  isStill?(path: WorkspacePath, known: FileContent): boolean;
  /**
   * Reads a regular file from `offsetBytes` on, at most `maxReadBytes` of it, as far as it fits into `buffer`. It costs
   * no memory, hash or version.
   */
  readInto(path: WorkspacePath, buffer: Uint8Array, offsetBytes: number): Eventually<Outcome<ReadPart>>;
  /** What is at the path. */
  stat(path: WorkspacePath): Eventually<Outcome<EntryInfo>>;
  /**
   * The path's names without links before its end: with a link at its end followed first, kept last, and in between all
   * known names (hard links) of a file.
   */
  trueNames(path: WorkspacePath): Outcome<readonly string[]>;
  list(path: WorkspacePath, options?: ListOptions): Promise<Outcome<Listing>>;
  /** Changes or creates the file in one step: readers see the old content or the new. Makes missing parents. */
  write(path: WorkspacePath, bytes: Uint8Array, options?: WriteOptions): Promise<Outcome<WrittenFile>>;
  /** The same with a content that may take its time: others read and write the file until it is there. */
  receive(path: WorkspacePath, content: ArrivingContent, options?: ReceiveOptions): Promise<Outcome<WrittenFile>>;
  /** Copies a file of at most `maxFileBytes`; what is at `to` is replaced only if asked, and only a file. */
  copy(
    from: WorkspacePath,
    to: WorkspacePath,
    options?: { readonly overwrite?: boolean },
  ): Promise<PairOutcome<WrittenFile>>;
  /**
   * Moves a file, directory or link; what is at `to` is replaced only if asked, and only a file by a file. With `left`,
   * for an undo: only what is as a step has left it, and to where it was, whatever new names may not hold.
   */
  move(
    from: WorkspacePath,
    to: WorkspacePath,
    options?: { readonly overwrite?: boolean; readonly left?: Left },
  ): Promise<PairOutcome<Moved>>;
  /**
   * Deletes a file, a link, an empty directory, or with `recursive` a directory with all below it. With `left`, for an
   * undo: only what is as a step has left it.
   */
  remove(
    path: WorkspacePath,
    options?: { readonly recursive?: boolean; readonly left?: Left },
  ): Promise<Outcome<{ readonly entries: number }>>;
  /**
   * Makes the directory and its missing parents; that it is there already is no error. `isReturning`: it was there,
   * whatever new names may not hold.
   */
  makeDirectory(
    path: WorkspacePath,
    options?: { readonly isReturning?: boolean },
  ): Promise<Outcome<{ readonly created: boolean }>>;
  /** What changes have replaced and deleted; `null` where nothing is kept. */
  readonly trash: Trash | null;
  /**
   * The same workspace for one call of a tool: what is changed through it is one change, of which `onChange` gets the
   * id before its first step. `newId`: where its id comes from, for a change that is a part of a larger one.
   */
  begin(author: ChangeAuthor | null, onChange?: (id: string) => void, newId?: () => string): Workspace;
  /** The same with these of its directories alone, where it has several. */
  only?(names: readonly string[]): Workspace;
  /** Closes what the workspace holds open; it is not used afterwards. */
  close(): Promise<void>;
}

/**
 * What changes have replaced and deleted, for a bounded time and size, where no path leads. The operations that change
 * something are steps of a change, too; with `left` they refuse as a conflict what is not as it was left.
 */
export interface Trash {
  /** How long a change is kept, in milliseconds. */
  readonly keepMs: number;
  /** The changes, the newest first. */
  changes(): AsyncIterable<Change>;
  find(id: string): Promise<Change | null>;
  /** Whether what the step kept is still there. */
  holds(item: KeptItem): Promise<boolean>;
  /** A part of a file that a step kept, at most `maxReadBytes` of it. */
  read(item: KeptItem, range: ByteRange): Promise<Outcome<Uint8Array>>;
  /** Whether an entry is as a step has left it. */
  isAsLeft(path: WorkspacePath, left: Left): Promise<Outcome<boolean>>;
  /**
   * Puts what a step kept to a path where nothing is, or in the place of a file that is as it was left. Where it was
   * before, it may be again, whatever new names may not hold.
   */
  restore(item: KeptItem, path: WorkspacePath, left?: Left): Promise<Outcome<null>>;
  /** Leaves only the beginning of a file that is as it was left. */
  cutBack(path: WorkspacePath, sizeBytes: number, left: Left): Promise<Outcome<unknown>>;
  noteUndone(id: string, by: string): Promise<void>;
  /** Drops what at `now` is kept for too long, and what is too much. */
  tidy(now: number): Promise<void>;
}

/** The workspace that a principal uses: one for all, or one for each user. */
export type WorkspaceSource = (principal: Principal) => Workspace;
