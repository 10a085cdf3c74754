/** Writes and copies files of the store-backed workspace. */
import { failure, success } from "../../lib/result.ts";
import { checkNewNames } from "../new_names.ts";
import type { WorkspacePath } from "../path.ts";
import { type Outcome, type PairOutcome, refusedAt, type WriteOptions, type WrittenFile } from "../port.ts";
import { applyChange, goneFile, keyAt, putBelow, requireRoom, type StoreChange } from "./change.ts";
import {
  dropGeneration,
  maxUnstagedBytes,
  MissingChunk,
  readStorePieces,
  stageContent,
  type StagedContent,
} from "./content.ts";
import { findInStore, resolveInStore, type Store, type StorePlace } from "./context.ts";
import type { FileRecord } from "./records.ts";

const maxAppendAttempts = 50;

/** Changes or creates the file at `path`, with the directories that lead to it. */
export async function writeStoreFile(
  store: Store,
  path: WorkspacePath,
  bytes: Uint8Array,
  { mode = "overwrite", ifMatch }: WriteOptions = {},
): Promise<Outcome<WrittenFile>> {
  const { maxWriteBytes, maxFileBytes } = store.limits;
  if (bytes.byteLength > maxWriteBytes) {
    return failure({ reason: "too_large", sizeBytes: bytes.byteLength, limitBytes: maxWriteBytes });
  }
  for (let attempt = 1;; attempt++) {
    const place = await findWritable(store, path);
    if (!place.ok) return place;
    const { entry } = place.value;
    if (mode !== "append" || entry === null) {
      const written = await putContent(store, path, { pieces: [bytes], sizeBytes: bytes.byteLength }, (current) => {
        if (mode === "create" && current !== null) return failure({ reason: "already_exists" });
        if (ifMatch !== undefined && current?.sha256 !== ifMatch.toLowerCase()) return failure({ reason: "conflict" });
        return mode === "append" && current !== null ? failure({ reason: "conflict" }) : success(null);
      });
      if (written.ok || mode !== "append" || ifMatch !== undefined || attempt === maxAppendAttempts) return written;
      if (written.error.reason !== "conflict") return written;
      continue;
    }
    const sizeBytes = entry.sizeBytes + bytes.byteLength;
    if (sizeBytes > maxFileBytes) return failure({ reason: "too_large", sizeBytes, limitBytes: maxFileBytes });
    if (ifMatch !== undefined && entry.sha256 !== ifMatch.toLowerCase()) return failure({ reason: "conflict" });
    const both = async function* (): AsyncGenerator<Uint8Array> {
      yield* readStorePieces(store, entry);
      yield bytes;
    };
    const written = await putContent(
      store,
      path,
      { pieces: both(), sizeBytes },
      (current) => current?.generation === entry.generation ? success(null) : failure({ reason: "conflict" }),
    );
    const isLost = !written.ok && written.error.reason === "conflict";
    if (!isLost || ifMatch !== undefined || attempt === maxAppendAttempts) return written;
  }
}

/** Copies the file at `from` to `to`. */
export async function copyStoreFile(
  store: Store,
  from: WorkspacePath,
  to: WorkspacePath,
  { overwrite = false }: { readonly overwrite?: boolean } = {},
): Promise<PairOutcome<WrittenFile>> {
  const { maxFileBytes } = store.limits;
  const check = (current: FileRecord | null): Outcome<null> =>
    current !== null && !overwrite ? failure({ reason: "already_exists" }) : success(null);
  const target = await findWritable(store, to);
  if (!target.ok) return refusedAt("to", target);
  const checked = check(target.value.entry);
  if (!checked.ok) return refusedAt("to", checked);
  const source = await findInStore(store, from);
  if (!source.ok) return refusedAt("from", source);
  if (source.value.kind === "directory") return refusedAt("from", failure({ reason: "is_directory" }));
  const { sizeBytes } = source.value;
  if (sizeBytes > maxFileBytes) {
    return refusedAt("from", failure({ reason: "too_large", sizeBytes, limitBytes: maxFileBytes }));
  }
  const copied = await putContent(store, to, { pieces: readStorePieces(store, source.value), sizeBytes }, check);
  return refusedAt(!copied.ok && copied.error.reason === "conflict" ? "both" : "to", copied);
}

/** The place of a file that is to be written. */
export async function findWritable(
  store: Store,
  path: WorkspacePath,
): Promise<Outcome<StorePlace & { readonly entry: FileRecord | null }>> {
  const place = await resolveInStore(store, path);
  if (!place.ok) return place;
  const { entry, existing } = place.value;
  if (entry?.kind === "directory") return failure({ reason: "is_directory" });
  const named = checkNewNames(store.rules, path.segments, existing);
  return named.ok ? success({ ...place.value, entry }) : named;
}

/**
 * Puts a content at `path` if `check` allows it. Of large ones, which lie outside the quota until they have their entry,
 * there is one at a time, and only where the quota leaves it room.
 */
async function putContent(
  store: Store,
  path: WorkspacePath,
  content: NewContent,
  check: (current: FileRecord | null) => Outcome<null>,
): Promise<Outcome<WrittenFile>> {
  if (content.sizeBytes <= maxUnstagedBytes) return await stageAndPut(store, path, content, check);
  return await store.changes.run("staging", async () => {
    const place = await findWritable(store, path);
    if (!place.ok) return place;
    const room = await requireRoom(store, content.sizeBytes - (place.value.entry?.sizeBytes ?? 0));
    return room.ok ? await stageAndPut(store, path, content, check) : room;
  });
}

interface NewContent {
  readonly pieces: Iterable<Uint8Array> | AsyncIterable<Uint8Array>;
  readonly sizeBytes: number;
}

/** Puts a content at `path` if `check` allows it for what is there at that moment. */
export async function stageAndPut(
  store: Store,
  path: WorkspacePath,
  { pieces }: Pick<NewContent, "pieces">,
  check: (current: FileRecord | null) => Outcome<null>,
  maxBytes: number = store.limits.maxFileBytes,
): Promise<Outcome<WrittenFile>> {
  let staged: StagedContent | null;
  try {
    staged = await stageContent(store, pieces, maxBytes);
  } catch (error) {
    if (error instanceof MissingChunk) return failure({ reason: "conflict" });
    throw error;
  }
  if (staged === null) return failure({ reason: "too_large", sizeBytes: maxBytes + 1, limitBytes: maxBytes });
  const { record, puts, isStaged } = staged;
  const written = await applyChange(store, async (): Promise<Outcome<StoreChange<WrittenFile>>> => {
    const place = await findWritable(store, path);
    if (!place.ok) return place;
    const { entry, checks } = place.value;
    const checked = check(entry);
    if (!checked.ok) return checked;
    const placed = entry === null
      ? putBelow(store, place.value, path.segments, record)
      : { puts: [{ key: keyAt(store, place.value, path), value: record }], memberships: [] };
    return success({
      checks,
      puts: [...puts, ...placed.puts],
      deletes: isStaged ? [store.keys.staged(record.generation)] : [],
      told: { paths: [path], isListChanged: entry === null },
      memberships: placed.memberships,
      addedBytes: record.sizeBytes - (entry?.sizeBytes ?? 0),
      addedEntries: entry === null ? placed.puts.length : 0,
      gone: entry === null ? [] : [goneFile(entry)],
      value: { sizeBytes: record.sizeBytes, sha256: record.sha256, created: entry === null },
    });
  });
  if (!written.ok && isStaged) await dropGeneration(store, record.generation, record.chunkCount);
  return written;
}
