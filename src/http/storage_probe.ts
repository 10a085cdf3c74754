/** Whether the storage can be read and written, for `/health`: tried, but not more often than is worth it. */
import { createPause } from "../lib/pause.ts";
import { systemTimers, type Timers } from "../lib/timers.ts";
import type { Storage, StorageKey } from "../storage/port.ts";

/** How long one answer serves all who ask: each probe waits for the disk. */
const probeLifetimeMilliseconds = 1_000;
/** How long whoever asks waits for the storage. */
const patienceMilliseconds = 900;
const key: StorageKey = ["health", "write"];

/** Resolves when the storage takes a write and gives an entry; rejects, within a second, when it does not. */
export function createStorageProbe(
  { storage, timers = systemTimers }: { readonly storage: Storage; readonly timers?: Timers | undefined },
): () => Promise<void> {
  const pause = createPause(timers);
  let last: { readonly since: number; readonly ended: Promise<void>; isOver: boolean } | null = null;

  const begin = (): NonNullable<typeof last> => {
    const ended = Promise.all([
      storage.get(key),
      storage.commit({ puts: [{ key, value: true }] }),
    ]).then(() => {});
    const probe = { since: timers.elapsed(), ended, isOver: false };
    const over = (): void => void (probe.isOver = true);
    ended.then(over, over);
    return probe;
  };
  return async () => {
    // One that still waits is not joined by another: a database that hangs is asked once.
    if (last === null || (last.isOver && timers.elapsed() - last.since >= probeLifetimeMilliseconds)) last = begin();
    const { ended, since } = last;
    const answered = new AbortController();
    const late = pause(Math.max(0, since + patienceMilliseconds - timers.elapsed()), answered.signal)
      .then(() => Promise.reject(new Error("the storage does not answer")));
    try {
      await Promise.race([ended, late]);
    } finally {
      late.catch(() => {});
      answered.abort();
    }
  };
}
