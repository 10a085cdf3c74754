/** Entries of the storage: one is updated from its present value, and many are read page by page. */
import type { Log } from "./log.ts";
import { systemTimers, type Timers } from "./time.ts";
import { crashText } from "./system_fault.ts";
import { createKeyedMutex, type KeyedMutex } from "./turns.ts";

interface EntryStorage<Key> {
  get(key: Key): Promise<{ readonly value: unknown; readonly version: string } | null>;
  commit(batch: {
    readonly checks: readonly { readonly key: Key; readonly version: string | null }[];
    readonly puts: readonly { readonly key: Key; readonly value: unknown; readonly expiresAt?: number }[];
  }): Promise<boolean>;
}

const maxAttempts = 20;
/** Only processes contend for an entry: a caller's hundred changes at once would overtake each other. */
const turns = new WeakMap<object, KeyedMutex>();

/**
 * Stores what `change` makes of the value (`undefined` where there is none), and gives it. Where `change` gives `null`,
 * the entry stays as it is. Rejects when other processes were quicker each time. Changes of this process take turns.
 */
export async function changeEntry<Key, Value>(
  storage: EntryStorage<Key>,
  key: Key,
  change: (value: unknown) => Value | null,
  { expiresAt: end }: { readonly expiresAt?: number | ((value: Value) => number) } = {},
): Promise<Value | null> {
  return await turns.getOrInsertComputed(storage, createKeyedMutex).run(JSON.stringify(key), async () => {
    for (let attempt = 0; attempt < maxAttempts; attempt++) {
      const entry = await storage.get(key);
      const value = change(entry?.value);
      if (value === null) return null;
      const expiresAt = typeof end === "function" ? end(value) : end;
      const put = expiresAt === undefined ? { key, value } : { key, value, expiresAt };
      if (await storage.commit({ checks: [{ key, version: entry?.version ?? null }], puts: [put] })) return value;
    }
    throw new Error(`Storage contention: ${maxAttempts} attempts of one change were overtaken`);
  });
}

/** The entries below `prefix` in key order, those `after` a key; what was yielded may be deleted meanwhile. */
export async function* pagesBelow<Key, Entry extends { readonly key: Key }>(
  storage: { list(prefix: Key, range: { readonly limit: number; readonly after?: Key }): Promise<readonly Entry[]> },
  prefix: Key,
  { limit = 200, after }: { readonly limit?: number; readonly after?: Key | undefined } = {},
): AsyncGenerator<readonly Entry[]> {
  let last = after;
  for (;;) {
    const page = await storage.list(prefix, { limit, ...(last === undefined ? {} : { after: last }) });
    yield page;
    if (page.length < limit) return;
    last = page.at(-1)?.key;
  }
}

// A text that may be larger than one value lies in several entries, its pieces, which are written before what names them.

/** So many characters of JSON have less than 524,288 bytes as a JSON string, whatever they are. */
const pieceCharacters = 150_000;

/** Stores JSON text in pieces, and gives their number. A second attempt, or an instance that comes second, writes the same. */
export async function putPieces<Key>(
  storage: { commit(batch: { puts: { key: Key; value: string; expiresAt: number }[] }): Promise<boolean> },
  text: string,
  { keyOf, expiresAt }: { readonly keyOf: (piece: number) => Key; readonly expiresAt: number },
): Promise<number> {
  const count = Math.ceil(text.length / pieceCharacters);
  for (let piece = 0; piece < count; piece++) {
    const value = text.slice(piece * pieceCharacters, (piece + 1) * pieceCharacters);
    await storage.commit({ puts: [{ key: keyOf(piece), value, expiresAt }] });
  }
  return count;
}

/** The text that has these pieces; `null` where one of them has just expired. */
export async function readPieces<Key>(
  storage: Pick<EntryStorage<Key>, "get">,
  keys: readonly Key[],
): Promise<string | null> {
  let text = "";
  for (const key of keys) {
    const value = (await storage.get(key))?.value;
    if (typeof value !== "string") return null;
    text += value;
  }
  return text;
}

// Looks at stored entries whenever they may have changed: a storage's watch says that much and no more.

const retryMs = 1_000;

/**
 * Calls `look` after each change of the entries, one look at a time, but not at the start. A look that rejects, because
 * the storage is lost, is logged and repeated.
 */
export function watchEntries<Key>(
  storage: { watch(key: Key, onChange: () => void): () => void },
  keys: readonly Key[],
  look: () => Promise<void>,
  { log, timers = systemTimers }: { readonly log: Log; readonly timers?: Timers | undefined },
) {
  let isDue = false;
  let isLooking = false;
  let isStopped = false;
  let stopRetry: (() => void) | undefined;

  const run = async (): Promise<void> => {
    isLooking = true;
    while (isDue && !isStopped) {
      isDue = false;
      try {
        await look();
      } catch (error) {
        if (isStopped) break;
        log.write("error", "look_failed", { error: crashText(error) });
        stopRetry ??= timers.after(retryMs, lookSoon);
      }
    }
    isLooking = false;
  };
  const lookSoon = (): void => {
    stopRetry?.();
    stopRetry = undefined;
    isDue = true;
    if (!isLooking) void run();
  };
  const stops = keys.map((key) => storage.watch(key, lookSoon));
  return {
    /** Looks now, or once more after the look in progress. */
    look: lookSoon,
    /** Ends the watch; no look begins afterwards. */
    stop() {
      isStopped = true;
      stopRetry?.();
      for (const stop of stops) stop();
    },
  };
}
