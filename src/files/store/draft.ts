/**
 * Contents of the store-backed workspace that arrive in pieces. A draft is a staged generation with an entry of its own,
 * which says how much of it is there.
 */
import { failure, success } from "../../lib/result.ts";
import { sha256Of } from "../../lib/sha256.ts";
import type { StorageKey, StoredEntry } from "../../storage/mod.ts";
import { type ArrivingContent, maxArriving, placeContent, type ReceiveOptions } from "../workspace/change.ts";
import type { WorkspacePath } from "../workspace/path.ts";
import type { Draft, DraftOptions, Outcome, WrittenFile } from "../workspace/port.ts";
import { requireRoom } from "./change.ts";
import { type ContentStaging, createContentStaging, dropGeneration, type FoundDraft, takeDraft } from "./content.ts";
import type { Store } from "./context.ts";
import { chunkBytes, type FileRecord, parseDraft } from "./records.ts";
import { findWritable, putStaged } from "./write.ts";

/** So much may arrive before the quota is looked at again. */
const bytesBetweenLooks = 1024 * 1024;

/** Changes or creates the file at `path` once all of `content` is there. */
export async function receiveStoreFile(
  store: Store,
  path: WorkspacePath,
  content: ArrivingContent,
  options: ReceiveOptions = {},
): Promise<Outcome<WrittenFile>> {
  const target = await findTarget(store, path, options);
  if (!target.ok) return target;
  const draft = createDraft(store, path, createContentStaging(store), { ...target.value, name: null, idleBytes: 0 });
  return await placeContent(draft, content);
}

/** Opens the draft of a new content, taking it over from another who has it open; `null` where another was first. */
export async function openStoreDraft(
  store: Store,
  path: WorkspacePath,
  { id, isNew, ...options }: DraftOptions,
): Promise<Outcome<Draft | null>> {
  const target = await findTarget(store, path, options);
  if (!target.ok) return target;
  const name = sha256Of(id).toHex();
  const sizes = await sweepStoreDrafts(store, store.clock());
  let idleBytes = 0;
  for (const [each, bytes] of sizes) if (each !== name && !store.arriving.drafts.has(each)) idleBytes += bytes;
  const key = store.keys.draft(name);
  const stored = await store.storage.get(key);
  if (stored !== null && isNew && !await dropDraft(store, stored)) return success(null);
  const found = isNew ? null : stored;
  const draft: FoundDraft = {
    key,
    holder: store.randomId(),
    version: found?.version ?? null,
    record: found === null ? null : parseDraft(found.value),
  };
  const staging = await takeDraft(store, draft);
  return success(staging && createDraft(store, path, staging, { ...target.value, name, idleBytes }));
}

/**
 * Drops the drafts for which nothing has come for too long, and where there are too many the oldest. Gives the sizes of
 * the others.
 */
export async function sweepStoreDrafts(store: Store, now: number): Promise<ReadonlyMap<string, number>> {
  const { draftKeepMs, maxDrafts } = store.limits;
  const all = await store.storage.list(store.keys.allDrafts, { limit: 2 * maxDrafts });
  const newestFirst = all.map((stored) => ({ stored, draft: parseDraft(stored.value) }))
    .sort((one, other) => other.draft.since - one.draft.since);
  const kept = new Map<string, number>();
  for (const { stored, draft } of newestFirst) {
    const isWanted = draft.since + draftKeepMs > now && kept.size < maxDrafts;
    if (isWanted || !await dropDraft(store, stored)) kept.set(lastOf(stored.key), draft.sizeBytes);
  }
  return kept;
}

function lastOf(key: StorageKey): string {
  return key.at(-1) ?? "";
}

/** Drops a draft as it was found; `false` where another went on with it. */
async function dropDraft(store: Store, { key, version, value }: StoredEntry): Promise<boolean> {
  const { generation, sizeBytes } = parseDraft(value);
  if (!await store.storage.commit({ checks: [{ key, version }], deletes: [key] })) return false;
  await dropGeneration(store, generation, Math.ceil(sizeBytes / chunkBytes));
  return true;
}

/** What a draft is to take the place of. */
interface Target {
  readonly replacedBytes: number;
  check(current: FileRecord | null): Outcome<null>;
}

async function findTarget(
  store: Store,
  path: WorkspacePath,
  { mode, ifMatch }: ReceiveOptions,
): Promise<Outcome<Target>> {
  const place = await findWritable(store, path);
  if (!place.ok) return place;
  const { entry } = place.value;
  const check: Target["check"] = (current) => {
    if (mode === "create" && current !== null) return failure({ reason: "already_exists" });
    const isOther = ifMatch !== undefined && current?.sha256 !== ifMatch.toLowerCase();
    return isOther ? failure({ reason: "conflict" }) : success(null);
  };
  const checked = check(entry); // before a byte is taken
  return checked.ok ? success({ check, replacedBytes: entry?.sizeBytes ?? 0 }) : checked;
}

function createDraft(
  store: Store,
  path: WorkspacePath,
  staging: ContentStaging,
  { name, idleBytes, replacedBytes, check }: Target & { readonly name: string | null; readonly idleBytes: number },
): Draft {
  const { arriving } = store;
  const limitBytes = maxArriving(store.limits);
  let countedBytes = staging.sizeBytes;
  let seenBytes = 0;
  let isOver = false;
  arriving.bytes += countedBytes;
  if (name !== null) arriving.drafts.add(name);
  const end = async (leave: () => Promise<unknown>): Promise<void> => {
    if (isOver) return;
    isOver = true;
    arriving.bytes -= countedBytes;
    if (name !== null) arriving.drafts.delete(name);
    await leave();
  };
  return {
    get sizeBytes() {
      return staging.sizeBytes;
    },
    async append(piece) {
      const bytes = staging.sizeBytes + piece.byteLength;
      if (bytes > limitBytes) return failure({ reason: "too_large", sizeBytes: bytes, limitBytes });
      arriving.bytes += piece.byteLength;
      countedBytes += piece.byteLength;
      if (bytes >= seenBytes) {
        seenBytes = bytes + bytesBetweenLooks;
        const room = await requireRoom(store, arriving.bytes + idleBytes - replacedBytes);
        if (!room.ok) return room;
      }
      return await staging.add(piece) ? success(null) : failure({ reason: "conflict" });
    },
    async save() {
      return await staging.keep() ? success(null) : failure({ reason: "conflict" });
    },
    async place() {
      const placed = await putStaged(store, path, await staging.finish(), check);
      if (placed.ok) await end(() => Promise.resolve());
      return placed;
    },
    close: () => end(staging.keep),
    discard: () => end(staging.drop),
  };
}
