/** File contents in the store: chunks under a generation that is never changed once an entry points to it. */
import * as z from "zod";
import { createDigest } from "../../lib/secrets.ts";
import { parseStored } from "../../lib/system_fault.ts";
import type { FileRecord, Store } from "./store.ts";
import type { Put } from "../../storage/mod.ts";

/** Bytes in a chunk. */
const chunkBytes = 45_000;
/** With keys and base64 below the bytes of one batch (`storageLimits`). */
const chunksPerBatch = 8;

function parseChunk(value: unknown): Uint8Array {
  return Buffer.from(parseStored(z.string(), value, "workspace chunk"), "base64");
}

function toChunk(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64");
}

/** The file's bytes in pieces. Throws when the content is gone. */
export async function* readStorePieces(
  store: Store,
  file: Pick<FileRecord, "generation" | "chunkCount">,
): AsyncGenerator<Uint8Array> {
  for (let index = 0; index < file.chunkCount; index++) {
    const stored = await store.storage.get(store.keys.chunk(file.generation, index));
    if (stored === null) throw new MissingChunk();
    yield parseChunk(stored.value);
  }
}

/** Thrown by {@link readStorePieces}: the file was replaced or deleted meanwhile. */
export class MissingChunk extends Error {}

/** Deletes a generation's chunks, and then what lists them. */
export async function dropGeneration(store: Store, generation: string, chunkCount: number): Promise<void> {
  for (let start = 0; start < chunkCount; start += 100) {
    const count = Math.min(100, chunkCount - start);
    const deletes = Array.from({ length: count }, (_, index) => store.keys.chunk(generation, start + index));
    await store.storage.commit({ deletes });
  }
  await store.storage.commit({ deletes: [store.keys.staged(generation), store.keys.gone(generation)] });
}

/** The bytes, or `null` when the content is gone. */
export async function readRange(
  store: Store,
  file: FileRecord,
  offset: number,
  length: number,
): Promise<Uint8Array | null> {
  const bytes = new Uint8Array(length);
  const first = Math.floor(offset / chunkBytes);
  const last = length === 0 ? first - 1 : Math.floor((offset + length - 1) / chunkBytes);
  for (let start = first; start <= last; start += chunksPerBatch) {
    const indexes = Array.from({ length: Math.min(chunksPerBatch, last - start + 1) }, (_, index) => start + index);
    const chunks = await Promise.all(
      indexes.map((index) => store.storage.get(store.keys.chunk(file.generation, index))),
    );
    for (const [position, stored] of chunks.entries()) {
      if (stored === null) return null;
      const chunkStart = (start + position) * chunkBytes;
      const chunk = parseChunk(stored.value);
      const from = Math.max(0, offset - chunkStart);
      const part = chunk.subarray(from, Math.min(chunk.byteLength, offset + length - chunkStart));
      bytes.set(part, chunkStart + from - offset);
    }
  }
  return bytes;
}

// Contents on their way into the store: what does not fit into one batch with the entry is stored before it.

/** Contents of more bytes are stored before their entry. */
export const maxUnstagedBytes: number = (chunksPerBatch - 1) * chunkBytes;

/** Stages a content as it comes. */
export function createContentStaging(store: Store) {
  const { storage, keys, clock } = store;
  const generation = store.randomId();
  const digest = createDigest();
  const pending: Put[] = [];
  let sizeBytes = 0;
  let chunk = new Uint8Array(chunkBytes);
  let filled = 0;
  let chunkCount = 0;
  let isStaged = false;

  const putChunk = (): void => {
    pending.push({ key: keys.chunk(generation, chunkCount), value: toChunk(chunk.subarray(0, filled)) });
    chunkCount += 1;
    chunk = new Uint8Array(chunkBytes);
    filled = 0;
  };
  return {
    get sizeBytes() {
      return sizeBytes;
    },
    /** Stores what fills a batch. */
    async add(piece: Uint8Array): Promise<void> {
      digest.update(piece);
      sizeBytes += piece.byteLength;
      for (let offset = 0; offset < piece.byteLength;) {
        const part = piece.subarray(offset, offset + chunkBytes - filled);
        chunk.set(part, filled);
        filled += part.byteLength;
        offset += part.byteLength;
        if (filled < chunkBytes) continue;
        putChunk();
        if (pending.length < chunksPerBatch) continue;
        // the list of what is staged comes first, so that a crash leaves nothing that the sweeper does not find
        await storage.commit({ puts: [{ key: keys.staged(generation), value: { chunkCount, since: clock() } }] });
        isStaged = true;
        await storage.commit({ puts: pending.splice(0) });
      }
    },
    finish() {
      if (filled > 0) putChunk();
      const sha256 = digest.digest("hex");
      const record: FileRecord = { kind: "file", generation, chunkCount, sizeBytes, sha256, modifiedAt: clock() };
      /** `puts` go into the same batch as the entry, as does the deletion of what listed the chunks that are stored. */
      return { record, puts: pending, deletes: isStaged ? [keys.staged(generation)] : [] };
    },
    async drop(): Promise<void> {
      if (isStaged) await dropGeneration(store, generation, chunkCount + 1);
    },
  };
}
