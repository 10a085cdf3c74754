/** File contents in the store: chunks under a generation that is never changed once an entry points to it. */
import { digestOf } from "../../lib/content_digest.ts";
import { failure, success } from "../../lib/result.ts";
import type { WorkspacePath } from "../workspace/path.ts";
import type { ByteRange, FileContent, Outcome, ReadPart } from "../workspace/port.ts";
import { findInStore, type Store } from "./context.ts";
import { chunkBytes, chunksPerBatch, type FileRecord, parseChunk } from "./records.ts";

const maxReadAttempts = 5;

/** The content of the file at `path`, or the part of it that `range` asks for. */
export async function readStoreFile(
  store: Store,
  path: WorkspacePath,
  range?: ByteRange,
  known?: FileContent,
): Promise<Outcome<FileContent>> {
  for (let attempt = 1;; attempt++) {
    const found = await findInStore(store, path);
    if (!found.ok) return found;
    if (found.value.kind === "directory") return failure({ reason: "is_directory" });
    const file = found.value;
    const { sizeBytes, sha256, generation: version, modifiedAt } = file;
    const { maxReadBytes } = store.limits;
    if (range === undefined && sizeBytes > maxReadBytes) {
      return failure({ reason: "too_large", sizeBytes, limitBytes: maxReadBytes });
    }
    const offset = Math.min(range?.offsetBytes ?? 0, sizeBytes);
    const length = Math.min(range?.lengthBytes ?? sizeBytes, maxReadBytes, sizeBytes - offset);
    const bytes = await readRange(store, file, offset, length);
    const isWhole = length === sizeBytes;
    if (bytes !== null && (!isWhole || digestOf(bytes) === sha256)) {
      if (isWhole && known?.sha256 === sha256 && known.modifiedAt === modifiedAt) return success(known);
      return success({ bytes, sizeBytes, sha256: isWhole ? sha256 : null, version, modifiedAt });
    }
    // replaced while it was read: the entry points to the new content by now
    if (attempt === maxReadAttempts) return failure({ reason: "io", code: "EIO" });
  }
}

/** Reads from `offsetBytes` of the file at `path` into `buffer`. */
export async function readStoreFileInto(
  store: Store,
  path: WorkspacePath,
  buffer: Uint8Array,
  offsetBytes: number,
): Promise<Outcome<ReadPart>> {
  const read = await readStoreFile(store, path, { offsetBytes, lengthBytes: buffer.byteLength });
  if (!read.ok) return read;
  const { bytes, sizeBytes } = read.value;
  buffer.set(bytes);
  return success({ lengthBytes: bytes.byteLength, sizeBytes });
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
