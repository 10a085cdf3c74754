/** The operations of the store-backed workspace that change files and directories. */
import { failure, success } from "../lib/result.ts";
import { checkNewNames } from "./new_names.ts";
import { childPath, type WorkspacePath } from "./path.ts";
import type { Outcome, WriteOptions, WrittenFile } from "./port.ts";
import { applyChange, type Change, putBelow } from "./store_change.ts";
import { dropGeneration, MissingChunk, readStorePieces, stageContent, type StagedContent } from "./store_content.ts";
import { findInStore, resolveInStore, type Store, type StorePlace } from "./store_context.ts";
import type { FileRecord, GoneRecord } from "./store_records.ts";
import { walkStore } from "./store_tree.ts";

const nothing = { checks: [], puts: [], deletes: [], memberships: [], addedBytes: 0, addedEntries: 0, gone: [] };
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
      const written = await putContent(store, path, [bytes], maxFileBytes, (current) => {
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
      both(),
      maxFileBytes,
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
): Promise<Outcome<WrittenFile>> {
  const { maxFileBytes } = store.limits;
  const check = (current: FileRecord | null): Outcome<null> =>
    current !== null && !overwrite ? failure({ reason: "already_exists" }) : success(null);
  const target = await findWritable(store, to);
  if (!target.ok) return target;
  const checked = check(target.value.entry);
  if (!checked.ok) return checked;
  const source = await findInStore(store, from);
  if (!source.ok) return source;
  if (source.value.kind === "directory") return failure({ reason: "is_directory" });
  const { sizeBytes } = source.value;
  if (sizeBytes > maxFileBytes) return failure({ reason: "too_large", sizeBytes, limitBytes: maxFileBytes });
  return await putContent(store, to, readStorePieces(store, source.value), maxFileBytes, check);
}

/** Makes the directory at `path` and its missing parents. */
export async function makeStoreDirectory(
  store: Store,
  path: WorkspacePath,
): Promise<Outcome<{ readonly created: boolean }>> {
  return await applyChange<{ readonly created: boolean }>(store, async () => {
    const place = await resolveInStore(store, path);
    if (!place.ok) return place;
    const { entry, existing, checks } = place.value;
    if (entry?.kind === "directory") return success({ ...nothing, value: { created: false } });
    if (entry !== null) return failure({ reason: "already_exists" });
    const { segments } = path;
    const named = checkNewNames(store.rules, segments, existing);
    if (!named.ok) return named;
    const directory = { kind: "directory", id: store.randomId(), modifiedAt: store.clock() } as const;
    const made = putBelow(store, place.value, segments, directory);
    return success({ ...nothing, ...made, checks, addedEntries: made.puts.length, value: { created: true } });
  });
}

/** Moves the entry at `from` to `to`. */
export async function moveStoreEntry(
  store: Store,
  from: WorkspacePath,
  to: WorkspacePath,
  { overwrite = false }: { readonly overwrite?: boolean } = {},
): Promise<Outcome<null>> {
  return await applyChange(store, async () => {
    const source = await findMovable(store, from);
    if (!source.ok) return source;
    const { entry } = source.value;
    const target = await resolveInStore(store, to);
    if (!target.ok) return target;
    const { entry: replaced, existing } = target.value;
    const isBelow = from.segments.every((name, index) => to.segments[index] === name);
    if (isBelow && entry.kind === "directory" && to.segments.length > from.segments.length) {
      return failure({ reason: "into_itself" });
    }
    if (to.segments.length === 0) return failure({ reason: "is_root" });
    if (replaced !== null) {
      if (!overwrite) return failure({ reason: "already_exists" });
      if (replaced.kind === "directory") return failure({ reason: "is_directory" });
      if (entry.kind === "directory") return failure({ reason: "already_exists" });
      if (to.text === from.text) return success({ ...nothing, value: null });
    }
    const named = checkNewNames(store.rules, to.segments, existing);
    if (!named.ok) return named;
    const judged = await judgeAlike(store, entry.kind === "directory" ? entry.id : null, from, to);
    if (!judged.ok) return judged;
    const placed = replaced === null
      ? putBelow(store, target.value, to.segments, entry)
      : { puts: [{ key: keyOf(store, target.value, to), value: entry }], memberships: [] };
    return success({
      ...nothing,
      checks: [...source.value.checks, ...target.value.checks],
      puts: placed.puts,
      memberships: [...placed.memberships, source.value.directoryId],
      deletes: [keyOf(store, source.value, from)],
      addedBytes: replaced?.kind === "file" ? -replaced.sizeBytes : 0,
      addedEntries: placed.puts.length - 1 - (replaced === null ? 0 : 1),
      gone: replaced?.kind === "file" ? [toGone(replaced)] : [],
      value: null,
    });
  });
}

/** Deletes the entry at `path`, and with `recursive` what is in it. */
export async function removeStoreEntry(
  store: Store,
  path: WorkspacePath,
  { recursive = false }: { readonly recursive?: boolean } = {},
): Promise<Outcome<{ readonly entries: number }>> {
  const { maxTreeEntries } = store.limits;
  return await applyChange(store, async (): Promise<Outcome<Change<{ readonly entries: number }>>> => {
    const found = await findMovable(store, path);
    if (!found.ok) return found;
    const { entry, checks, directoryId } = found.value;
    const removal = {
      ...nothing,
      deletes: [keyOf(store, found.value, path)],
      memberships: [directoryId],
      addedEntries: -1,
    };
    if (entry.kind === "file") {
      const addedBytes = -entry.sizeBytes;
      return success({ ...removal, checks, addedBytes, gone: [toGone(entry)], value: { entries: 1 } });
    }
    // before the look inside: what is added after it changes the membership, and the batch fails
    const key = store.keys.membership(entry.id);
    const membership = { key, version: (await store.storage.get(key))?.version ?? null };
    let entries = 1;
    for await (const segments of walkStore(store, entry.id, path.segments)) {
      if (!recursive) return failure({ reason: "not_empty" });
      if (++entries > maxTreeEntries) return failure({ reason: "too_many_entries", limit: maxTreeEntries });
      if (store.rules.isDenied(segments)) return failure({ reason: "denied", because: "denied_name" });
      if (store.rules.isProtected(segments)) return failure({ reason: "denied", because: "protected_name" });
    }
    return success({
      ...removal,
      checks: [...checks, membership],
      gone: [[entry.id, { kind: "directory" }]],
      value: { entries },
    });
  });
}

/** The place of a file that is to be written. */
async function findWritable(
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

/** The place of an entry that is to be moved or deleted. */
async function findMovable(
  store: Store,
  path: WorkspacePath,
): Promise<Outcome<StorePlace & { readonly entry: NonNullable<StorePlace["entry"]> }>> {
  const place = await resolveInStore(store, path);
  if (!place.ok) return place;
  const { entry } = place.value;
  if (entry === null) return failure({ reason: "not_found" });
  if (path.segments.length === 0) return failure({ reason: "is_root" });
  if (store.rules.isProtected(path.segments)) return failure({ reason: "denied", because: "protected_name" });
  return success({ ...place.value, entry });
}

/** Puts a content at `path` if `check` allows it for what is there at that moment. */
async function putContent(
  store: Store,
  path: WorkspacePath,
  pieces: Iterable<Uint8Array> | AsyncIterable<Uint8Array>,
  maxBytes: number,
  check: (current: FileRecord | null) => Outcome<null>,
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
  const written = await applyChange(store, async (): Promise<Outcome<Change<WrittenFile>>> => {
    const place = await findWritable(store, path);
    if (!place.ok) return place;
    const { entry, checks } = place.value;
    const checked = check(entry);
    if (!checked.ok) return checked;
    const placed = entry === null
      ? putBelow(store, place.value, path.segments, record)
      : { puts: [{ key: keyOf(store, place.value, path), value: record }], memberships: [] };
    return success({
      checks,
      puts: [...puts, ...placed.puts],
      deletes: isStaged ? [store.keys.staged(record.generation)] : [],
      memberships: placed.memberships,
      addedBytes: record.sizeBytes - (entry?.sizeBytes ?? 0),
      addedEntries: entry === null ? placed.puts.length : 0,
      gone: entry === null ? [] : [toGone(entry)],
      value: { sizeBytes: record.sizeBytes, sha256: record.sha256, created: entry === null },
    });
  });
  if (!written.ok && isStaged) await dropGeneration(store, record.generation, record.chunkCount);
  return written;
}

/** See `judgeAlike` of the disk: a move must not put entries under other rules. */
async function judgeAlike(
  store: Store,
  directoryId: string | null,
  from: WorkspacePath,
  to: WorkspacePath,
): Promise<Outcome<null>> {
  if (directoryId === null || !store.rules.isPlaceDependent) return success(null);
  const { maxTreeEntries } = store.limits;
  let entries = 0;
  for await (const segments of walkStore(store, directoryId, from.segments)) {
    if (++entries > maxTreeEntries) return failure({ reason: "too_many_entries", limit: maxTreeEntries });
    const moved = childPath(to, segments.slice(from.segments.length)).segments;
    if (store.rules.isDenied(segments) !== store.rules.isDenied(moved)) {
      return failure({ reason: "denied", because: "denied_name" });
    }
    if (store.rules.isProtected(segments) !== store.rules.isProtected(moved)) {
      return failure({ reason: "denied", because: "protected_name" });
    }
  }
  return success(null);
}

function keyOf(store: Store, { directoryId }: StorePlace, path: WorkspacePath): ReturnType<Store["keys"]["entry"]> {
  return store.keys.entry(directoryId, path.segments.at(-1) ?? "");
}

function toGone({ generation, chunkCount }: FileRecord): readonly [string, GoneRecord] {
  return [generation, { kind: "file", chunkCount }];
}
