/** What every operation of a store-backed workspace works with, and how it finds its way. */
import * as z from "zod";
import { parseStored } from "../../lib/system_fault.ts";
import type { Storage, StorageKey, StoredEntry, VersionCheck } from "../../storage/mod.ts";
import { authorRecord, type ChangeAuthor, type KeyedMutex, mirrorTime, stepRecord } from "../workspace/change.ts";
import type { DirectoryEntry, Listing, ListOptions, Outcome, TrashLimits, WorkspaceLimits } from "../workspace/port.ts";
import type { Clock } from "../../lib/time.ts";
import { failure, success } from "../../lib/result.ts";
import type { AccessRules } from "../workspace/name_folding.ts";
import { isReserved, type WorkspacePath } from "../workspace/path.ts";
import { pagesBelow } from "../../lib/stored_entries.ts";

// What the store-backed workspace keeps in storage: records, their keys, and how they are read back.

/** Bytes in a chunk. */
export const chunkBytes = 45_000;
/** With keys and base64 below the bytes of one batch (`storageLimits`). */
export const chunksPerBatch = 8;
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
const entryRecord = z.discriminatedUnion("kind", [fileRecord, directoryRecord]);
/** What is to be swept: the chunks of a generation or what is in a directory that was taken out. */
const goneRecord = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("file"), chunkCount: z.int().min(0) }),
  z.object({ kind: z.literal("directory") }),
]);
const changeRecord = z.object({
  at: z.number(),
  by: authorRecord.nullable(),
  undoneBy: z.string().optional(),
});
/** A step of a change, and the entry that it keeps; `null`: none, or it was put back. */
const keptStepRecord = stepRecord.unwrap().extend({ entry: entryRecord.nullable() });
const usageRecord = z.object({ bytes: z.number(), entries: z.number() });
const stagedRecord = z.object({ chunkCount: z.int().min(0), since: z.number() });

type DirectoryRecord = z.infer<typeof directoryRecord>;
export type FileRecord = z.infer<typeof fileRecord>;
export type EntryRecord = z.infer<typeof entryRecord>;
export type GoneRecord = z.infer<typeof goneRecord>;
type UsageRecord = z.infer<typeof usageRecord>;

/** The keys of one workspace. */
interface StoreKeys {
  /** All entries of a directory. */
  entriesOf(directoryId: string): StorageKey;
  entry(directoryId: string, name: string): StorageKey;
  /** Changes whenever an entry is added to the directory or taken out. */
  membership(directoryId: string): StorageKey;
  chunk(generation: string, index: number): StorageKey;
  /** A generation that is being written. */
  staged(generation: string): StorageKey;
  readonly allStaged: StorageKey;
  gone(id: string): StorageKey;
  readonly allGone: StorageKey;
  readonly usage: StorageKey;
  /** A change whose steps are below it; the newest sort first. */
  change(id: string): StorageKey;
  step(id: string, number: number): StorageKey;
  readonly allChanges: StorageKey;
  /** As {@link gone}, of what the usage does not count any more. */
  dropped(id: string): StorageKey;
  readonly allDropped: StorageKey;
}

/** Makes the keys of the workspace `name`. */
export function createStoreKeys(name: string): StoreKeys {
  const at = (...parts: readonly string[]): StorageKey => ["workspace", name, ...parts];
  return {
    entriesOf: (directoryId) => at("entry", directoryId),
    // in hexadecimal names sort by their bytes in every driver
    entry: (directoryId, entryName) => at("entry", directoryId, Buffer.from(entryName, "utf8").toString("hex")),
    membership: (directoryId) => at("membership", directoryId),
    chunk: (generation, index) => at("chunk", generation, String(index).padStart(6, "0")),
    staged: (generation) => at("staged", generation),
    allStaged: at("staged"),
    gone: (id) => at("gone", id),
    allGone: at("gone"),
    usage: at("usage"),
    change: (id) => at("change", mirrorTime(id)),
    step: (id, number) => at("change", mirrorTime(id), String(number).padStart(6, "0")),
    allChanges: at("change"),
    dropped: (id) => at("dropped", id),
    allDropped: at("dropped"),
  };
}

/** The name that an entry's key holds. */
function nameOfKey(key: StorageKey): string {
  return Buffer.from(key[key.length - 1] ?? "", "hex").toString("utf8");
}

/** A stored entry. Throws when the store holds something else. */
export function parseEntry(value: unknown): EntryRecord {
  return parseStored(entryRecord, value, "workspace entry");
}

/** What is to be swept. Throws when the store holds something else. */
export function parseGone(value: unknown): GoneRecord {
  return parseStored(goneRecord, value, "workspace gone");
}

/** The usage, zero for a new workspace. Throws when the store holds something else. */
export function parseUsage(value: unknown): UsageRecord {
  return value === undefined ? { bytes: 0, entries: 0 } : parseStored(usageRecord, value, "workspace usage");
}

/** A generation that is being written. Throws when the store holds something else. */
export function parseStaged(value: unknown): { readonly chunkCount: number; readonly since: number } {
  return parseStored(stagedRecord, value, "workspace staged");
}

/** A change without its steps. Throws when the store holds something else. */
export function parseChange(value: unknown): z.infer<typeof changeRecord> {
  return parseStored(changeRecord, value, "workspace change");
}

/** A step of a change. Throws when the store holds something else. */
export function parseStep(value: unknown): z.infer<typeof keptStepRecord> {
  return parseStored(keptStepRecord, value, "workspace step");
}

/** The id of the change that a key is of. */
export function changeOfKey(key: StorageKey): string {
  return mirrorTime(key[3] ?? "");
}

/** A chunk's bytes. Throws when the store holds something else. */
export function parseChunk(value: unknown): Uint8Array {
  return Buffer.from(parseStored(z.string(), value, "workspace chunk"), "base64");
}

/** A chunk as it is stored. */
export function toChunk(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64");
}

export interface Store {
  readonly storage: Storage;
  readonly name: string;
  /** Whether changes are told to those who watch, on any instance. */
  readonly keys: StoreKeys;
  readonly rules: AccessRules;
  readonly limits: WorkspaceLimits;
  readonly clock: Clock;
  readonly randomId: () => string;
  /** What keeps what is replaced; `null`: nothing does. */
  readonly trash: TrashLimits | null;
  /** The change that is being made; `null`: none is recorded. */
  readonly change: RecordedChange | null;
  /** Changes of this process go one after the other; other processes are met by version checks. */
  readonly changes: KeyedMutex;
  /** What contents on their way to this process will add, outside the quota until they are there. */
  readonly arriving: { bytes: number };
}

/** A change that is being made. */
export interface RecordedChange {
  readonly id: string;
  readonly by: ChangeAuthor | null;
  /** Whether no step of it was made yet. */
  readonly isNew: boolean;
  /** The number of its next step. */
  next(): number;
  /** Before its first step is made. */
  begin(): void;
  /** A step was made, which keeps so much. */
  made(keptBytes: number): void;
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
  /** That every entry on the way is unchanged, and that the first missing name still is missing. */
  readonly checks: readonly VersionCheck[];
}

/** As many levels as a batch may check in every driver, with room for its other checks. */
const maxDepth = 64;

/** The root, which has no entry of its own. */
const rootRecord: DirectoryRecord = { kind: "directory", id: rootId, modifiedAt: 0 };

/** Walks `path` from the root. */
export async function resolveInStore(store: Store, { segments }: WorkspacePath): Promise<Outcome<StorePlace>> {
  if (segments.length > maxDepth) return failure({ reason: "too_deep", limit: maxDepth });
  if (isReserved(segments)) return failure({ reason: "denied", because: "reserved" });
  const checks: VersionCheck[] = [];
  let entry: EntryRecord = rootRecord;
  let directoryId = rootId;
  for (const [index, name] of segments.entries()) {
    if (entry.kind === "file") return failure({ reason: "not_a_directory" });
    directoryId = entry.id;
    if (store.rules.isDenied(segments.slice(0, index + 1))) {
      return failure({ reason: "denied", because: "denied_name" });
    }
    // nothing here has such a name, and its key would be that of another
    if (!name.isWellFormed()) return success({ directoryId, entry: null, existing: index, checks });
    const key = store.keys.entry(directoryId, name);
    const stored: StoredEntry | null = await store.storage.get(key);
    checks.push({ key, version: stored?.version ?? null });
    if (stored === null) return success({ directoryId, entry: null, existing: index, checks });
    entry = parseEntry(stored.value);
  }
  return success({ directoryId, entry, existing: segments.length, checks });
}

/** Like {@link resolveInStore}, for what must be there. */
export async function findInStore(store: Store, path: WorkspacePath): Promise<Outcome<EntryRecord>> {
  const place = await resolveInStore(store, path);
  if (!place.ok) return place;
  return place.value.entry === null ? failure({ reason: "not_found" }) : success(place.value.entry);
}

// Lists and walks directories of the store-backed workspace.

const walkPage = 200;

/** The entries of the directory at `path`, sorted by name. */
export async function listStoreDirectory(
  store: Store,
  path: WorkspacePath,
  { limit = Infinity, after, details = false }: ListOptions = {},
): Promise<Outcome<Listing>> {
  const found = await findInStore(store, path);
  if (!found.ok) return found;
  if (found.value.kind === "file") return failure({ reason: "not_a_directory" });
  const wanted = Math.min(limit, store.limits.maxListEntries);
  const entries: DirectoryEntry[] = [];
  for await (const [name, record] of entriesOf(store, found.value.id, wanted + 1, after)) {
    if (store.rules.isDenied([...path.segments, name])) continue;
    if (entries.length === wanted) return success({ entries, hasMore: true });
    entries.push(toEntry(name, record, details));
  }
  return success({ entries, hasMore: false });
}

/** Every entry below a directory, whose own names are `segments`. */
export async function* walkStore(
  store: Store,
  directoryId: string,
  segments: readonly string[],
): AsyncGenerator<{ readonly segments: readonly string[]; readonly record: EntryRecord }> {
  const directories: (readonly [string, readonly string[]])[] = [[directoryId, segments]];
  let directory: readonly [string, readonly string[]] | undefined;
  while ((directory = directories.pop()) !== undefined) {
    const [id, names] = directory;
    for await (const [name, record] of entriesOf(store, id, walkPage)) {
      const below = [...names, name];
      yield { segments: below, record };
      if (record.kind === "directory") directories.push([record.id, below]);
    }
  }
}

async function* entriesOf(
  store: Store,
  directoryId: string,
  page: number,
  after?: string,
): AsyncGenerator<readonly [string, EntryRecord]> {
  const prefix = store.keys.entriesOf(directoryId);
  const first = after === undefined || after === "" ? undefined : store.keys.entry(directoryId, after);
  for await (const stored of pagesBelow(store.storage, prefix, { limit: page, after: first })) {
    for (const { key, value } of stored) yield [nameOfKey(key), parseEntry(value)];
  }
}

function toEntry(name: string, record: EntryRecord, details: boolean): DirectoryEntry {
  const { kind, modifiedAt } = record;
  if (!details) return { name, kind };
  return record.kind === "file" ? { name, kind, sizeBytes: record.sizeBytes, modifiedAt } : { name, kind, modifiedAt };
}
