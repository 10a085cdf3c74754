/**
 * The storage port on Deno KV, for Deno Deploy; on a disk SQLite is faster. KV's own `expireIn` only says when KV may
 * begin to forget, so it is not used: expiry is checked on every read.
 */
import { UnusableError } from "../lib/problem.ts";
import type { Clock } from "../lib/clock.ts";
import { parseStoredJson } from "../lib/storage_fault.ts";
import { createIfAbsent } from "./create_if_absent.ts";
import { announce, followDenoKv } from "./announcements.ts";
import { addPut, decodeRecord, isLive, kvKeys, type KvRecord, readContent } from "./records.ts";
import { type Unlocked, whenUnlocked } from "./locked.ts";
import { sweepDenoKv } from "./sweep.ts";
import { decodeValue, encodeValue, whenReadable } from "./values.ts";
import { encodeKeyToRead } from "./key_text.ts";
import { defaultBusyTimeoutMs } from "./limits.ts";
import { createKeyedWatches } from "./keyed_watches.ts";
import { listRange } from "./list_range.ts";
import type { Batch, Storage, StorageKey, StoredEntry } from "./port.ts";
import { isCounted } from "./watched_families.ts";
import { prepareBatch, type PreparedBatch } from "./prepare_batch.ts";

const schemaVersion = 2; // 1 had values in a form of V8; it is read, and its records stay until they change
const keysAtOnce = 10; // KV's limit of one getMany()
const pageSize = 100; // KV takes up to 500, but an entry may have 60 kB

export interface DenoKvStorageOptions {
  /** The address of a remote database, or a file (in tests); without it the platform's own. */
  readonly path?: string | undefined;
  readonly clock: Clock;
  /** How long an operation waits for a file that another opening is writing. */
  readonly busyTimeoutMs?: number;
  /** How often a watch polls. Default 200 ms for a file, 1 s for the platform's KV. */
  readonly watchIntervalMs?: number;
}

/** Opens the database. Rejects with {@link UnusableError} when that cannot be. */
export async function openDenoKvStorage(options: DenoKvStorageOptions): Promise<Storage> {
  const { path, clock, busyTimeoutMs = defaultBusyTimeoutMs } = options;
  const unlocked: Unlocked = (step) => whenUnlocked(busyTimeoutMs, step);
  const { watchIntervalMs = path === undefined ? 1_000 : 200 } = options;
  const kv = await openKv(path, unlocked);
  const watches = createKeyedWatches(() => followDenoKv(kv, watchIntervalMs, watches));
  const read = async (key: StorageKey): Promise<StoredEntry | null> => {
    for (;;) {
      const { value, versionstamp } = await kv.get(kvKeys.entry(key));
      const record = decodeRecord(value);
      if (!isLive(record, clock()) || versionstamp === null) return null;
      const json = await readContent(kv, record.content);
      // Chunks go only after their entry: look again.
      if (json === null) continue;
      return { key, value: parseStoredJson(json), version: versionstamp };
    }
  };
  const apply = async (batch: PreparedBatch): Promise<boolean> => {
    for (;;) {
      const found = await readMany(kv, batch.checks.map(({ key }) => key));
      const now = clock();
      const holds = batch.checks.every(({ version }, at) => {
        const entry = found[at];
        return (entry !== undefined && isLive(entry.record, now) ? entry.versionstamp : null) === version;
      });
      if (!holds) return false;
      const writes = batch.puts.length + batch.deletes.length;
      if (writes === 0) return true;
      // An entry that counts as absent because it has expired is checked by the version it still has.
      const operation = kv.atomic().check(...found.map(({ key, versionstamp }) => ({ key, versionstamp })));
      for (const put of batch.puts) addPut(operation, put);
      for (const { key } of batch.deletes) operation.delete(kvKeys.entry(key));
      const written = [...batch.puts, ...batch.deletes];
      if (written.some(({ key }) => isCounted(key))) operation.sum(kvKeys.change, 1n);
      await announce(kv, operation, written);
      if ((await unlocked(() => operation.commit())).ok) return true;
    }
  };
  const list: Storage["list"] = async (prefix, options) => {
    const range = listRange(prefix, options);
    if (range === null) return [];
    const selector = {
      start: [...kvKeys.entry(range.startKey), new Uint8Array()], // sorts after the key, before all below it
      end: [...kvKeys.entry(prefix), true], // sorts after every text
    };
    const entries: StoredEntry[] = [];
    const batchSize = Math.min(options.limit, pageSize);
    for await (const found of kv.list(selector, { batchSize })) {
      const record = decodeRecord(found.value);
      if (!isLive(record, clock())) continue;
      const key = toStorageKey(found.key);
      const json = await readContent(kv, record.content);
      const entry = json === null ? await read(key) : { value: parseStoredJson(json), version: found.versionstamp };
      if (entry !== null) entries.push({ key, value: entry.value, version: entry.version });
      if (entries.length === options.limit) break;
    }
    return entries;
  };
  return {
    get: async (key) => encodeKeyToRead(key) === null ? null : await whenReadable(() => read(key)),
    list: (prefix, options) => whenReadable(() => list(prefix, options)),
    async commit(batch: Batch) {
      const prepared = prepareBatch(batch);
      return !prepared.impossible && await whenReadable(() => apply(prepared));
    },
    async consume(key) {
      const keyText = encodeKeyToRead(key);
      if (keyText === null) return null;
      for (;;) {
        const found = await whenReadable(() => read(key));
        if (found === null) return null;
        const entry = kvKeys.entry(key);
        const operation = kv.atomic().check({ key: entry, versionstamp: found.version }).delete(entry);
        operation.sum(kvKeys.change, 1n);
        await announce(kv, operation, [{ key, keyText }]);
        if ((await unlocked(() => operation.commit())).ok) return found;
      }
    },
    async changeCount() {
      return Number((await kv.get<Deno.KvU64>(kvKeys.change)).value?.value ?? 0n);
    },
    sweep: (now) => whenReadable(() => sweepDenoKv(kv, now, unlocked)),
    watch: watches.watch,
    close() {
      watches.close();
      return Promise.resolve(kv.close());
    },
  };
}

interface FoundRecord {
  readonly key: Deno.KvKey;
  readonly versionstamp: string | null;
  readonly record: KvRecord | null;
}

async function readMany(kv: Deno.Kv, keys: readonly StorageKey[]): Promise<FoundRecord[]> {
  const found: FoundRecord[] = [];
  for (let at = 0; at < keys.length; at += keysAtOnce) {
    const entries = await kv.getMany<unknown[]>(keys.slice(at, at + keysAtOnce).map(kvKeys.entry));
    found.push(...entries.map(({ key, versionstamp, value }) => ({ key, versionstamp, record: decodeRecord(value) })));
  }
  return found;
}

function toStorageKey(key: Deno.KvKey): StorageKey {
  const [, first, ...rest] = key.map(String);
  if (first === undefined) throw new TypeError("An entry's key has at least one part");
  return [first, ...rest];
}

async function openKv(path: string | undefined, unlocked: Unlocked): Promise<Deno.Kv> {
  const name = path ?? "Deno KV";
  // Absent from this build or run: the type says otherwise.
  if (typeof Deno.openKv !== "function") {
    throw new UnusableError("Deno KV is not switched on", "run Deno with --unstable-kv");
  }
  let kv: Deno.Kv | undefined;
  try {
    // For its owner alone; KV gives its side files the same mode.
    if (path !== undefined && !/^https?:/.test(path)) createIfAbsent(path);
    const opened = kv = await unlocked(() => Deno.openKv(path));
    const { value, versionstamp } = await whenReadable(() => opened.get(kvKeys.schema));
    const found = decodeValue<number | null>(value);
    if (found !== null && found > schemaVersion) {
      throw new UnusableError(
        `${name} was written by a newer version of Portcullis (schema ${found})`,
        "upgrade this one",
      );
    }
    if (found !== schemaVersion) {
      const operation = opened.atomic().check({ key: kvKeys.schema, versionstamp })
        .set(kvKeys.schema, encodeValue(schemaVersion));
      await unlocked(() => operation.commit());
    }
    return opened;
  } catch (error) {
    kv?.close();
    if (error instanceof UnusableError) throw error;
    const why = error instanceof Error ? error.message : "unknown error";
    throw new UnusableError(`${name} cannot be opened: ${why}`, "check the path in DATABASE_URL", {
      cause: error,
    });
  }
}
