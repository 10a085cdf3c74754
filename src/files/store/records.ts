/** What the store-backed workspace keeps in storage: records, their keys, and how they are read back. */
import * as z from "zod";
import { parseStored } from "../../lib/system_fault.ts";
import type { StorageKey } from "../../storage/mod.ts";
import { authorRecord, mirrorTime, stepRecord } from "../workspace/change.ts";

/** Bytes in a chunk. */
export const chunkBytes = 45_000;
/** With keys and base64 below the bytes of one batch (`storageLimits`). */
export const chunksPerBatch = 8;
/** The id of the root directory. */
export const rootId = "root";

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

export type DirectoryRecord = z.infer<typeof directoryRecord>;
export type FileRecord = z.infer<typeof fileRecord>;
export type EntryRecord = z.infer<typeof entryRecord>;
export type GoneRecord = z.infer<typeof goneRecord>;
type UsageRecord = z.infer<typeof usageRecord>;

/** The keys of one workspace. */
export interface StoreKeys {
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
export function nameOfKey(key: StorageKey): string {
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
