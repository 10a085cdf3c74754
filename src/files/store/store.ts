/** What every operation of a store-backed workspace works with: how it finds its way, and how it changes what is stored. */
import * as z from "zod";
import { parseStored } from "../../lib/system_fault.ts";
import type { Batch, Put, Storage, StorageKey, StoredEntry, VersionCheck } from "../../storage/mod.ts";
import { type ChangeAuthor, type ChangeStep, type Kept, keptBytes, mirrorTime } from "../workspace/change.ts";
import { defaultWorkspaceLimits, denied } from "../workspace/port.ts";
import type { Outcome, TrashLimits, WorkspaceLimits } from "../workspace/port.ts";
import { type Clock, pause, systemClock } from "../../lib/time.ts";
import { failure, success } from "../../lib/result.ts";
import { type AccessPatterns, createAccessRules } from "../workspace/access_rules.ts";
import { isReserved, type WorkspacePath } from "../workspace/path.ts";
import { pagesBelow } from "../../lib/stored_entries.ts";
import { createKeyedMutex, nextTurn } from "../../lib/turns.ts";

/** The id of the root directory. */
const rootId = "root";

/** Its content is under the generation, which is never changed: new content is a new generation. */
const fileRecord = z.object({
  kind: z.literal("file"),
  generation: z.string(),
  chunkCount: z.int().min(0),
  sizeBytes: z.int().min(0),
  sha256: z.string(),
  modifiedAt: z.number(),
});
/** Its children hang on the id, so moving it moves them. */
const directoryRecord = z.object({ kind: z.literal("directory"), id: z.string(), modifiedAt: z.number() });
export const entryRecord = z.discriminatedUnion("kind", [fileRecord, directoryRecord]);
export type FileRecord = z.infer<typeof fileRecord>;
export type EntryRecord = z.infer<typeof entryRecord>;

/** The keys of the workspace `name`. */
export function createStoreKeys(name: string) {
  const at = (...parts: readonly string[]): StorageKey => ["workspace", name, ...parts];
  return {
    /** All entries of a directory. */
    entriesOf: (directoryId: string) => at("entry", directoryId),
    /** In hexadecimal names sort by their bytes in every driver. */
    entry: (directoryId: string, entryName: string) =>
      at("entry", directoryId, Buffer.from(entryName, "utf8").toString("hex")),
    chunk: (generation: string, index: number) => at("chunk", generation, String(index).padStart(6, "0")),
    /** A generation that is being written. */
    staged: (generation: string) => at("staged", generation),
    allStaged: at("staged"),
    gone: (id: string) => at("gone", id),
    allGone: at("gone"),
    usage: at("usage"),
    /** There while a change of one process keeps those of others waiting. */
    turn: at("turn"),
    /** A change whose steps are below it; the newest sort first. */
    change: (id: string) => at("change", mirrorTime(id)),
    step: (id: string, number: number) => at("change", mirrorTime(id), String(number).padStart(6, "0")),
    allChanges: at("change"),
  };
}

/** A stored entry. Throws when the store holds something else. */
function parseEntry(value: unknown): EntryRecord {
  return parseStored(entryRecord, value, "workspace entry");
}

export interface StoreWorkspaceOptions {
  /** Stays open when the workspace is closed. */
  readonly storage: Storage;
  /** Tells apart the workspaces in one store. Not empty. */
  readonly name: string;
  readonly limits?: Partial<WorkspaceLimits>;
  readonly access?: AccessPatterns;
  /** What is kept of what changes replace; for no time: what was kept is dropped. Default: nothing. */
  readonly trash?: TrashLimits;
  readonly clock?: Clock;
}

export type Store = ReturnType<typeof createStore>;

/** What every operation of the workspace works with. */
export function createStore({ clock = systemClock, trash, ...options }: StoreWorkspaceOptions) {
  return {
    storage: options.storage,
    name: options.name,
    keys: createStoreKeys(options.name),
    rules: createAccessRules(options.access),
    limits: { ...defaultWorkspaceLimits, ...options.limits },
    clock,
    /** Ids that never repeat. */
    randomId: (): string => crypto.randomUUID(),
    /** What keeps what is replaced; `null`: nothing does. */
    trash: trash ?? null,
    /** The change that is being made; `null`: none is recorded. */
    change: null as RecordedChange | null,
    /** Changes of this process go one after the other; other processes are met by version checks. */
    changes: createKeyedMutex(),
    /** The version of `keys.turn` where the change that is being made keeps others waiting. */
    turn: null as string | null,
    /** What contents on their way to this process will add, outside the quota until they are there. */
    arriving: { bytes: 0 },
  };
}

/** A change that is being made. */
export interface RecordedChange {
  readonly id: string;
  readonly by: ChangeAuthor | null;
  /** Called before its first step is made. */
  readonly onBegin: ((id: string) => void) | undefined;
  /** How many steps were planned, whether they were made or not: their numbers. */
  plannedSteps: number;
  hasBegun: boolean;
  /** Whether a step of it was made. */
  isStored: boolean;
  /** A step was made, which keeps so much. */
  readonly keep: (bytes: number) => void;
  /** The generation that this change has left at a path. */
  readonly leftAt: Map<string, string>;
}

/** Where a path leads in the store. */
export interface StorePlace {
  /** The id of the deepest directory that is there. */
  readonly directoryId: string;
  /** The record at the path, or `null` when it, or a directory on the way, is missing. */
  readonly entry: EntryRecord | null;
  /** How many names of the path are there. */
  readonly existing: number;
}

/** As many levels as one batch may make in every driver, with room for its other writes. */
const maxDepth = 64;

/** The root, which has no entry. */
const rootRecord: z.infer<typeof directoryRecord> = { kind: "directory", id: rootId, modifiedAt: 0 };

/** Walks `path` from the root. */
export async function resolveInStore(store: Store, { segments }: WorkspacePath): Promise<Outcome<StorePlace>> {
  if (segments.length > maxDepth) return failure({ reason: "too_deep", limit: maxDepth });
  if (isReserved(segments)) return denied("reserved");
  let entry: EntryRecord = rootRecord;
  let directoryId = rootId;
  for (const [index, name] of segments.entries()) {
    if (entry.kind === "file") return failure({ reason: "not_a_directory" });
    directoryId = entry.id;
    if (store.rules.isDenied(segments.slice(0, index + 1))) return denied("denied_name");
    // nothing here has such a name, and its key would be that of another
    if (!name.isWellFormed()) return success({ directoryId, entry: null, existing: index });
    const stored: StoredEntry | null = await store.storage.get(store.keys.entry(directoryId, name));
    if (stored === null) return success({ directoryId, entry: null, existing: index });
    entry = parseEntry(stored.value);
  }
  return success({ directoryId, entry, existing: segments.length });
}

/** Like {@link resolveInStore}, for what must be there. */
export async function findInStore(store: Store, path: WorkspacePath): Promise<Outcome<EntryRecord>> {
  const place = await resolveInStore(store, path);
  if (!place.ok) return place;
  return place.value.entry === null ? failure({ reason: "not_found" }) : success(place.value.entry);
}

/** The entries of a directory, sorted by name; `after`: those after this one. */
export async function* entriesOf(
  store: Store,
  directoryId: string,
  page: number,
  after?: string,
): AsyncGenerator<readonly [string, EntryRecord]> {
  const prefix = store.keys.entriesOf(directoryId);
  const first = after === undefined || after === "" ? undefined : store.keys.entry(directoryId, after);
  for await (const stored of pagesBelow(store.storage, prefix, { limit: page, after: first })) {
    for (const { key, value } of stored) {
      yield [Buffer.from(key.at(-1) ?? "", "hex").toString("utf8"), parseEntry(value)];
    }
  }
}

// * Changes of the workspace. Each is planned on what is stored, then one batch that checks the usage, which every change
// writes: of two changes in any processes that meet, one is planned again. Contents that are no longer pointed to are
// swept right after, or by a later start.

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
