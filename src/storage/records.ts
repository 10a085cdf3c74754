/**
 * How entries lie in Deno KV. Native keys sort as the port promises. A record is bytes: its head as a line of JSON, then
 * the value, which is JSON too. A value that is too large for KV (65,536 bytes) lies in chunks under an id of its own, written with the entry and never changed, so a reader either
 * finds them all or has an entry that was just replaced. Chunks of an entry that is gone lie there until the next sweep.
 */
import { decodeValue, encodeValue } from "./values.ts";
import type { StorageKey } from "./port.ts";
import type { PreparedPut } from "./prepare_batch.ts";

const chunkBytes = 60_000; // 65,536 less the head; at most 9 a value, so one getMany() reads them
const newline = 10;

/** What the key `["entry", ...key]` holds. */
export interface KvRecord {
  readonly expiresAt: number | null;
  readonly content: Uint8Array | LargeContent;
}

/** Says where the chunks are. */
interface LargeContent {
  readonly id: string;
  readonly chunks: number;
}

/** What the key `["large", id]` holds, for sweep() to find chunks that no entry refers to any more. */
export interface LargeIndexRecord {
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

export const kvKeys = {
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
export function addPut(operation: Deno.AtomicOperation, { key, json, expiresAt }: PreparedPut): void {
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

export function addChunkRemoval(operation: Deno.AtomicOperation, { id, chunks }: LargeContent): void {
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
