/** Deletes what nothing in the store-backed workspace points to any more. */
import { pagesBelow } from "../../lib/stored_entries.ts";
import type { StorageKey } from "../../storage/mod.ts";
import { dropGeneration } from "./content.ts";
import type { Store } from "./context.ts";
import {
  type EntryRecord,
  type FileRecord,
  type GoneRecord,
  parseEntry,
  parseGone,
  parseStaged,
  parseUsage,
} from "./records.ts";

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
export async function sweepGone(store: Store, id: string, record: GoneRecord): Promise<void> {
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
