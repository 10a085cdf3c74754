/** What a directory holds, and how it is listed. */

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
export interface ListOptions {
  /** At most this many entries, and never more than `maxListEntries`. */
  readonly limit?: number;
  /** Only names that come after this one, to continue a listing. */
  readonly after?: string;
  /** Also sizes and times. */
  readonly details?: boolean;
}

/** Entries of one directory, in the order of `compareNames`. */
export interface Listing {
  readonly entries: readonly DirectoryEntry[];
  /** Whether the directory has further entries. */
  readonly hasMore: boolean;
}
