/** What every operation of a store-backed workspace works with, and how it finds its way. */
import type { TrashLimits, WorkspaceLimits } from "../workspace/limits.ts";
import type { Clock } from "../../lib/clock.ts";
import { failure, success } from "../../lib/result.ts";
import type { Storage, StoredEntry, VersionCheck } from "../../storage/port.ts";
import type { AccessRules } from "../workspace/access_rules.ts";
import type { KeyedMutex } from "../workspace/keyed_mutex.ts";
import type { ChangeAuthor } from "../workspace/change.ts";
import { isReserved, type WorkspacePath } from "../workspace/path.ts";
import type { Outcome } from "../workspace/port.ts";
import { type DirectoryRecord, type EntryRecord, parseEntry, rootId, type StoreKeys } from "./records.ts";

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
  /** What contents on their way to this process will add, outside the quota until they are there, and which drafts are among them. */
  readonly arriving: { bytes: number; readonly drafts: Set<string> };
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
