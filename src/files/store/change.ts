/**
 * Changes of the store-backed workspace: each is one batch that checks everything it relied on, so that of two changes
 * that exclude each other one is tried again. Contents that are no longer pointed to are swept right after, or by a
 * later start.
 */
import { pagesBelow } from "../../lib/stored_entries.ts";
import type { Batch, Put, StorageKey, VersionCheck } from "../../storage/mod.ts";
import { dropGeneration } from "./content.ts";
import {
  type EntryRecord,
  type FileRecord,
  type GoneRecord,
  parseEntry,
  parseGone,
  parseStaged,
  parseUsage,
  type Store,
  type StorePlace,
} from "./store.ts";
import { failure, success } from "../../lib/result.ts";
import type { ChangeStep, Kept } from "../workspace/change.ts";
import type { WorkspacePath } from "../workspace/path.ts";
import type { Outcome, WorkspaceLimits } from "../workspace/port.ts";
import { announceChange, type ToldChange } from "./watch.ts";

// Deletes what nothing in the store-backed workspace points to any more.

const sweepPage = 100;
const stagedLifetimeMilliseconds = 60 * 60 * 1000; // longer than any write takes

/** What to sweep when nothing points to the file any more. */
export function goneFile({ generation, chunkCount }: FileRecord): readonly [string, GoneRecord] {
  return [generation, { kind: "file", chunkCount }];
}

/** Sweeps everything that crashes have left. */
export async function sweepStore(store: Store): Promise<void> {
  const { storage, keys, clock } = store;
  const all = (prefix: StorageKey) => pagesBelow(storage, prefix, { limit: sweepPage });
  for await (const gone of all(keys.allGone)) {
    for (const { key, value } of gone) await sweepGone(store, key[key.length - 1] ?? "", parseGone(value));
  }
  for await (const dropped of all(keys.allDropped)) {
    for (const { key, value } of dropped) await sweepDropped(store, key[key.length - 1] ?? "", parseGone(value));
  }
  for await (const staged of all(keys.allStaged)) {
    for (const { key, value } of staged) {
      const { chunkCount, since } = parseStaged(value);
      if (clock() - since > stagedLifetimeMilliseconds) {
        await dropGeneration(store, key[key.length - 1] ?? "", chunkCount);
      }
    }
  }
}

/** Deletes what a record lists. For a directory: page by page, what is in it, and then the record. */
async function sweepGone(store: Store, id: string, record: GoneRecord): Promise<void> {
  if (record.kind === "file") return await dropGeneration(store, id, record.chunkCount);
  const { storage, keys } = store;
  for (;;) {
    const entries = await storage.list(keys.entriesOf(id), { limit: sweepPage });
    if (entries.length === 0) break;
    for (const { key, value, version } of entries) await sweepEntry(store, key, parseEntry(value), version);
  }
  await storage.commit({ deletes: [keys.membership(id), keys.gone(id)] });
}

/** Deletes what the trash has dropped, which the usage does not count. */
export async function sweepDropped(store: Store, id: string, record: GoneRecord): Promise<void> {
  const { storage, keys } = store;
  if (record.kind === "file") {
    await dropGeneration(store, id, record.chunkCount);
  } else {
    for (;;) {
      const entries = await storage.list(keys.entriesOf(id), { limit: sweepPage });
      if (entries.length === 0) break;
      for (const { key, value } of entries) {
        const [below, gone] = goneOf(parseEntry(value));
        await storage.commit({ puts: [{ key: keys.dropped(below), value: gone }], deletes: [key] });
        await sweepDropped(store, below, gone);
      }
    }
    await storage.commit({ deletes: [keys.membership(id)] });
  }
  await storage.commit({ deletes: [keys.dropped(id)] });
}

/** What to sweep when nothing points to the entry any more. */
export function goneOf(entry: EntryRecord): readonly [string, GoneRecord] {
  return entry.kind === "file" ? goneFile(entry) : [entry.id, { kind: "directory" }];
}

async function sweepEntry(
  store: Store,
  key: StorageKey,
  entry: EntryRecord,
  version: string,
): Promise<void> {
  const { storage, keys } = store;
  const [id, gone] = goneOf(entry);
  for (;;) {
    const usage = await storage.get(keys.usage);
    const used = parseUsage(usage?.value);
    const bytes = used.bytes - (entry.kind === "file" ? entry.sizeBytes : 0);
    const isSwept = await storage.commit({
      checks: [
        { key, version },
        { key: keys.usage, version: usage?.version ?? null },
      ],
      puts: [{ key: keys.usage, value: { bytes, entries: used.entries - 1 } }, { key: keys.gone(id), value: gone }],
      deletes: [key],
    });
    if (isSwept) break;
    if (await storage.get(key) === null) return; // another process swept it
  }
  await sweepGone(store, id, gone);
}

/** A change that is ready to be applied. */
export interface StoreChange<T> {
  readonly checks: readonly VersionCheck[];
  readonly puts: readonly Put[];
  readonly deletes: readonly StorageKey[];
  /** What those who watch are told. */
  readonly told: ToldChange;
  /** Directories that get or lose an entry. */
  readonly memberships: readonly string[];
  readonly addedBytes: number;
  readonly addedEntries: number;
  /** What nothing points to any more after the change, by its id. */
  readonly gone: readonly (readonly [string, GoneRecord])[];
  /** What the change's record is to say; what the step keeps is then kept, and not gone. Absent: nothing is done. */
  readonly step?: { readonly step: ChangeStep; readonly entry: EntryRecord | null };
  readonly value: T;
}

const maxAttempts = 50;

/** Plans and applies a change; plans again when something it relied on has changed. */
export async function applyChange<T>(
  store: Store,
  plan: () => Promise<Outcome<StoreChange<T>>>,
): Promise<Outcome<T>> {
  const number = store.change?.next() ?? 0;
  return await store.changes.run("", async () => {
    for (let attempt = 1; attempt <= maxAttempts; attempt++) {
      const planned = await plan();
      if (!planned.ok) return planned;
      const change = withRecord(store, planned.value, number);
      const batch = await toBatch(store, change);
      if (!batch.ok) return batch;
      if (planned.value.step !== undefined) store.change?.begin();
      if (await store.storage.commit(batch.value)) {
        if (planned.value.step !== undefined) store.change?.made(keptBytes(planned.value.step.step));
        for (const [id, record] of change.gone) await sweepGone(store, id, record);
        return success(planned.value.value);
      }
    }
    return failure({ reason: "conflict" });
  });
}

/** With the step in the change's record, and what the step keeps no longer gone. */
function withRecord<T>(store: Store, change: StoreChange<T>, number: number): StoreChange<T> {
  const { change: recorded, keys, clock } = store;
  if (recorded === null || change.step === undefined) return change;
  const { step, entry } = change.step;
  const isKept = "kept" in step && step.kept !== null;
  return {
    ...change,
    puts: [
      ...change.puts,
      ...recorded.isNew ? [{ key: keys.change(recorded.id), value: { at: clock(), by: recorded.by } }] : [],
      { key: keys.step(recorded.id, number), value: { number, step, entry: isKept ? entry : null } },
    ],
    gone: isKept ? [] : change.gone,
  };
}

/** What a step keeps of files. */
export function keptBytes(step: ChangeStep): number {
  return "kept" in step ? step.kept?.sizeBytes ?? 0 : 0;
}

/** What the trash keeps of an entry; `null` where it is too large. */
export function storedKeptOf({ change, trash }: Store, entry: EntryRecord, tree?: TreeSize): Kept | null {
  const size = tree ?? { entries: 1, sizeBytes: entry.kind === "file" ? entry.sizeBytes : 0 };
  return change === null || trash === null || size.sizeBytes > trash.maxBytes ? null : { kind: entry.kind, ...size };
}

/** How large a directory is with all that is in it. */
interface TreeSize {
  readonly entries: number;
  readonly sizeBytes: number;
}

/** What tells an entry from every other, wherever it is moved. */
export function storedIdentityOf(entry: EntryRecord): string {
  return entry.kind === "file" ? entry.generation : entry.id;
}

/** Records for the directories that are missing on the way to a new entry, which is the last of `names`. */
export function putBelow(
  store: Store,
  { directoryId, existing }: StorePlace,
  segments: readonly string[],
  entry: EntryRecord,
): { readonly puts: readonly Put[]; readonly memberships: readonly string[] } {
  const puts: Put[] = [];
  const names = segments.slice(existing);
  let parent = directoryId;
  for (const [index, name] of names.entries()) {
    const isLast = index === names.length - 1;
    const record: EntryRecord = isLast ? entry : { kind: "directory", id: store.randomId(), modifiedAt: store.clock() };
    puts.push({ key: store.keys.entry(parent, name), value: record });
    if (record.kind === "directory") parent = record.id;
  }
  return { puts, memberships: [directoryId] };
}

/** The key of the last name of `path`, whose directory is there. */
export function keyAt(store: Store, { directoryId }: StorePlace, path: WorkspacePath): StorageKey {
  return store.keys.entry(directoryId, path.segments.at(-1) ?? "");
}

/** Refuses a content of which the quota leaves no room: asked before it is staged, where it is large. */
export async function requireRoom(store: Store, addedBytes: number): Promise<Outcome<null>> {
  const used = parseUsage((await store.storage.get(store.keys.usage))?.value);
  return bytesFit(store.limits, used.bytes + addedBytes, addedBytes);
}

function bytesFit({ maxTotalBytes }: WorkspaceLimits, bytes: number, addedBytes: number): Outcome<null> {
  return maxTotalBytes !== null && addedBytes > 0 && bytes > maxTotalBytes
    ? failure({ reason: "quota", limit: maxTotalBytes, unit: "bytes" })
    : success(null);
}

async function toBatch<T>(store: Store, change: StoreChange<T>): Promise<Outcome<Batch>> {
  const { storage, keys, limits } = store;
  const usage = await storage.get(keys.usage);
  const used = parseUsage(usage?.value);
  const after = { bytes: used.bytes + change.addedBytes, entries: used.entries + change.addedEntries };
  const fits = bytesFit(limits, after.bytes, change.addedBytes);
  if (!fits.ok) return fits;
  if (limits.maxFiles !== null && change.addedEntries > 0 && after.entries > limits.maxFiles) {
    return failure({ reason: "quota", limit: limits.maxFiles, unit: "files" });
  }
  const announced = change.told.paths.length > 0
    ? [await announceChange({ ...store, now: store.clock() }, change.told)]
    : [];
  return success({
    checks: [...change.checks, { key: keys.usage, version: usage?.version ?? null }],
    puts: [
      ...change.puts,
      { key: keys.usage, value: after },
      ...[...new Set(change.memberships)].map((id) => ({ key: keys.membership(id), value: true })),
      ...change.gone.map(([id, record]) => ({ key: keys.gone(id), value: record })),
      ...announced,
    ],
    deletes: change.deletes,
  });
}
