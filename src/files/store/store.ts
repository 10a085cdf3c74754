/** What every operation of a store-backed workspace works with, and how it finds its way. */
import * as z from "zod";
import { parseStored } from "../../lib/system_fault.ts";
import type { Storage, StorageKey, StoredEntry } from "../../storage/mod.ts";
import { type ChangeAuthor, mirrorTime } from "../workspace/change.ts";
import { defaultWorkspaceLimits, denied } from "../workspace/port.ts";
import type { Outcome, TrashLimits, WorkspaceLimits } from "../workspace/port.ts";
import { type Clock, systemClock } from "../../lib/time.ts";
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
export function parseEntry(value: unknown): EntryRecord {
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

const walkPage = 200;

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
      await nextTurn();
      yield { segments: below, record };
      if (record.kind === "directory") directories.push([record.id, below]);
    }
  }
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
