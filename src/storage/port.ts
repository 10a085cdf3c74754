/**
 * The storage port: an ordered key-value store with versions, small enough for SQLite, Deno KV and PostgreSQL alike.
 * Every implementation passes the one contract suite in tests/storage/contract.ts.
 */

/** A path of non-empty parts, for example `["grant", grantId]`; entries sort by their parts. */
export type StorageKey = readonly [string, ...string[]];

/** One stored entry. `version` changes with every write and is never used again for the same key. */
export interface StoredEntry {
  readonly key: StorageKey;
  /** Plain JSON; whoever reads it parses it with a schema. */
  readonly value: unknown;
  readonly version: string;
}

/** A condition of a {@link Batch}: the entry still has this version, or (`null`) is absent or expired. */
export interface VersionCheck {
  readonly key: StorageKey;
  readonly version: string | null;
}

/** One write of a {@link Batch}. `expiresAt` is in milliseconds since the epoch; without it the entry stays. */
export interface Put {
  readonly key: StorageKey;
  readonly value: unknown;
  readonly expiresAt?: number;
}

/** Checks and writes that take effect together, durably, or not at all. */
export interface Batch {
  readonly checks?: readonly VersionCheck[];
  readonly puts?: readonly Put[];
  readonly deletes?: readonly StorageKey[];
}

/** Where {@link Storage.list} starts and stops. */
export interface ListOptions {
  /** At most this many entries. */
  readonly limit: number;
  /** Only entries that sort after this key, to continue a listing. */
  readonly after?: StorageKey;
}

/** The port itself. All methods reject only when the database is lost. An expired entry reads as absent everywhere. */
export interface Storage {
  /** The entry, or `null` when it is absent or expired. */
  get(key: StorageKey): Promise<StoredEntry | null>;
  /** The entries strictly below `prefix`, in key order. */
  list(prefix: StorageKey, options: ListOptions): Promise<StoredEntry[]>;
  /** Applies the batch if every check holds; `false` and no change otherwise. */
  commit(batch: Batch): Promise<boolean>;
  /** Takes the entry out; of any number of callers, in any number of processes, exactly one gets it. */
  consume(key: StorageKey): Promise<StoredEntry | null>;
  /**
   * A number that differs from an earlier one whenever anything was committed between the two calls, by this instance
   * or any other. Cheap enough for every request: what was read before may be trusted for as long as it stays the same.
   */
  changeCount(): number | Promise<number>;
  /** Deletes expired entries and says how many. */
  sweep(): Promise<number>;
  /** Ends the connection; the store is not used afterwards. */
  close(): Promise<void>;
}
