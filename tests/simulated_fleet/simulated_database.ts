/** The database of the fleet: one state, changed by one batch after the other, and what was ever written, for the checks. */
import {
  type Batch,
  decodeKey,
  encodeKeyToRead,
  endOfRange,
  prepareBatch,
  type RangeOptions,
  type StorageKey,
  type StoredEntry,
} from "../../src/storage/port.ts";

interface Row {
  readonly json: string;
  readonly version: string;
  readonly expiresAt: number | null;
}

/** One entry that changed: `null` is absent. */
export interface Change {
  readonly keyText: string;
  readonly key: StorageKey;
  readonly before: unknown;
  readonly after: unknown;
  readonly isSwept: boolean;
}

/** A state to begin from. */
export type Snapshot = ReadonlyMap<string, Row>;

/** Synchronous and atomic; who asks says what time it is. */
export class SimulatedDatabase {
  changeCount = 0;
  /** Called for each change, in order. */
  onChange: (change: Change) => void = () => {};
  #rows: Map<string, Row>;
  #versions = 0;

  constructor(snapshot: Snapshot = new Map()) {
    this.#rows = new Map(snapshot);
    this.#versions = snapshot.size + 1_000_000;
  }

  snapshot(): Snapshot {
    return new Map(this.#rows);
  }

  get(key: StorageKey, now: number): StoredEntry | null {
    const text = encodeKeyToRead(key);
    const row = text === null ? null : this.#live(text, now);
    return row === null ? null : { key, value: JSON.parse(row.json), version: row.version };
  }

  list(prefix: StorageKey, { limit, after }: RangeOptions, now: number): StoredEntry[] {
    const start = encodeKeyToRead(prefix);
    if (start === null) return [];
    const from = after === undefined ? start : encodeKeyToRead(after) ?? start;
    const end = endOfRange(start);
    const texts = [...this.#rows.keys()].filter((text) => text > start && text > from && text < end).sort();
    const found: StoredEntry[] = [];
    for (const text of texts) {
      const row = this.#live(text, now);
      if (row !== null) found.push({ key: decodeKey(text), value: JSON.parse(row.json), version: row.version });
      if (found.length === limit) break;
    }
    return found;
  }

  commit(batch: Batch, now: number): boolean {
    const { checks, puts, deletes, impossible } = prepareBatch(batch);
    if (impossible) return false;
    if (checks.some(({ keyText, version }) => (this.#live(keyText, now)?.version ?? null) !== version)) return false;
    for (const { keyText, json, expiresAt } of puts) {
      this.#set(keyText, { json, version: String(this.#versions++), expiresAt }, false);
    }
    for (const { keyText } of deletes) this.#set(keyText, null, false);
    this.changeCount += 1;
    return true;
  }

  consume(key: StorageKey, now: number): StoredEntry | null {
    const entry = this.get(key, now);
    if (entry !== null) this.commit({ deletes: [key] }, now);
    return entry;
  }

  sweep(now: number): number {
    const expired = [...this.#rows].filter(([, { expiresAt }]) => expiresAt !== null && expiresAt <= now);
    for (const [text] of expired) this.#set(text, null, true);
    return expired.length;
  }

  #live(text: string, now: number): Row | null {
    const row = this.#rows.get(text);
    return row === undefined || (row.expiresAt !== null && row.expiresAt <= now) ? null : row;
  }

  #set(keyText: string, row: Row | null, isSwept: boolean): void {
    const before = this.#rows.get(keyText);
    if (row === null) this.#rows.delete(keyText);
    else this.#rows.set(keyText, row);
    if (before === undefined && row === null) return;
    this.onChange({
      keyText,
      key: decodeKey(keyText),
      before: before === undefined ? null : JSON.parse(before.json),
      after: row === null ? null : JSON.parse(row.json),
      isSwept,
    });
  }
}
