/** Whether the storage can be read and written, for `/health`: tried, but not more often than is worth it. */
import { createPause } from "../lib/pause.ts";
import { systemTimers, type Timers } from "../lib/timers.ts";
import type { Storage, StorageKey } from "../storage/port.ts";

/** How long one good answer serves all who ask: each probe waits for the disk. A bad one costs nothing: see circuit.ts. */
const probeLifetimeMs = 1_000;
/** How long a caller waits for the storage. */
const patienceMs = 900;
type ProbeState = "waits" | "good" | "bad";
const key: StorageKey = ["health", "write"];

/** Resolves when the storage takes a write and gives an entry; rejects, within a second, when it does not. */
export function createStorageProbe(
  { storage, timers = systemTimers }: { readonly storage: Storage; readonly timers?: Timers | undefined },
): () => Promise<void> {
  const pause = createPause(timers);
  let last: { readonly since: number; readonly ended: Promise<void>; state: ProbeState } | null = null;

  const begin = (): NonNullable<typeof last> => {
    const ended = Promise.all([
      storage.get(key),
      storage.commit({ puts: [{ key, value: true }] }),
    ]).then(() => {});
    const probe = { since: timers.elapsed(), ended, state: "waits" as ProbeState };
    ended.then(() => probe.state = "good", () => probe.state = "bad");
    return probe;
  };
  return async () => {
    // One that still waits is not joined by another: a database that hangs is asked once.
    const isFresh = last?.state === "good" && timers.elapsed() - last.since < probeLifetimeMs;
    if (last === null || (last.state !== "waits" && !isFresh)) last = begin();
    const { ended, since } = last;
    const answered = new AbortController();
    const late = pause(Math.max(0, since + patienceMs - timers.elapsed()), answered.signal)
      .then(() => Promise.reject(new Error("the storage does not answer")));
    try {
      await Promise.race([ended, late]);
    } finally {
      late.catch(() => {});
      answered.abort();
    }
  };
}
