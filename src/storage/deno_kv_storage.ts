/**
 * The storage port on Deno KV, for Deno Deploy; on a disk SQLite is faster. KV's own `expireIn` only says when KV may
 * begin to forget, so it is not used: expiry is checked on every read.
 */
import { parseStoredJson, StorageFault } from "../lib/system_fault.ts";
import {
  type Batch,
  createIfAbsent,
  defaultBusyTimeoutMs,
  encodeKeyToRead,
  listRange,
  type Storage,
  type StorageKey,
  type StoredEntry,
} from "./port.ts";
import { prepareBatch, type PreparedBatch, type PreparedPut } from "./prepare_batch.ts";
import { createKeyedWatches, isCounted, isWatchable, type KeyedWatches } from "./watches.ts";
import { UnusableError } from "../lib/result.ts";
import type { Clock } from "../lib/time.ts";

// * How values lie in Deno KV: bytes, which any version of Deno reads. KV writes every other value in a form of V8 that an
// older Deno cannot read, and the platform chooses its own. Earlier versions of Portcullis wrote such values; they are
// read where the runtime can.

const unreadable = "Deno KV holds a record that a newer version of Deno wrote, in a form that this one cannot read";
const unreadableRemedy =
  "run the Deno that wrote it, or a newer one; this version of Portcullis writes no more of them";

/** The value as bytes: JSON in UTF-8. */
function encodeValue(value: unknown): Uint8Array {
  return new Uint8Array(Buffer.from(JSON.stringify(value)));
}

/** A stored value, and one that an earlier version wrote, which is as it was. */
function decodeValue<T>(stored: unknown): T {
  return (stored instanceof Uint8Array ? JSON.parse(Buffer.from(stored).toString()) : stored) as T;
}

/** Runs `step`, and rejects with a {@link StorageFault} where this runtime cannot read what another one wrote. */
async function whenReadable<T>(step: () => Promise<T>): Promise<T> {
  try {
    return await step();
  } catch (error) {
    // It has no code, and no name of its own.
    if (!(error instanceof RangeError) || !error.message.includes("could not deserialize value")) throw error;
    throw new StorageFault(unreadable, unreadableRemedy, { cause: error });
  }
}

// * How entries lie in Deno KV. Native keys sort as the port promises. A record is bytes: its head as a line of JSON, then
// the value, which is JSON too. A value that is too large for KV (65,536 bytes) lies in chunks under an id of its own, written with the entry and never changed, so a reader either
// finds them all or has an entry that was just replaced. Chunks of an entry that is gone lie there until the next sweep.

const chunkBytes = 60_000; // 65,536 less the head; at most 9 a value, so one getMany() reads them
const newline = 10;

/** What the key `["entry", ...key]` holds. */
interface KvRecord {
  readonly expiresAt: number | null;
  readonly content: Uint8Array | LargeContent;
}

/** Says where the chunks are. */
interface LargeContent {
  readonly id: string;
  readonly chunks: number;
}

/** What the key `["large", id]` holds, for sweep() to find chunks that no entry refers to any more. */
interface LargeIndexRecord {
  readonly key: StorageKey;
  readonly chunks: number;
}

function encodeRecord({ expiresAt, content }: KvRecord): Uint8Array {
  const isSmall = content instanceof Uint8Array;
  const head = JSON.stringify({ expiresAt, ...isSmall ? {} : { large: content } });
  return new Uint8Array(Buffer.concat([Buffer.from(`${head}\n`), isSmall ? content : new Uint8Array()]));
}

/** A record as it was written, by this version or an earlier one; `null` for an absent one. */
export function decodeRecord(stored: unknown): KvRecord | null {
  if (stored === null) return null;
  if (!(stored instanceof Uint8Array)) return stored as KvRecord;
  const endOfHead = stored.indexOf(newline);
  const { expiresAt, large } = decodeValue<{ readonly expiresAt: number | null; readonly large?: LargeContent }>(
    stored.subarray(0, endOfHead),
  );
  return { expiresAt, content: large ?? stored.subarray(endOfHead + 1) };
}

const kvKeys = {
  schema: ["schema"],
  /** Counts commits. */
  change: ["change"],
  /** The last changes of watchable entries. */
  announced: ["announced"],
  entry: (key: StorageKey): Deno.KvKey => ["entry", ...key],
  chunk: (id: string, at: number): Deno.KvKey => ["chunk", id, at],
  large: (id: string): Deno.KvKey => ["large", id],
  /** Finds expired entries; holds the entry's key. */
  expiry: (expiresAt: number, id: string): Deno.KvKey => ["expiry", expiresAt, id],
} as const;

/** Adds a put, with its chunks and index records, to an operation. */
function addPut(operation: Deno.AtomicOperation, { key, json, expiresAt }: PreparedPut): void {
  const bytes = Buffer.from(json);
  const id = crypto.randomUUID();
  if (expiresAt !== null) operation.set(kvKeys.expiry(expiresAt, id), encodeValue(key));
  const chunks = Math.ceil(bytes.byteLength / chunkBytes);
  if (chunks === 1) {
    operation.set(kvKeys.entry(key), encodeRecord({ expiresAt, content: bytes }));
    return;
  }
  operation.set(kvKeys.entry(key), encodeRecord({ expiresAt, content: { id, chunks } }));
  operation.set(kvKeys.large(id), encodeValue({ key, chunks } satisfies LargeIndexRecord));
  for (let at = 0; at < chunks; at++) {
    operation.set(kvKeys.chunk(id, at), new Uint8Array(bytes.subarray(at * chunkBytes, (at + 1) * chunkBytes)));
  }
}

function addChunkRemoval(operation: Deno.AtomicOperation, { id, chunks }: LargeContent): void {
  operation.delete(kvKeys.large(id));
  for (let at = 0; at < chunks; at++) operation.delete(kvKeys.chunk(id, at));
}

/** The JSON of a record's value, or `null` when its chunks are gone: the entry was replaced since it was read. */
export async function readContent(kv: Deno.Kv, content: Uint8Array | LargeContent): Promise<string | null> {
  if (content instanceof Uint8Array) return Buffer.from(content).toString();
  const keys = Array.from({ length: content.chunks }, (_, at) => kvKeys.chunk(content.id, at));
  const pieces = await kv.getMany<Uint8Array[]>(keys);
  const found = pieces.flatMap(({ value }) => value === null ? [] : [value]);
  return found.length === content.chunks ? Buffer.concat(found).toString() : null;
}

/** Whether the record can still be read at `now`. */
export function isLive(record: KvRecord | null, now: number): record is KvRecord {
  return record !== null && (record.expiresAt === null || record.expiresAt > now);
}

// * Which watchable entries changed: one value with the last of them, written in the operation of the change itself and
// checked, so that its numbers have no gaps. Who has missed more than it holds is told that anything may have changed.
// KV's own `watch()` is no help: of a file it tells only of changes in the same process.

const keptKeys = 50; // of at most 1,024 bytes: together below KV's 65,536 bytes a value

interface Announcements {
  /** How many there have ever been. */
  readonly count: number;
  /** The last ones, as text. */
  readonly keys: readonly string[];
}

const none: Announcements = { count: 0, keys: [] };

/** As lines, the number first: keys as text hold no line break. */
function encodeAnnouncements({ count, keys }: Announcements): Uint8Array {
  return new Uint8Array(Buffer.from([count, ...keys].join("\n")));
}

/** What was announced, by this version or an earlier one. */
function decodeAnnouncements(stored: unknown): Announcements {
  if (!(stored instanceof Uint8Array)) return stored as Announcements | null ?? none;
  const [count, ...keys] = Buffer.from(stored).toString().split("\n");
  return { count: Number(count), keys };
}

/** Adds the announcement of changed entries to their operation. It fails when another announces something meanwhile. */
async function announce(
  kv: Deno.Kv,
  operation: Deno.AtomicOperation,
  entries: readonly { readonly key: StorageKey; readonly keyText: string }[],
): Promise<void> {
  const changed = entries.filter(({ key }) => isWatchable(key)).map(({ keyText }) => keyText);
  if (changed.length === 0) return;
  const { value, versionstamp } = await kv.get(kvKeys.announced);
  const before = decodeAnnouncements(value);
  const keys = [...before.keys, ...changed].slice(-keptKeys);
  operation.check({ key: kvKeys.announced, versionstamp });
  operation.set(kvKeys.announced, encodeAnnouncements({ count: before.count + changed.length, keys }));
}

/** Tells `watches` of what is announced, until the returned function is called. At first, anything may have changed. */
function followDenoKv(
  kv: Deno.Kv,
  intervalMs: number,
  { tell, tellAll }: Pick<KeyedWatches, "tell" | "tellAll">,
): () => void {
  let seen: number | null = null;
  let stopped = false;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const read = async (): Promise<Announcements | null> => {
    try {
      return decodeAnnouncements((await kv.get(kvKeys.announced)).value);
    } catch {
      return null; // the way to KV is lost: the next look begins where this one did
    }
  };
  const look = async (): Promise<void> => {
    const found = await read();
    if (stopped) return;
    lookLater();
    if (found === null || found.count === seen) return;
    const { count, keys } = found;
    const missed = seen === null ? Infinity : count - seen;
    seen = count;
    if (missed > keys.length || missed < 0) return tellAll();
    for (const key of new Set(keys.slice(-missed))) tell(key);
  };
  const lookLater = (): void => void (timer = setTimeout(look, intervalMs));
  void look();
  return () => {
    stopped = true;
    clearTimeout(timer);
  };
}

// Waiting for a KV file that another opening, in this process or another, is writing: KV itself does not wait.

/** {@link whenUnlocked} with its time-out given. */
type Unlocked = <T>(step: () => Promise<T>) => Promise<T>;

const mostMs = 20;

/** Runs `step` again while the file is locked: nothing was written then. */
async function whenUnlocked<T>(timeoutMs: number, step: () => Promise<T>): Promise<T> {
  const end = performance.now() + timeoutMs;
  for (let attempt = 1;; attempt++) {
    try {
      return await step();
    } catch (error) {
      const isLocked = error instanceof Error && error.message.includes("database is locked"); // it has no code
      if (!isLocked || performance.now() > end) throw error;
      await new Promise((resolve) => setTimeout(resolve, Math.min(attempt, mostMs)));
    }
  }
}

// sweep() for Deno KV: by the index records, so that live entries are not read.

const expiredAtOnce = 10; // one getMany(), one commit

interface Expired {
  readonly index: Deno.KvKey;
  readonly key: StorageKey;
}

/** Deletes the entries that had expired at `now` and says how many; then the chunks that no entry refers to. */
async function sweepDenoKv(kv: Deno.Kv, now: number, unlocked: Unlocked): Promise<number> {
  let total = 0;
  let group: Expired[] = [];
  // An index record holds the key of an entry that was written with this expiry; it may have been written anew since.
  const selector = { start: ["expiry"], end: ["expiry", now, true] };
  for await (const { key: index, value } of kv.list(selector)) {
    group.push({ index, key: decodeValue<StorageKey>(value) });
    if (group.length < expiredAtOnce) continue;
    total += await removeExpired(kv, group, now, unlocked);
    group = [];
  }
  total += await removeExpired(kv, group, now, unlocked);
  for await (const { key: [, id], value } of kv.list({ prefix: ["large"] })) {
    const { key, chunks } = decodeValue<LargeIndexRecord>(value);
    const record = decodeRecord((await kv.get(kvKeys.entry(key))).value);
    const isReferred = record !== null && !(record.content instanceof Uint8Array) && record.content.id === id;
    if (isReferred) continue;
    const operation = kv.atomic();
    addChunkRemoval(operation, { id: String(id), chunks });
    await unlocked(() => operation.commit());
  }
  return total;
}

async function removeExpired(
  kv: Deno.Kv,
  group: readonly Expired[],
  now: number,
  unlocked: Unlocked,
): Promise<number> {
  if (group.length === 0) return 0;
  const found = await kv.getMany<unknown[]>(group.map(({ key }) => kvKeys.entry(key)));
  const operation = kv.atomic();
  const expired = new Set<string>(); // several index records may name one entry
  for (const { key, value, versionstamp } of found) {
    const record = decodeRecord(value);
    if (record === null || isLive(record, now)) continue;
    operation.check({ key, versionstamp }).delete(key);
    expired.add(JSON.stringify(key));
  }
  for (const { index } of group) operation.delete(index);
  if ((await unlocked(() => operation.commit())).ok) return expired.size;
  // One of them was written at the same moment: each on its own, and that one at the next sweep.
  if (group.length === 1) return 0;
  let total = 0;
  for (const each of group) total += await removeExpired(kv, [each], now, unlocked);
  return total;
}

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
