/** Contents of files of the store-backed workspace, which are chunks in the storage: written, copied and read in part. */
import * as z from "zod";
import { failure, success } from "../../lib/result.ts";
import { checkNewNames } from "../workspace/access_rules.ts";
import type { WorkspacePath } from "../workspace/path.ts";
import { type Outcome, refusedAt, type Workspace, type WriteOptions, type WrittenFile } from "../workspace/port.ts";
import { beginningOf, type Left, maxArriving, type Passage } from "../workspace/change.ts";
import {
  applyChange,
  dropGeneration,
  findInStore,
  keptOf,
  putBelow,
  requireRoom,
  resolveInStore,
  sizeOf,
  untilMade,
} from "./store.ts";
import type { FileRecord, Store, StoreChange, StorePlace } from "./store.ts";
import { createDigest } from "../../lib/secrets.ts";
import { parseStored } from "../../lib/system_fault.ts";
import type { Put } from "../../storage/mod.ts";

/** A content that is written, or ready to be written with its entry. */
type StagedContent = ReturnType<ReturnType<typeof createContentStaging>["finish"]>;

/** The operations of the port that make a content a file's. */
export function writingOf(store: Store): Pick<Workspace, "write" | "receive" | "copy"> {
  return {
    async write(path, bytes, { mode = "overwrite", ifMatch, passages } = {}) {
      const { maxWriteBytes, maxFileBytes } = store.limits;
      if (bytes.byteLength > maxWriteBytes) {
        return failure({ reason: "too_large", sizeBytes: bytes.byteLength, limitBytes: maxWriteBytes });
      }
      const put = async (own: Store): Promise<Outcome<WrittenFile> | null> => {
        const place = await findWritable(own, path);
        if (!place.ok) return place;
        const before = mode === "append" ? place.value.entry : null;
        const sizeBytes = sizeOf(before) + bytes.byteLength;
        if (sizeBytes > maxFileBytes) return failure({ reason: "too_large", sizeBytes, limitBytes: maxFileBytes });
        const check: Check = (current) => {
          const isOther = mode === "append" && current?.generation !== before?.generation;
          return isOther ? failure({ reason: "conflict" }) : checkCurrent(current, mode, ifMatch);
        };
        const checked = check(place.value.entry);
        if (!checked.ok) return checked;
        const pieces = async function* (): AsyncGenerator<Uint8Array> {
          if (before !== null) yield* readStorePieces(own, before);
          yield bytes;
        };
        const content = { pieces: pieces(), check, isExtended: before !== null, passages };
        const written = await putContent(own, path, sizeBytes, content);
        const isLost = !written.ok && written.error.reason === "conflict" && mode === "append" && ifMatch === undefined;
        return isLost ? null : written;
      };
      return mode === "append"
        ? await store.changes.run(`append ${path.text}`, () => untilMade(store, put)) // each reads what the others left
        : await untilMade(store, put);
    },
    async receive(path, content, { mode, ifMatch } = {}) {
      const check: Check = (current) => checkCurrent(current, mode, ifMatch);
      const place = await findWritable(store, path, check); // before a byte is taken
      if (!place.ok) return place;
      const replacedBytes = sizeOf(place.value.entry);
      const { arriving } = store;
      let arrivedBytes = 0;
      const admit = async (pieceBytes: number): Promise<Outcome<null>> => {
        arriving.bytes += pieceBytes;
        arrivedBytes += pieceBytes;
        return await requireRoom(store, arriving.bytes - replacedBytes);
      };
      try {
        return await stageAndPut(store, path, { pieces: content, check, limitBytes: maxArriving(store.limits), admit });
      } finally {
        arriving.bytes -= arrivedBytes;
      }
    },
    async copy(from, to, { overwrite = false } = {}) {
      const { maxFileBytes } = store.limits;
      const check: Check = (current) => checkCurrent(current, overwrite ? "overwrite" : "create");
      const target = await findWritable(store, to, check);
      if (!target.ok) return refusedAt("to", target);
      const source = await findInStore(store, from);
      if (!source.ok) return refusedAt("from", source);
      if (source.value.kind === "directory") return refusedAt("from", failure({ reason: "is_directory" }));
      const { sizeBytes } = source.value;
      if (sizeBytes > maxFileBytes) {
        return refusedAt("from", failure({ reason: "too_large", sizeBytes, limitBytes: maxFileBytes }));
      }
      const copied = await putContent(store, to, sizeBytes, { pieces: readStorePieces(store, source.value), check });
      return refusedAt(!copied.ok && copied.error.reason === "conflict" ? "both" : "to", copied);
    },
  };
}

/** Says whether a content may be put in the place of this file, or of none. */
type Check = (current: FileRecord | null) => Outcome<null>;

/** What `create` and `ifMatch` refuse of what is there. */
function checkCurrent(current: FileRecord | null, mode: WriteOptions["mode"], ifMatch?: string): Outcome<null> {
  if (mode === "create" && current !== null) return failure({ reason: "already_exists" });
  const isOther = ifMatch !== undefined && current?.sha256 !== ifMatch.toLowerCase();
  return isOther ? failure({ reason: "conflict" }) : success(null);
}

/** The place of a file that is to be written. */
async function findWritable(
  store: Store,
  path: WorkspacePath,
  check: Check = () => success(null),
): Promise<Outcome<StorePlace & { readonly entry: FileRecord | null }>> {
  const place = await resolveInStore(store, path);
  if (!place.ok) return place;
  const { entry, existing } = place.value;
  if (entry?.kind === "directory") return failure({ reason: "is_directory" });
  const named = checkNewNames(store.rules, path.segments, existing);
  const allowed = named.ok ? check(entry) : named;
  return allowed.ok ? success({ ...place.value, entry }) : allowed;
}

/**
 * Puts a content at `path` if `check` allows it. Of large ones, which lie outside the quota until they have their entry,
 * there is one at a time, and only where the quota leaves it room.
 */
async function putContent(
  store: Store,
  path: WorkspacePath,
  sizeBytes: number,
  content: NewContent,
): Promise<Outcome<WrittenFile>> {
  if (sizeBytes <= maxUnstagedBytes) return await stageAndPut(store, path, content);
  return await store.changes.run("staging", async () => {
    const place = await findWritable(store, path);
    if (!place.ok) return place;
    const room = await requireRoom(store, sizeBytes - sizeOf(place.value.entry));
    return room.ok ? await stageAndPut(store, path, content) : room;
  });
}

interface NewContent {
  readonly pieces: Iterable<Uint8Array> | AsyncIterable<Uint8Array>;
  readonly check: Check;
  /** Default `maxFileBytes`. */
  readonly limitBytes?: number;
  /** Asked before a piece is staged. */
  readonly admit?: (pieceBytes: number) => Promise<Outcome<null>>;
  /** Whether the old content is its beginning. */
  readonly isExtended?: boolean;
  readonly passages?: readonly Passage[] | undefined;
}

/** Leaves only the beginning of the file at `path`, if that is as it was left. */
export async function cutStoreFile(
  store: Store,
  path: WorkspacePath,
  sizeBytes: number,
  { sha256 }: Left,
): Promise<Outcome<unknown>> {
  const found = await findInStore(store, path);
  if (!found.ok) return found;
  const file = found.value;
  if (file.kind !== "file" || file.sha256 !== sha256) return failure({ reason: "conflict" });
  const check: Check = (current) =>
    current?.generation === file.generation ? success(null) : failure({ reason: "conflict" });
  const pieces = beginningOf(readStorePieces(store, file), sizeBytes);
  return await putContent(store, path, sizeBytes, { pieces, check });
}

/** Puts a content at `path` if it is allowed for what is there at that moment. */
async function stageAndPut(store: Store, path: WorkspacePath, content: NewContent): Promise<Outcome<WrittenFile>> {
  const { pieces, limitBytes = store.limits.maxFileBytes, admit } = content;
  const staging = createContentStaging(store);
  let isLeft = false;
  try {
    for await (const piece of pieces) {
      const sizeBytes = staging.sizeBytes + piece.byteLength;
      if (sizeBytes > limitBytes) return failure({ reason: "too_large", sizeBytes, limitBytes });
      const room = await admit?.(piece.byteLength);
      if (room?.ok === false) return room;
      await staging.add(piece);
    }
    isLeft = true; // a storage that fails from here on may have put it in place: a later start sweeps what it has not
    const staged = staging.finish();
    const written = await applyChange(store, () => planPut(store, path, staged, content));
    isLeft = written.ok;
    if (written.ok) store.change?.leftAt.set(path.text, staged.record.generation);
    return written;
  } catch (error) {
    if (error instanceof MissingChunk) return failure({ reason: "conflict" });
    throw error;
  } finally {
    if (!isLeft) await staging.drop();
  }
}

/** The change that puts a staged content at `path`. */
async function planPut(
  store: Store,
  path: WorkspacePath,
  { record, puts, deletes }: StagedContent,
  { check, isExtended = false, passages }: NewContent,
): Promise<Outcome<StoreChange<WrittenFile>>> {
  const place = await findWritable(store, path, check);
  if (!place.ok) return place;
  const { entry } = place.value;
  const placed = putBelow(store, place.value, path.segments, record);
  const isOwn = entry !== null && store.change?.leftAt.get(path.text) === entry.generation;
  return success({
    puts: [...puts, ...placed],
    deletes,
    addedBytes: record.sizeBytes - sizeOf(entry),
    gone: entry,
    step: {
      op: "put",
      path: path.text,
      kind: "file",
      made: placed.length - 1,
      created: entry === null,
      kept: entry === null || isOwn || isExtended ? null : keptOf(store, entry),
      left: { sha256: record.sha256 },
      ...isOwn ? { again: true } : {},
      ...entry !== null && isExtended ? { sizeBefore: entry.sizeBytes } : {},
      ...passages === undefined ? {} : { passages: [...passages] },
    },
    value: { sizeBytes: record.sizeBytes, sha256: record.sha256, created: entry === null },
  });
}

// * File contents in the store: chunks under a generation that is never changed once an entry points to it.

/** Bytes in a chunk. */
const chunkBytes = 45_000;
/** With keys and base64 below the bytes of one batch (`storageLimits`). */
const chunksPerBatch = 8;

function parseChunk(value: unknown): Uint8Array {
  return Buffer.from(parseStored(z.string(), value, "workspace chunk"), "base64");
}

/** The file's bytes in pieces. Throws when the content is gone. */
async function* readStorePieces(
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
class MissingChunk extends Error {}

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
const maxUnstagedBytes: number = (chunksPerBatch - 1) * chunkBytes;

/** Stages a content as it comes. */
function createContentStaging(store: Store) {
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
    pending.push({ key: keys.chunk(generation, chunkCount), value: chunk.subarray(0, filled).toBase64() });
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
