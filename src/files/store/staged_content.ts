/** Contents on their way into the store: what does not fit into one batch with the entry is stored before it. */
import { createDigest } from "../../lib/content_digest.ts";
import type { Put, StorageKey, VersionCheck } from "../../storage/port.ts";
import { dropGeneration, readStorePieces } from "./content.ts";
import type { Store } from "./context.ts";
import { chunkBytes, chunksPerBatch, type DraftRecord, type FileRecord, parseChunk, parseDraft, toChunk } from "./records.ts";

/** A content that is written, or ready to be written with its entry. */
export interface StagedContent {
  readonly record: FileRecord;
  /** Chunks that go into the same batch as the entry. */
  readonly puts: readonly Put[];
  /** That the draft is still this one's. */
  readonly checks: readonly VersionCheck[];
  /** What listed the chunks that are stored already. */
  readonly deletes: readonly StorageKey[];
}

export interface ContentStaging {
  readonly sizeBytes: number;
  /** Stores what fills a batch; `false` when another goes on with the draft. */
  add(piece: Uint8Array): Promise<boolean>;
  finish(): Promise<StagedContent>;
  /** Stores all that was added, for a later request; `false` when another goes on with the draft. */
  keep(): Promise<boolean>;
  drop(): Promise<void>;
}

/** Contents of more bytes are stored before their entry. */
export const maxUnstagedBytes: number = (chunksPerBatch - 1) * chunkBytes;

/**
 * Stages all of the content. `null` when it has more than `maxBytes`. What was stored is gone again then, and where the
 * content throws.
 */
export async function stageContent(
  store: Store,
  pieces: Iterable<Uint8Array> | AsyncIterable<Uint8Array>,
  maxBytes: number,
): Promise<StagedContent | null> {
  const staging = createContentStaging(store);
  let isWhole = false;
  try {
    for await (const piece of pieces) {
      if (staging.sizeBytes + piece.byteLength > maxBytes) return null;
      await staging.add(piece);
    }
    isWhole = true;
    return await staging.finish();
  } finally {
    if (!isWhole) await staging.drop();
  }
}

/** A draft as it was found, and the id of the one who goes on with it. */
export interface FoundDraft {
  readonly key: StorageKey;
  readonly holder: string;
  /** `null` when there is none. */
  readonly version: string | null;
  readonly record: DraftRecord | null;
}

/** Takes over a draft, so that others who write it end; `null` where another was first. */
export async function takeDraft(store: Store, found: FoundDraft): Promise<ContentStaging | null> {
  const { key, record, holder } = found;
  if (record === null) return createContentStaging(store, found, null);
  const version = await putDraft(store, found.version, key, { ...record, holder });
  if (version === null) return null;
  const tail = record.sizeBytes % chunkBytes;
  const index = Math.floor(record.sizeBytes / chunkBytes);
  const stored = tail === 0 ? null : await store.storage.get(store.keys.chunk(record.generation, index));
  if (tail > 0 && stored === null) return null;
  const last = stored === null ? new Uint8Array() : parseChunk(stored.value).subarray(0, tail);
  return createContentStaging(store, { ...found, version }, last);
}

/** The version of the stored draft; `null` where another was first. */
async function putDraft(
  { storage }: Store,
  version: string | null,
  key: StorageKey,
  record: DraftRecord,
  puts: readonly Put[] = [],
): Promise<string | null> {
  if (!await storage.commit({ checks: [{ key, version }], puts: [...puts, { key, value: record }] })) return null;
  const stored = await storage.get(key);
  return stored !== null && parseDraft(stored.value).holder === record.holder ? stored.version : null;
}

export function createContentStaging(store: Store, draft?: FoundDraft, last: Uint8Array | null = null): ContentStaging {
  const { storage, keys, clock } = store;
  const generation = draft?.record?.generation ?? store.randomId();
  let sizeBytes = draft?.record?.sizeBytes ?? 0;
  const digest = sizeBytes === 0 ? createDigest() : null;
  const pending: Put[] = [];
  let chunk = new Uint8Array(chunkBytes);
  let filled = last?.byteLength ?? 0;
  if (last !== null) chunk.set(last);
  let chunkCount = (sizeBytes - filled) / chunkBytes;
  let isStaged = sizeBytes > 0;
  let version = draft?.version ?? null;

  const putChunk = (): Put => ({
    key: keys.chunk(generation, chunkCount),
    value: toChunk(chunk.subarray(0, filled)),
  });
  const save = async (puts: readonly Put[], savedBytes: number): Promise<boolean> => {
    // the list of what is staged comes first, so that a crash leaves nothing that the sweeper does not find
    const count = Math.ceil(savedBytes / chunkBytes);
    await storage.commit({ puts: [{ key: keys.staged(generation), value: { chunkCount: count, since: clock() } }] });
    isStaged = true;
    if (draft === undefined) return await storage.commit({ puts });
    const record = { generation, sizeBytes: savedBytes, since: clock(), holder: draft.holder };
    const saved = await putDraft(store, version, draft.key, record, puts);
    version = saved ?? version;
    return saved !== null;
  };
  const saveAll = (): Promise<boolean> => save([...pending.splice(0), ...filled === 0 ? [] : [putChunk()]], sizeBytes);
  return {
    get sizeBytes() {
      return sizeBytes;
    },
    async add(piece) {
      digest?.update(piece);
      sizeBytes += piece.byteLength;
      for (let offset = 0; offset < piece.byteLength;) {
        const part = piece.subarray(offset, offset + chunkBytes - filled);
        chunk.set(part, filled);
        filled += part.byteLength;
        offset += part.byteLength;
        if (filled < chunkBytes) continue;
        pending.push(putChunk());
        chunkCount += 1;
        chunk = new Uint8Array(chunkBytes);
        filled = 0;
        if (pending.length < chunksPerBatch) continue;
        if (!await save(pending.splice(0), chunkCount * chunkBytes)) return false;
      }
      return true;
    },
    async finish() {
      if (digest === null) await saveAll();
      const count = chunkCount + (filled > 0 ? 1 : 0);
      const sha256 = digest?.digest("hex") ?? await digestOf(store, generation, count);
      const puts = digest === null || filled === 0 ? pending : [...pending, putChunk()];
      return {
        record: { kind: "file", generation, chunkCount: count, sizeBytes, sha256, modifiedAt: clock() },
        puts,
        checks: draft === undefined ? [] : [{ key: draft.key, version }],
        deletes: [...isStaged ? [keys.staged(generation)] : [], ...draft === undefined ? [] : [draft.key]],
      };
    },
    keep: saveAll,
    async drop() {
      if (draft !== undefined && version !== null) {
        const isOurs = await storage.commit({ checks: [{ key: draft.key, version }], deletes: [draft.key] });
        if (!isOurs) return;
      }
      if (isStaged) await dropGeneration(store, generation, chunkCount + 1);
    },
  };
}

async function digestOf(store: Store, generation: string, chunkCount: number): Promise<string> {
  const digest = createDigest();
  for await (const piece of readStorePieces(store, { generation, chunkCount })) digest.update(piece);
  return digest.digest("hex");
}
