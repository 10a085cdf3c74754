/** Opens the storage that the settings ask for. */
import { atMost, type Clock, createPause, systemTimers, type Timers } from "../lib/time.ts";
import { isCallersMistake, StorageFault, StorageUnavailableError } from "../lib/system_fault.ts";
import { closeAll, type Problem, UnusableError } from "../lib/result.ts";
import { nodeFs } from "../lib/program.ts";
import type { KernelAccess } from "../lib/kernel/kernel.ts";
import type { Log } from "../lib/log.ts";
import type { Storage, StorageKey } from "./port.ts";
import type { PostgresLocation } from "./mod_settings.ts";
import type { PostgresLimits } from "./postgres_storage.ts";
import type { SecretBox } from "../lib/secrets.ts";

/** Which database to open, and what it reports to. */
export interface OpenStorageOptions {
  /** From `parseDatabaseUrl`; without it the SQLite file is used. */
  readonly location?: PostgresLocation;
  /** Where the SQLite file lies, or is made. */
  readonly sqlitePath: string;
  readonly clock: Clock;
  /** Notified when the database is lost and when it is back. */
  readonly log?: Log | undefined;
  readonly bounds?: StorageBounds;
  /** What the kernel says of a database's files, where it is there. */
  readonly kernel?:
    | Pick<Extract<KernelAccess, { readonly available: true }>, "watchPlace" | "watchCommits">
    | undefined;
}

/** Bounds of the drivers, each with a default. */
export interface StorageBounds {
  /** How long an operation waits for another process's lock. */
  readonly busyTimeoutMs?: number;
  readonly postgres?: Partial<PostgresLimits>;
}

/** Loads a driver on demand: an installation needs one. Throws {@link UnusableError}. */
export async function openStorage(options: OpenStorageOptions): Promise<Storage> {
  const { location, clock, log, bounds: { postgres = {} } = {} } = options;
  if (location === undefined) return await openGuardedSqlite(options);
  const { describePostgresFailure, openPostgresStorage } = await import("./postgres_storage.ts");
  const onWait = (): void => log?.write("warn", "waiting_for_database", { host: location.host, port: location.port });
  const storage = await openPostgresStorage({ location, clock, limits: postgres, onWait });
  const describe = (error: unknown): Problem => describePostgresFailure(error, location);
  return guardStorage(storage, { describe, log });
}

/** With a log the caller is a server: the database is checked for damage, and its files are watched where that can be. */
async function openGuardedSqlite(
  { sqlitePath: path, clock, log, bounds: { busyTimeoutMs } = {}, kernel }: OpenStorageOptions,
): Promise<Storage> {
  const { describeSqliteFailure, maxCheckedBytes, openSqliteStorage, restoreRemedy } = await import(
    "./sqlite_storage.ts"
  );
  const describe = (error: unknown): Problem => describeSqliteFailure(error, path);
  const storage = openSqliteStorage({
    path,
    clock,
    busyTimeoutMs,
    checkedBytes: log === undefined ? 0 : maxCheckedBytes,
    watchCommits: kernel?.watchCommits,
  });
  if (log === undefined) return guardStorage(storage, { describe });
  // SQLite writes on into files that have been deleted or replaced, and all of it is gone at the stop. To open and close
  // them for a look would drop SQLite's locks in this process (fcntl(2)).
  const handles: number[] = [];
  const watch = kernel?.watchPlace ?? ((file) => watchByHandle(file, handles));
  const database = Deno.realPathSync(path); // beside it are its write-ahead log and the log's index
  const files = ["", "-wal", "-shm"].map((suffix) => database + suffix).map((file) => ({ file, isSame: watch(file) }));
  const findLoss = (): Problem | null => {
    const gone = files.find(({ isSame }) => !isSame());
    if (gone === undefined) return null;
    const problem = `${gone.file} was deleted, moved or replaced under the running server`;
    return { problem, remedy: `put it back if you can; ${restoreRemedy}` };
  };
  const guarded = guardStorage(storage, { describe, findLoss, log });
  const closings = () => handles.splice(0).map((handle) => () => nodeFs().closeSync(handle));
  return { ...guarded, close: () => closeAll(guarded.close, ...closings()) };
}

/** A handle that refers to a file without opening it: to close it drops no locks (open(2), O_PATH). */
const pathOnly = 0o10000000;

/** Says whether the file that was there still has a name, where the system and the permissions give a handle. */
function watchByHandle(path: string, handles: number[]): () => boolean {
  try {
    if (Deno.build.os !== "linux") return () => true;
    const handle = nodeFs().openSync(path, pathOnly);
    handles.push(handle);
    return () => nodeFs().fstatSync(handle).nlink > 0;
  } catch {
    return () => true;
  }
}

/** The entry that a write probe writes. */
const probeKey: StorageKey = ["health", "write"];
/** Until an operator has repaired it. */
const lostRetryAfterSeconds = 60;
/** Between looks whether the database is lost, while nothing is written. */
const lookEveryMs = 250;

interface GuardOptions {
  /** Describes a driver's error. */
  readonly describe: (error: unknown) => Problem;
  /** Says what makes writes vanish although the driver takes them. Asked before each write, and before it is acknowledged. */
  readonly findLoss?: (() => Problem | null) | undefined;
  readonly log?: Log | undefined;
  readonly timers?: Timers;
}

/**
 * A driver behind two circuits, one for reads and one for writes: a full disk is no reason to refuse what only reads.
 * Failed operations reject fast with `StorageUnavailableError`, and writes for good once they would be lost. The log
 * says once that the database is unavailable, why, and what to do, and once that it is back.
 */
export function guardStorage(storage: Storage, options: GuardOptions): Storage {
  const { describe, findLoss, log, timers = systemTimers } = options;
  const toFailure = (error: unknown): StorageUnavailableError => {
    const { problem, remedy } = describe(error);
    return new StorageUnavailableError(problem, { remedy, cause: error });
  };
  const tell = (operations: "reads" | "writes", { message, remedy }: StorageUnavailableError): void =>
    log?.write("error", "storage_unavailable", { operations, problem: message, remedy });
  const circuit = (operations: "reads" | "writes", probe: () => Promise<unknown>) =>
    createCircuit({
      probe,
      toFailure,
      timers,
      onOpen: (failure) => tell(operations, failure),
      onClose: () => log?.write("info", "storage_available", { operations }),
    });
  const reads = circuit("reads", () => storage.get(probeKey));
  const writes = circuit("writes", () => storage.commit({ puts: [{ key: probeKey, value: true }] }));
  /** Once found, every later write is refused: no probe can tell that this was repaired. */
  let lost: StorageUnavailableError | null = null;
  const lookForLoss = (): void => {
    const loss = lost === null ? findLoss?.() ?? null : null;
    if (loss === null) return;
    lost = new StorageUnavailableError(loss.problem, { remedy: loss.remedy, retryAfterSeconds: lostRetryAfterSeconds });
    tell("writes", lost);
    stopLooking();
  };
  const requireKept = (): void => {
    lookForLoss();
    if (lost !== null) throw lost;
  };
  const write = async <T>(step: () => Promise<T>): Promise<T> => {
    requireKept();
    const written = await writes.run(step);
    requireKept();
    return written;
  };
  const stopLooking = findLoss === undefined ? () => {} : timers.every(lookEveryMs, lookForLoss);
  return {
    get: (key) => reads.run(() => storage.get(key)),
    list: (prefix, listOptions) => reads.run(() => storage.list(prefix, listOptions)),
    commit: (batch) => write(() => storage.commit(batch)),
    consume: (key) => write(() => storage.consume(key)),
    changeCount() {
      if (reads.isOpen) return reads.run(async () => await storage.changeCount());
      try {
        const counted = storage.changeCount();
        return typeof counted === "number" ? counted : reads.run(() => counted);
      } catch (error) {
        if (isCallersMistake(error)) throw error;
        return reads.run(() => Promise.reject(error));
      }
    },
    watch: storage.watch,
    sweep: (now) => write(() => storage.sweep(now)),
    close() {
      stopLooking();
      return storage.close();
    },
  };
}

/** Pause between a failed probe and the next. */
const probePauseMs = 200;
/** How long a call waits for a probe. */
const probeMs = 1_000;

/**
 * Keeps callers from waiting for a database that fails: after a failure, calls fail at once, until a probe succeeds.
 * The first call after a pause starts the probe and waits for it, so that the circuit closes with the first caller
 * after the recovery, and nothing runs without calls.
 */
function createCircuit({ probe, toFailure, timers, onOpen, onClose }: {
  /** A cheap operation of the same kind. */
  readonly probe: () => Promise<unknown>;
  /** The error that replaces the driver's. */
  readonly toFailure: (error: unknown) => StorageUnavailableError;
  readonly timers: Timers;
  readonly onOpen: (failure: StorageUnavailableError) => void;
  readonly onClose: () => void;
}) {
  const { elapsed } = timers;
  const pause = createPause(timers);
  let failure: StorageUnavailableError | null = null;
  let trial: { readonly since: number; readonly ended: Promise<void> } | null = null;
  let nextTrialAt = -Infinity;

  const note = (found: StorageUnavailableError | null): void => {
    const before = failure;
    failure = found;
    if (found !== null && before === null) onOpen(found);
    if (found === null && before !== null) onClose();
  };
  const startTrial = (): NonNullable<typeof trial> => {
    const end = (found: StorageUnavailableError | null): void => {
      trial = null;
      nextTrialAt = elapsed() + probePauseMs;
      note(found);
    };
    return { since: elapsed(), ended: probe().then(() => end(null), (error) => end(toFailure(error))) };
  };
  return {
    /** Whether the last known outcome is a failure. */
    get isOpen(): boolean {
      return failure !== null;
    },
    /** Runs a step of the driver. A caller's mistake (`TypeError`, `RangeError`) is passed on unchanged. */
    async run<T>(step: () => Promise<T>): Promise<T> {
      if (failure !== null && (trial !== null || elapsed() >= nextTrialAt)) {
        trial ??= startTrial();
        const left = trial.since + probeMs - elapsed();
        if (left > 0) await atMost(left, trial.ended, null, pause);
      }
      if (failure !== null) throw failure;
      try {
        return await step();
      } catch (error) {
        const isKnown = error instanceof StorageUnavailableError;
        // one unreadable record does not mean that the others are
        if (isCallersMistake(error) || (error instanceof StorageFault && !isKnown)) throw error;
        const found = isKnown ? error : toFailure(error);
        note(found);
        throw found;
      }
    },
  };
}

// Ties a database to the master key that it was first used with. An instance that made a key of its own, or a restored
// database without its key, would otherwise start, refuse every token, and seal new records that the others cannot
// open.

export const markKey: StorageKey = ["installation", "master_key_mark"];

/** A database and a key that do not belong together. */
export function wrongMasterKey(): UnusableError {
  return new UnusableError(
    "the database was written with another master key than this instance has",
    "give every instance the same master key: copy master.key from the first one, or from the backup",
  );
}

/** Identifies the master key without revealing it. */
export function masterKeyMark(secrets: SecretBox): string {
  return secrets.authenticate("master-key-mark", "v1");
}

/** The mark of the database's master key; `null` before the first start. */
export async function boundMark(storage: Storage): Promise<unknown> {
  return (await storage.get(markKey))?.value ?? null;
}

/** Binds the database to another key: the last step of a rotation. */
export async function rebindMasterKey(storage: Storage, mark: string): Promise<void> {
  await storage.commit({ puts: [{ key: markKey, value: mark }] });
}

/**
 * `mark` is derived from the key and does not reveal it. Leaves the mark on a database that has none, and throws
 * {@link UnusableError} for one with another.
 */
export async function bindMasterKey(storage: Storage, mark: string): Promise<void> {
  for (;;) {
    const found = await boundMark(storage);
    if (found === mark) return;
    if (found !== null) throw wrongMasterKey();
    const checks = [{ key: markKey, version: null }];
    if (await storage.commit({ checks, puts: [{ key: markKey, value: mark }] })) return; // else another was first
  }
}
