/**
 * The storage port: an ordered key-value store with versions, small enough for SQLite, Deno KV and PostgreSQL alike.
 * Every implementation passes the one contract suite in tests/storage/contract.ts.
 */

/**
 * A path of non-empty parts, for example `["grant", grantId]`. Keys sort part by part, each part by its Unicode code
 * points (which is the order of its UTF-8 bytes, not JavaScript's), and a key sorts before the keys below it.
 *
 * An empty part, half a surrogate pair and a key over `storageLimits.keyBytes` cannot be stored: a put rejects with
 * `TypeError` or `RangeError`; elsewhere such a key is absent, so that text from a request can be looked up as it is.
 */
export type StorageKey = readonly [string, ...string[]];

/** One stored entry. `version` changes with every write and is never used again for the same key. */
export interface StoredEntry {
  readonly key: StorageKey;
  /** Plain JSON; its reader parses it with a schema. */
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
  /** What `JSON.stringify` makes of it is stored; `TypeError` when that is nothing. */
  readonly value: unknown;
  /** The entry is absent from this instant on, by the reader's clock. A fraction is rounded up. */
  readonly expiresAt?: number;
}

/**
 * Checks and writes that take effect together, durably, or not at all. Puts come before deletes, each in their order;
 * the last write of a key counts. What exceeds `storageLimits` rejects with `RangeError` and changes nothing.
 */
export interface Batch {
  readonly checks?: readonly VersionCheck[];
  readonly puts?: readonly Put[];
  readonly deletes?: readonly StorageKey[];
}

/** Where {@link Storage.list} starts and stops. */
export interface RangeOptions {
  /** At most this many entries; at least 1. */
  readonly limit: number;
  /** Only entries that sort after this key, to continue a listing. It need not exist (any more). */
  readonly after?: StorageKey;
}

/**
 * The port itself. Methods reject for a caller's mistake, as said above, and when the database is lost; a `commit` or
 * `consume` that was rejected for the latter may have taken effect. An expired entry reads as absent everywhere; if the
 * clock is set back before it was swept, it is there again.
 */
export interface Storage {
  /** The entry, or `null` when it is absent or expired. */
  get(key: StorageKey): Promise<StoredEntry | null>;
  /** The entries strictly below `prefix`, in key order. Each is as it was at some moment of the call. */
  list(prefix: StorageKey, options: RangeOptions): Promise<StoredEntry[]>;
  /** Applies the batch if every check holds; `false` and no change otherwise. Batches have one order, as if in turn. */
  commit(batch: Batch): Promise<boolean>;
  /** Takes the entry out; of any number of callers, in any number of processes, exactly one gets it. */
  consume(key: StorageKey): Promise<StoredEntry | null>;
  /**
   * A number that differs from an earlier one of this instance whenever anything but the audit was committed between
   * the two calls, by this instance or any other: what was read after the earlier call may be trusted for as long as it stays the
   * same and its expiry has not come, which moves nothing. A commit that had returned before the call is always seen.
   * One small read at most, so fit for every request.
   */
  changeCount(): number | Promise<number>;
  /**
   * Calls `onChange` soon after the entry was written or taken out, by this instance or any other, until the returned
   * function is called. One call may stand for several changes, and one may come without any, so the callback
   * reads the entry. No change after this call goes untold: where the way to the database was lost for a while, all
   * watches are called once it is back. Neither expiry nor a sweep is a change.
   *
   * Only the families of watched_families.ts can be watched; `TypeError` for others. Fit for thousands of keys.
   */
  watch(key: StorageKey, onChange: () => void): () => void;
  /** Deletes the entries that had expired at `now`, in milliseconds, and says how many. */
  sweep(now: number): Promise<number>;
  /** Ends the connection and all watches; the store is not used afterwards. */
  close(): Promise<void>;
}
