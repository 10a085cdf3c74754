/** A family of stored records: one key prefix, one schema that everything read is parsed with. */
import type * as z from "zod";
import { pagesBelow } from "../../lib/stored_entries.ts";
import { parseStored } from "../../lib/storage_fault.ts";
import type { Put, Storage, StorageKey, StoredEntry, VersionCheck } from "../../storage/port.ts";

/** A record as it was read, with the version that a later commit may insist on. */
export interface Stored<T> {
  readonly key: StorageKey;
  readonly value: T;
  readonly version: string;
}

/** Typed access to the entries below one prefix. Reading throws when an entry does not fit its schema. */
interface RecordFamily<T> {
  key(...id: [string, ...string[]]): StorageKey;
  read(storage: Storage, ...id: [string, ...string[]]): Promise<Stored<T> | null>;
  /** The records below `id`, or of the whole family, in key order; those `after` a key. */
  list(
    storage: Storage,
    options: { readonly limit: number; readonly below?: readonly string[]; readonly after?: StorageKey },
  ): Promise<Stored<T>[]>;
  /** All records below `id`, or of the whole family, page by page. */
  all(storage: Storage, ...below: string[]): AsyncGenerator<Stored<T>>;
  put(id: string | readonly [string, ...string[]], value: T, expiresAt?: number): Put;
}

/** Describes a family by its key prefix and schema. */
export function defineRecordFamily<Schema extends z.ZodType>(
  name: string,
  schema: Schema,
): RecordFamily<z.output<Schema>> {
  const parse = (entry: StoredEntry): Stored<z.output<Schema>> => ({
    key: entry.key,
    value: parseStored(schema, entry.value, name),
    version: entry.version,
  });
  return {
    key: (...id) => [name, ...id],
    async read(storage, ...id) {
      const entry = await storage.get([name, ...id]);
      return entry === null ? null : parse(entry);
    },
    async list(storage, { below = [], ...range }) {
      return (await storage.list([name, ...below], range)).map(parse);
    },
    async *all(storage, ...below) {
      for await (const page of pagesBelow(storage, [name, ...below])) yield* page.map(parse);
    },
    put(id, value, expiresAt) {
      const key: StorageKey = typeof id === "string" ? [name, id] : [name, ...id];
      return expiresAt === undefined ? { key, value } : { key, value, expiresAt };
    },
  };
}

/** The condition that a record is still as it was read. */
export function unchanged(stored: Stored<unknown>): VersionCheck {
  return { key: stored.key, version: stored.version };
}

/** What an attempt returns when its commit lost the race. */
export const conflict: unique symbol = Symbol("conflict");

const maxAttempts = 50;

/** Repeats `attempt` until it gives anything but {@link conflict}; throws when the contention never ends. */
export async function retryOnConflict<T>(attempt: () => Promise<T | typeof conflict>): Promise<T> {
  for (let count = 0; count < maxAttempts; count++) {
    const outcome = await attempt();
    if (outcome !== conflict) return outcome as T;
  }
  throw new Error(`Storage contention: ${maxAttempts} attempts of one change were overtaken`);
}
