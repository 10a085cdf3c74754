/**
 * Changes of the store-backed workspace. Each is planned on what is stored, then one batch that checks the usage, which
 * every change writes: of two changes in any processes that meet, one is planned again. Contents that are no longer
 * pointed to are swept right after, or by a later start.
 */
import * as z from "zod";
import { failure, success } from "../../lib/result.ts";
import { parseStored } from "../../lib/system_fault.ts";
import { pagesBelow } from "../../lib/stored_entries.ts";
import { nextTurn } from "../../lib/turns.ts";
import { pause } from "../../lib/time.ts";
import type { Batch, Put, StorageKey, StoredEntry, VersionCheck } from "../../storage/mod.ts";
import { type ChangeStep, type Kept, keptBytes } from "../workspace/change.ts";
import type { Outcome } from "../workspace/port.ts";
import { type EntryRecord, parseEntry, type RecordedChange, type Store, type StorePlace } from "./store.ts";

/** A change that is ready to be applied; one without a step has nothing to do. */
export interface StoreChange<T> {
  /** Of what changes without the usage: steps of earlier changes. */
  readonly checks?: readonly VersionCheck[];
  readonly puts?: readonly Put[];
  readonly deletes?: readonly StorageKey[];
  readonly addedBytes?: number;
  /** What nothing in the tree points to any more after the change. */
  readonly gone?: EntryRecord | null;
  /** What the change's record is to say; it may keep what is gone. */
  readonly step?: ChangeStep;
  readonly value: T;
}

const maxAttempts = 50;
/** A change that was overtaken so often keeps those of other processes waiting: a dear one would lose to cheap ones. */
const patientAttempts = 3;
/** Longer than a tree is judged. A turn that a crash has left is over then. */
const turnMs = 30_000;
const turnPollMs = 10;

/** Repeats `attempt` until another process no longer overtakes it, which it says by `null`. */
export async function untilMade<T>(
  store: Store,
  attempt: (store: Store) => Promise<Outcome<T> | null>,
): Promise<Outcome<T>> {
  let own = store;
  try {
    for (let count = 0; count < maxAttempts; count++) {
      if (count > 0) own = { ...store, turn: await turnOf(own, count >= patientAttempts) };
      const outcome = await attempt(own);
      if (outcome !== null) return outcome;
    }
    return failure({ reason: "conflict" });
  } finally {
    const { storage, keys: { turn: key } } = store;
    if (own.turn !== store.turn) {
      await storage.commit({ checks: [{ key, version: own.turn }], deletes: [key] }).catch(() => {}); // it is over soon
    }
  }
}

/** Waits while another change has its turn, and takes one where it is `due`: its version, or `null`. */
async function turnOf({ storage, keys: { turn: key }, turn, clock, randomId }: Store, due: boolean) {
  const id = randomId();
  for (let seen: string | null = null, since = 0;;) {
    const held = await storage.get(key);
    if (held !== null && (held.version === turn || held.value === id)) return held.version;
    if (held === null) {
      if (!due) return null;
      const put = { key, value: id, expiresAt: clock() + turnMs };
      await storage.commit({ checks: [{ key, version: null }], puts: [put] });
      continue;
    }
    // by our own timer: clocks differ
    if (held.version !== seen) [seen, since] = [held.version, performance.now()];
    if (performance.now() - since < turnMs) await pause(turnPollMs);
    else await storage.commit({ checks: [{ key, version: seen }], deletes: [key] });
  }
}

/** Plans and applies a change; plans again when anything has changed meanwhile. */
export async function applyChange<T>(
  store: Store,
  plan: () => Promise<Outcome<StoreChange<T>>>,
): Promise<Outcome<T>> {
  const { change: recorded } = store;
  const number = recorded === null ? 0 : ++recorded.plannedSteps;
  const attempt = async (own: Store): Promise<Outcome<T> | null> => {
    const usage = await store.storage.get(store.keys.usage);
    const planned = await plan();
    if (!planned.ok) return planned;
    const { value, step, gone = null } = planned.value;
    if (step === undefined) return success(value);
    const isKept = recorded !== null && "kept" in step && step.kept !== null;
    const swept = gone === null || isKept ? null : goneOf(gone);
    const batch = toBatch(own, planned.value, usage);
    if (!batch.ok) return batch;
    const { puts } = batch.value;
    if (swept !== null) puts.push({ key: store.keys.gone(swept[0]), value: swept[1] });
    if (recorded !== null) {
      puts.push(...recordOf(store, recorded, { number, step, entry: isKept ? gone : null }));
      if (!recorded.hasBegun) recorded.onBegin?.(recorded.id);
      recorded.hasBegun = true;
    }
    if (await store.storage.commit(batch.value)) {
      if (recorded !== null) {
        recorded.isStored = true;
        recorded.keep(keptBytes([{ step }]));
      }
      if (swept !== null) await sweepGone(store, ...swept);
      return success(value);
    }
    return null;
  };
  return await store.changes.run("", () => untilMade(store, attempt));
}

/** The step in the change's record, with the entry that it keeps. */
function recordOf(
  { keys, clock }: Store,
  { isStored, id, by }: RecordedChange,
  step: { readonly number: number; readonly step: ChangeStep; readonly entry: EntryRecord | null },
): readonly Put[] {
  const record = { key: keys.change(id), value: { at: clock(), by } };
  return [...isStored ? [] : [record], { key: keys.step(id, step.number), value: step }];
}

function toBatch<T>(
  store: Store,
  { checks = [], puts = [], deletes = [], addedBytes = 0 }: StoreChange<T>,
  usage: StoredEntry | null,
): Outcome<Batch & { readonly puts: Put[] }> {
  const { keys } = store;
  const bytes = bytesOf(usage) + addedBytes;
  const fits = requireBytes(store, bytes, addedBytes);
  if (!fits.ok) return fits;
  return success({
    checks: [
      ...checks,
      { key: keys.usage, version: usage?.version ?? null },
      { key: keys.turn, version: store.turn },
    ],
    puts: [...puts, { key: keys.usage, value: { bytes } }],
    deletes,
  });
}

const usageRecord = z.object({ bytes: z.number() });

/** What the files have together; zero in a new workspace. */
function bytesOf(stored: StoredEntry | null): number {
  return stored === null ? 0 : parseStored(usageRecord, stored.value, "workspace usage").bytes;
}

/** Refuses a content of which the quota leaves no room: asked before it is staged, where it is large. */
export async function requireRoom(store: Store, addedBytes: number): Promise<Outcome<null>> {
  if (store.limits.maxTotalBytes === null) return success(null);
  return requireBytes(store, bytesOf(await store.storage.get(store.keys.usage)) + addedBytes, addedBytes);
}

function requireBytes({ limits: { maxTotalBytes } }: Store, bytes: number, addedBytes: number): Outcome<null> {
  return maxTotalBytes !== null && addedBytes > 0 && bytes > maxTotalBytes
    ? failure({ reason: "quota", limit: maxTotalBytes })
    : success(null);
}

/** What the trash keeps of an entry; `null` where it is too large. `tree`: how large a directory is with all that is in it. */
export function keptOf(
  { change, trash }: Store,
  entry: EntryRecord,
  tree?: { readonly entries: number; readonly sizeBytes: number },
): Kept | null {
  const size = tree ?? { entries: 1, sizeBytes: sizeOf(entry) };
  return change === null || trash === null || size.sizeBytes > trash.maxBytes ? null : { kind: entry.kind, ...size };
}

/** Of a file; a directory itself takes nothing. */
export function sizeOf(entry: EntryRecord | null): number {
  return entry?.kind === "file" ? entry.sizeBytes : 0;
}

/** What tells an entry from every other, wherever it is moved. */
export function identityOf(entry: EntryRecord): string {
  return entry.kind === "file" ? entry.generation : entry.id;
}

/** The record of `entry` at the last of `segments`, after those of the directories that are missing on the way. */
export function putBelow(
  store: Store,
  { directoryId, existing }: StorePlace,
  segments: readonly string[],
  entry: EntryRecord,
): readonly Put[] {
  const puts: Put[] = [];
  const names = segments.slice(Math.min(existing, segments.length - 1));
  let parent = directoryId;
  for (const [index, name] of names.entries()) {
    const isLast = index === names.length - 1;
    const record: EntryRecord = isLast ? entry : { kind: "directory", id: store.randomId(), modifiedAt: store.clock() };
    puts.push({ key: store.keys.entry(parent, name), value: record });
    if (record.kind === "directory") parent = record.id;
  }
  return puts;
}

const sweepPage = 100;
const stagedLifetimeMilliseconds = 60 * 60 * 1000; // longer than any write takes

/** What is to be swept: the chunks of a generation, or what is in a directory that was taken out. */
const goneRecord = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("file"), chunkCount: z.int().min(0) }),
  z.object({ kind: z.literal("directory") }),
]);
const stagedRecord = z.object({ chunkCount: z.int().min(0), since: z.number() });
type GoneRecord = z.infer<typeof goneRecord>;

/** What to sweep when nothing points to the entry any more, and its id. */
export function goneOf(entry: EntryRecord): readonly [string, GoneRecord] {
  return entry.kind === "file"
    ? [entry.generation, { kind: "file", chunkCount: entry.chunkCount }]
    : [entry.id, { kind: "directory" }];
}

/** Sweeps everything that crashes have left; what is staged, where at `now` that was long ago. */
export async function sweepStore(store: Store, now: number): Promise<void> {
  const { storage, keys } = store;
  for await (const page of pagesBelow(storage, keys.allGone, { limit: sweepPage })) {
    for (const { key, value } of page) {
      await sweepGone(store, key.at(-1) ?? "", parseStored(goneRecord, value, "workspace gone"));
    }
  }
  for await (const page of pagesBelow(storage, keys.allStaged, { limit: sweepPage })) {
    for (const { key, value } of page) {
      const { chunkCount, since } = parseStored(stagedRecord, value, "workspace staged");
      if (now - since > stagedLifetimeMilliseconds) await dropGeneration(store, key.at(-1) ?? "", chunkCount);
    }
  }
}

/** Deletes what a record lists. For a directory: page by page, what is in it, and then the record. */
export async function sweepGone(store: Store, id: string, record: GoneRecord): Promise<void> {
  await nextTurn();
  if (record.kind === "file") return await dropGeneration(store, id, record.chunkCount);
  const { storage, keys } = store;
  for (;;) {
    const entries = await storage.list(keys.entriesOf(id), { limit: sweepPage });
    if (entries.length === 0) break;
    for (const { key, value } of entries) {
      const [below, gone] = goneOf(parseEntry(value));
      await storage.commit({ puts: [{ key: keys.gone(below), value: gone }], deletes: [key] });
      await sweepGone(store, below, gone);
    }
  }
  await storage.commit({ deletes: [keys.gone(id)] });
}

/** Deletes a generation's chunks, and then what lists them. */
export async function dropGeneration(store: Store, generation: string, chunkCount: number): Promise<void> {
  for (let start = 0; start < chunkCount; start += 100) {
    const count = Math.min(100, chunkCount - start);
    const deletes = Array.from({ length: count }, (_, index) => store.keys.chunk(generation, start + index));
    await store.storage.commit({ deletes });
  }
  await store.storage.commit({ deletes: [store.keys.staged(generation), store.keys.gone(generation)] });
}
