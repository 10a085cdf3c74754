/**
 * Which watchable entries changed: one value with the last of them, written in the operation of the change itself and
 * checked, so that its numbers have no gaps. Who has missed more than it holds is told that anything may have changed.
 * KV's own `watch()` is no help: of a file it tells only of changes in the same process.
 */
import { kvKeys } from "./records.ts";
import type { KeyedWatches } from "./keyed_watches.ts";
import type { StorageKey } from "./port.ts";
import { isWatchable } from "./watched_families.ts";

const keptKeys = 50; // of at most 1,024 bytes: together below KV's 65,536 bytes a value

interface Announcements {
  /** How many there have ever been. */
  readonly count: number;
  /** The last ones, as text. */
  readonly keys: readonly string[];
}

const none: Announcements = { count: 0, keys: [] };

/** As lines, the number first: keys as text hold no line break. */
function encodeAnnouncements({ count, keys }: Announcements): Uint8Array {
  return new Uint8Array(Buffer.from([count, ...keys].join("\n")));
}

/** What was announced, by this version or an earlier one. */
function decodeAnnouncements(stored: unknown): Announcements {
  if (!(stored instanceof Uint8Array)) return stored as Announcements | null ?? none;
  const [count, ...keys] = Buffer.from(stored).toString().split("\n");
  return { count: Number(count), keys };
}

/** Adds the announcement of changed entries to their operation. It fails when another announces something meanwhile. */
export async function announce(
  kv: Deno.Kv,
  operation: Deno.AtomicOperation,
  entries: readonly { readonly key: StorageKey; readonly keyText: string }[],
): Promise<void> {
  const changed = entries.filter(({ key }) => isWatchable(key)).map(({ keyText }) => keyText);
  if (changed.length === 0) return;
  const { value, versionstamp } = await kv.get(kvKeys.announced);
  const before = decodeAnnouncements(value);
  const keys = [...before.keys, ...changed].slice(-keptKeys);
  operation.check({ key: kvKeys.announced, versionstamp });
  operation.set(kvKeys.announced, encodeAnnouncements({ count: before.count + changed.length, keys }));
}

/** Tells `watches` of what is announced, until the returned function is called. At first, anything may have changed. */
export function followDenoKv(
  kv: Deno.Kv,
  intervalMs: number,
  { tell, tellAll }: Pick<KeyedWatches, "tell" | "tellAll">,
): () => void {
  let seen: number | null = null;
  let stopped = false;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const read = async (): Promise<Announcements | null> => {
    try {
      return decodeAnnouncements((await kv.get(kvKeys.announced)).value);
    } catch {
      return null; // the way to KV is lost: the next look begins where this one did
    }
  };
  const look = async (): Promise<void> => {
    const found = await read();
    if (stopped) return;
    lookLater();
    if (found === null || found.count === seen) return;
    const { count, keys } = found;
    const missed = seen === null ? Infinity : count - seen;
    seen = count;
    if (missed > keys.length || missed < 0) return tellAll();
    for (const key of new Set(keys.slice(-missed))) tell(key);
  };
  const lookLater = (): void => void (timer = setTimeout(look, intervalMs));
  void look();
  return () => {
    stopped = true;
    clearTimeout(timer);
  };
}
