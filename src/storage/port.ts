/**
 * The storage port: an ordered key-value store with versions, the same on SQLite and PostgreSQL.
 * Every implementation passes the one contract suite in tests/storage/contract.ts.
 */
import { UnusableError } from "../lib/result.ts";
import { isCallersMistake, parseStoredJson } from "../lib/system_fault.ts";
import type { Log } from "../lib/log.ts";
import type { Clock } from "../lib/time.ts";

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

/** The range of {@link Storage.list}. */
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
  /** Removes and returns the entry. Of several callers, in any processes, exactly one gets it. */
  consume(key: StorageKey): Promise<StoredEntry | null>;
  /**
   * A number that differs from an earlier one of this instance whenever anything but the audit was committed between
   * the two calls, by this instance or any other: what was read after the earlier call may be trusted for as long as it
   * stays the same and its expiry has not come, which moves nothing. A commit that had returned before the call is
   * always seen. One small read at most, so fit for every request.
   */
  changeCount(): number | Promise<number>;
  /**
   * Calls `onChange` soon after the entry was written or taken out, by this instance or any other, until the returned
   * function is called. One call may stand for several changes, and one may come without any, so the callback
   * reads the entry. No change after this call goes untold: where the way to the database was lost for a while, all
   * watches are called once it is back. Neither expiry nor a sweep is a change.
   *
   * Only the families of watches.ts can be watched; `TypeError` for others. Fit for thousands of keys.
   */
  watch(key: StorageKey, onChange: () => void): () => void;
  /** Deletes the entries that had expired at `now` (milliseconds), and returns their number. */
  sweep(now: number): Promise<number>;
  /** Closes the connection and all watches. */
  close(): Promise<void>;
}

/** What `app` gives the parts that keep something. */
export interface Foundation {
  readonly storage: Storage;
  /** Dates entries, and when they expire. */
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * What a driver may be given, the same for both: it bounds how long one commit holds its locks.
 */
export const storageLimits = {
  /** One key, as `encodeKey` gives it: each part in UTF-8 plus one byte, characters up to `%` threefold. */
  keyBytes: 1_024,
  /** One value, as JSON in UTF-8. */
  valueBytes: 524_288,
  /** The keys of one batch, together. */
  batchKeyBytes: 32_768,
  /** The values of one batch, together. */
  batchValueBytes: 589_824,
  checks: 100,
  /** Puts and deletes of one batch, together. */
  writes: 100,
} as const;

/**
 * The format of everything that is stored, whichever part wrote it: in SQLite the `user_version`, in PostgreSQL the row of
 * `schema_version`. A change that an earlier version cannot read, or that reads nothing of an earlier one's, raises it.
 */
export const storedFormat = 3;

/** Throws {@link UnusableError} for a database, named by `place`, of another format than ours. */
export function requireOwnFormat(found: number, place: string): void {
  if (found > storedFormat) {
    throw new UnusableError(
      `${place} was written by a newer version of Portcullis (format ${found}; this one reads ${storedFormat})`,
      "run that version or a newer one",
    );
  }
  if (found < storedFormat) {
    throw new UnusableError(
      `${place} was written by an earlier version of Portcullis (format ${found}; this one reads ${storedFormat})`,
      "keep using that version, or start over: move the data directory away, or name another database; nothing was changed",
    );
  }
}

/** Whether a text has more bytes in UTF-8. Counted where it may: Node's counter takes 3 ms to load. */
function isOver(text: string, bytes: number): boolean {
  return text.length * maxBytesOfUnit > bytes && Buffer.byteLength(text) > bytes;
}

/** Of UTF-8, for one unit of UTF-16. */
const maxBytesOfUnit = 3;

// How a {@link StorageKey} becomes one text whose order, byte by byte in UTF-8, is the order the port promises: part by
// part, a key before the keys below it. Each part ends with `!`; every character up to and including `%` is written as
// `%XX`, so nothing inside a part sorts below the end of a part, and no text holds a NUL.

const endOfPart = "!";
const afterEndOfPart = '"';
const escaped = /[^&-\u{10ffff}]/gu; // what sorts before &

/** The key as text. Throws `TypeError` for an empty part or half a surrogate pair, `RangeError` for an over-long key. */
export function encodeKey(key: StorageKey): string {
  let text = "";
  for (const part of key) {
    if (part === "") throw new TypeError("A storage key has no empty parts");
    if (!part.isWellFormed()) throw new TypeError("A storage key holds no half surrogate pairs");
    text += part.replace(escaped, (sign) => `%${sign.charCodeAt(0).toString(16).padStart(2, "0")}`) + endOfPart;
  }
  if (isOver(text, storageLimits.keyBytes)) {
    throw new RangeError(`A storage key has at most ${storageLimits.keyBytes} bytes, escaped`);
  }
  return text;
}

/** The key as text, or `null` when nothing can be stored under it. */
export function encodeKeyToRead(key: StorageKey): string | null {
  try {
    return encodeKey(key);
  } catch (error) {
    if (isCallersMistake(error)) return null;
    throw error;
  }
}

/** The inverse of {@link encodeKey}. */
export function decodeKey(text: string): StorageKey {
  const [first, ...rest] = text.slice(0, -1).split(endOfPart).map(decodePart);
  if (first === undefined) throw new TypeError("A storage key has at least one part");
  return [first, ...rest];
}

/** An entry as a database has it. */
export interface EntryRow {
  readonly key: string;
  readonly value: string;
  readonly version: string;
}

/** A database's row as an entry. Throws for a value that is not JSON. */
export function entryOf({ key, value, version }: EntryRow): StoredEntry {
  return { key: decodeKey(key), value: parseStoredJson(value), version };
}

/** The least text that sorts after every key below the one given as text. */
export function endOfRange(keyText: string): string {
  return keyText.slice(0, -1) + afterEndOfPart;
}

function decodePart(text: string): string {
  return text.replace(/%([0-9a-f]{2})/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)));
}

/** Both ends are exclusive; `null` for an empty range. Throws `RangeError` for a limit below 1. */
export function listRange(
  prefix: StorageKey,
  { limit, after }: RangeOptions,
): { readonly start: string; readonly end: string } | null {
  if (!Number.isSafeInteger(limit) || limit < 1) throw new RangeError("A listing takes at least one entry");
  const below = encodeKeyToRead(prefix);
  if (below === null) return null;
  const end = endOfRange(below);
  if (after === undefined) return { start: below, end };
  const start = encodeKey(after);
  // A key before the prefix must not open the range to what lies between the two.
  if (compareBytes(start, below) < 0) return { start: below, end };
  return compareBytes(start, end) < 0 ? { start, end } : null;
}

/** Compares as the databases do, by code points; JavaScript's own order differs beyond U+FFFF. */
function compareBytes(a: string, b: string): number {
  let at = 0;
  while (at < a.length && a[at] === b[at]) at += 1;
  return (a.codePointAt(at) ?? -1) - (b.codePointAt(at) ?? -1);
}

/** A {@link Batch} in the form that drivers work with. */
interface PreparedBatch {
  readonly checks: { key: StorageKey; keyText: string; version: string | null }[];
  readonly puts: { key: StorageKey; keyText: string; json: string; expiresAt: number | null }[];
  readonly deletes: { key: StorageKey; keyText: string }[];
  /** A check can never hold: it wants a version of a key under which nothing can be stored. */
  readonly impossible: boolean;
}

/** Checks a batch against the limits. Throws `TypeError` for what is not JSON or not a key, `RangeError` for what is over a limit; both before any write. */
export function prepareBatch(batch: Batch): PreparedBatch {
  const checks: PreparedBatch["checks"] = [];
  let impossible = false;
  for (const { key, version } of batch.checks ?? []) {
    const keyText = encodeKeyToRead(key);
    if (keyText !== null) checks.push({ key, keyText, version });
    else if (version !== null) impossible = true;
  }
  // Each key is written once.
  const puts = new Map<string, PreparedBatch["puts"][number]>();
  for (const { key, value, expiresAt } of batch.puts ?? []) {
    const keyText = encodeKey(key);
    puts.set(keyText, { key, keyText, json: toJson(value), expiresAt: wholeMs(expiresAt) });
  }
  const deletes = new Map<string, PreparedBatch["deletes"][number]>();
  for (const key of batch.deletes ?? []) {
    const keyText = encodeKeyToRead(key);
    if (keyText === null) continue;
    puts.delete(keyText); // the port: deletes come after puts
    deletes.set(keyText, { key, keyText });
  }
  const prepared = { checks, puts: [...puts.values()], deletes: [...deletes.values()], impossible };
  requireWithinLimits(prepared);
  return prepared;
}

function toJson(value: unknown): string {
  const json: string | undefined = JSON.stringify(value); // throws TypeError for cycles and bigint
  if (json === undefined) throw new TypeError("A stored value is JSON: neither undefined nor a function");
  if (isOver(json, storageLimits.valueBytes)) {
    throw new RangeError(`A stored value has at most ${storageLimits.valueBytes} bytes as JSON`);
  }
  return json;
}

function wholeMs(expiresAt: number | undefined): number | null {
  if (expiresAt === undefined) return null;
  const whole = Math.ceil(expiresAt);
  if (!Number.isSafeInteger(whole)) throw new TypeError("expiresAt is a time in milliseconds since the epoch");
  return whole;
}

function requireWithinLimits({ checks, puts, deletes }: PreparedBatch): void {
  const refuse = (what: string, size: number, limit: number): never => {
    throw new RangeError(`A batch has at most ${limit} ${what}; this one has ${size}`);
  };
  const { checks: maxChecks, writes: maxWrites, batchKeyBytes, batchValueBytes } = storageLimits;
  if (checks.length > maxChecks) refuse("checks", checks.length, maxChecks);
  const writes = puts.length + deletes.length;
  if (writes > maxWrites) refuse("writes", writes, maxWrites);
  const keys = [...checks, ...puts, ...deletes].map(({ keyText }) => keyText).join("");
  if (isOver(keys, batchKeyBytes)) refuse("bytes of keys", Buffer.byteLength(keys), batchKeyBytes);
  const values = puts.map(({ json }) => json).join("");
  if (isOver(values, batchValueBytes)) refuse("bytes of values", Buffer.byteLength(values), batchValueBytes);
}
