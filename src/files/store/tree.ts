/** Lists and walks directories of the store-backed workspace. */
import { failure, success } from "../../lib/result.ts";
import { pagesBelow } from "../../lib/stored_entries.ts";
import type { WorkspacePath } from "../workspace/path.ts";
import type { DirectoryEntry, Listing, ListOptions } from "../workspace/listing.ts";
import type { Outcome } from "../workspace/port.ts";
import { findInStore, type Store } from "./context.ts";
import { type EntryRecord, nameOfKey, parseEntry } from "./records.ts";

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
