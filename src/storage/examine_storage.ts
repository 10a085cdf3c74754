/** Examines a storage for `doctor`, without creating or changing anything. */
import { systemClock } from "../lib/time.ts";
import type { PostgresLocation } from "./mod_settings.ts";
import { guardStorage, markKey } from "./open_storage.ts";
import type { Storage, StorageKey } from "./port.ts";
import { describeSqliteFailure, openSqliteStorage } from "./sqlite_storage.ts";

/** How long the trial waits for another process's write. */
const busyTimeoutMs = 1_000;

/**
 * Opens an existing storage, looks for damage and for one entry, and tries a write that changes nothing. `null` where
 * there is none yet: the first start creates it, and the mark of its master key. Throws {@link UnusableError}.
 */
export async function examineStorage(
  { location, sqlitePath, lookFor }: {
    readonly location?: PostgresLocation;
    readonly sqlitePath: string;
    readonly lookFor: StorageKey;
  },
) {
  const storage = location === undefined ? openExistingSqlite(sqlitePath) : await openExistingPostgres(location);
  if (storage === null) return null;
  try {
    const [mark, found] = await Promise.all([storage.get(markKey), storage.get(lookFor)]);
    await storage.commit({ checks: [{ key: markKey, version: "none has this" }] });
    return { mark: mark?.value ?? null, isFound: found !== null };
  } finally {
    await storage.close();
  }
}

function openExistingSqlite(path: string): Storage | null {
  if (!holdsDatabase(path)) return null;
  const storage = openSqliteStorage({ path, clock: systemClock, busyTimeoutMs, checkedBytes: Infinity });
  return guardStorage(storage, { describe: (error) => describeSqliteFailure(error, path) });
}

/** An unreachable path is not a missing file: the driver says why it cannot be opened. */
function holdsDatabase(path: string): boolean {
  try {
    return Deno.statSync(path).size > 0;
  } catch (error) {
    return !(error instanceof Deno.errors.NotFound);
  }
}

/** Loads the driver, which SQLite does without. */
async function openExistingPostgres(location: PostgresLocation): Promise<Storage | null> {
  const { describePostgresFailure, openPostgresStorage } = await import("./postgres_storage.ts");
  const limits = { connections: 1 };
  const storage = await openPostgresStorage({ location, clock: systemClock, limits, creates: false });
  return storage && guardStorage(storage, { describe: (error) => describePostgresFailure(error, location) });
}
