/** What every operation of a store-backed workspace works with, and how it finds its way. */
import type { DirectoryEntry, Listing, ListOptions, Outcome, TrashLimits, WorkspaceLimits } from "../workspace/port.ts";
import type { Clock } from "../../lib/time.ts";
import { failure, success } from "../../lib/result.ts";
import type { Storage, StoredEntry, VersionCheck } from "../../storage/mod.ts";
import type { AccessRules } from "../workspace/name_folding.ts";
import type { ChangeAuthor, KeyedMutex } from "../workspace/change.ts";
import { isReserved, type WorkspacePath } from "../workspace/path.ts";
import { type DirectoryRecord, type EntryRecord, nameOfKey, parseEntry, rootId, type StoreKeys } from "./records.ts";
import { pagesBelow } from "../../lib/stored_entries.ts";

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
