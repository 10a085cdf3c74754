/**
 * The workspace port: one tree of files that a caller cannot leave. The disk and the store-backed workspace implement
 * it and pass the same contract. Refusals are values; only lost infrastructure and bugs are exceptions.
 */
import type { Result } from "../lib/result.ts";
import type { NewNameRule, WorkspacePath } from "./path.ts";

/** Why access was denied. Stable names, for the audit log and the tests. */
export type DenialCause =
  | "outside_link"
  | "link_loop"
  | "unreadable_link"
  | "other_file_system"
  | "hard_link"
  | "reserved"
  | "permission"
  | "read_only"
  | "changed_while_opening"
  | "workspace_replaced";

/** An expected refusal. None of them depends on anything outside the workspace. */
export type WorkspaceRefusal =
  | { readonly reason: "not_found" }
  | { readonly reason: "denied"; readonly because: DenialCause }
  | { readonly reason: "bad_name"; readonly rule: NewNameRule | "name_too_long" }
  | { readonly reason: "is_directory" }
  | { readonly reason: "not_a_directory" }
  /** Neither a file nor a directory: a pipe, a socket or a device. */
  | { readonly reason: "not_a_file" }
  | { readonly reason: "too_large"; readonly sizeBytes: number; readonly limitBytes: number }
  | { readonly reason: "no_space" }
  | { readonly reason: "quota"; readonly limit: number; readonly unit: "bytes" | "files" }
  /** Someone else changed the file in the meantime. */
  | { readonly reason: "conflict" }
  /** The file system failed; `code` is its error code, such as `EIO`. */
  | { readonly reason: "io"; readonly code: string };

/** A file's whole content and what identifies it. */
export interface FileContent {
  readonly bytes: Uint8Array;
  /** SHA-256 of `bytes` in hexadecimal: what a conditional write refers to. */
  readonly sha256: string;
  /** Milliseconds since the epoch. */
  readonly modifiedAt: number;
}

/** What a write left behind. */
export interface WrittenFile {
  readonly sizeBytes: number;
  /** SHA-256 of the file's content in hexadecimal. */
  readonly sha256: string;
  /** Whether the file was not there before. */
  readonly created: boolean;
}

/** What an entry of a directory is. Where a `link` leads is never told; `other` is a pipe, a socket or a device. */
export type EntryKind = "file" | "directory" | "link" | "other";

/** One entry of a directory. */
export interface DirectoryEntry {
  /** Exactly as stored; bytes that are not UTF-8 show as U+FFFD. May hold control characters: escape before showing. */
  readonly name: string;
  readonly kind: EntryKind;
}

/** Entries of one directory, sorted by name (code unit order). */
export interface Listing {
  readonly entries: readonly DirectoryEntry[];
  /** Whether the directory has entries that are left out because of the limit. */
  readonly truncated: boolean;
}

/** The limits of a workspace. */
export interface WorkspaceLimits {
  readonly maxReadBytes: number;
  readonly maxWriteBytes: number;
  readonly maxListEntries: number;
}

/** Limits that suit a person's own workspace. */
export const defaultWorkspaceLimits: WorkspaceLimits = {
  maxReadBytes: 1024 * 1024,
  maxWriteBytes: 1024 * 1024,
  maxListEntries: 1000,
};

/** An answer that is there at once where that is cheap, and later otherwise. */
export type Eventually<T> = T | Promise<T>;

/** The port itself. */
export interface Workspace {
  readonly limits: WorkspaceLimits;
  /** The content of a regular file of at most `maxReadBytes`. Small files are answered without a promise. */
  read(path: WorkspacePath): Eventually<Result<FileContent, WorkspaceRefusal>>;
  /** Replaces or creates the file in one step: readers see the old content or the new. Makes missing parents. */
  write(path: WorkspacePath, bytes: Uint8Array): Promise<Result<WrittenFile, WorkspaceRefusal>>;
  /** The entries of a directory, at most `maxListEntries`. */
  list(path: WorkspacePath): Promise<Result<Listing, WorkspaceRefusal>>;
  /** Gives back what the workspace holds open; it is not used afterwards. */
  close(): Promise<void>;
}
