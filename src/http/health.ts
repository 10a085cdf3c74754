/** `GET /health` and its two narrower kinds: for people, load balancers and containers. */
import { onGet } from "../lib/endpoint.ts";
import { atMost, createPause, systemTimers, type Timers } from "../lib/time.ts";
import type { Storage, StorageKey } from "../storage/mod.ts";

/**
 * - `health` answers 200 with `status: "ok"`, or 503 with `status: "unavailable"` when the storage or the workspace does
 *   not answer.
 * - `live` answers 200 while the process answers at all: a supervisor that restarts on any other status never kills a
 *   healthy process.
 * - `ready` answers 503 while no request should be sent here: the server is about to stop, or its storage or workspace
 *   does not answer.
 */
export function createHealthEndpoints({ version, probeStorage, isWorkspaceThere, isDraining }: {
  readonly version: string;
  /** Resolves when the storage can be read and written; rejects within a second when it cannot. */
  readonly probeStorage: () => Promise<unknown>;
  /** Whether the files can be reached; `false` where their directory is gone, or another is in its place. */
  readonly isWorkspaceThere: () => Promise<boolean>;
  /** Whether the server was told to stop. */
  readonly isDraining: () => boolean;
}) {
  const isStorageThere = (): Promise<boolean> => probeStorage().then(() => true, () => false);
  return {
    health: onGet(async () => {
      const [isStored, isThere] = await Promise.all([isStorageThere(), isWorkspaceThere()]);
      const ok = isStored && isThere;
      const [storage, workspace] = [isStored, isThere].map((each) => each ? "reachable" : "unreachable");
      return respond(ok, { status: ok ? "ok" : "unavailable", version, storage, workspace });
    }),
    live: onGet(() => respond(true, { status: "live" })),
    ready: onGet(async () => {
      if (isDraining()) return respond(false, { status: "draining" });
      if (!await isStorageThere()) return respond(false, { status: "storage_unreachable" });
      const ok = await isWorkspaceThere();
      return respond(ok, { status: ok ? "ready" : "workspace_unreachable" });
    }),
  };
}

function respond(ok: boolean, body: Readonly<Record<string, string | undefined>>): Response {
  return Response.json(body, { status: ok ? 200 : 503, headers: { "cache-control": "no-store" } });
}

// Whether the storage can be read and written, for `/health`, tried at a bounded rate.

/** How long one good answer serves all who ask: each probe waits for the disk. A bad one costs nothing: see createCircuit. */
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
    const ended = Promise.all([storage.get(key), storage.commit({ puts: [{ key, value: true }] })]).then(() => {});
    const probe = { since: timers.elapsed(), ended, state: "waits" as ProbeState };
    ended.then(() => probe.state = "good", () => probe.state = "bad");
    return probe;
  };
  return async () => {
    // One that still waits is not joined by another: a database that hangs is asked once.
    const isFresh = last?.state === "good" && timers.elapsed() - last.since < probeLifetimeMs;
    if (last === null || (last.state !== "waits" && !isFresh)) last = begin();
    const { ended, since } = last;
    const left = Math.max(0, since + patienceMs - timers.elapsed());
    const isLate = await atMost(left, ended.then(() => false), true, pause);
    if (isLate) throw new Error("the storage does not answer");
  };
}
