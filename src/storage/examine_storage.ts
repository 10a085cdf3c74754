/** Examines a storage for `doctor`, without creating or changing anything. */
import { lstatSync } from "node:fs";
import { failure, type Problem, type Result, success, UnusableError } from "../lib/result.ts";
import { faultWords, pathRemedy } from "../lib/system_fault.ts";
import type { PostgresLocation } from "./database_url.ts";
import type { StorageKey } from "./port.ts";
import type { AbsentStorage, SoundStorage } from "./open_storage.ts";

/** Opens an existing storage, looks for damage and for one entry, and tries a write where it can be rolled back. */
export async function examineStorage(
  { location, sqlitePath, lookFor }: {
    readonly location?: PostgresLocation;
    readonly sqlitePath: string;
    readonly lookFor: StorageKey;
  },
): Promise<Result<SoundStorage | AbsentStorage, Problem>> {
  try {
    if (location !== undefined) {
      const { examinePostgres } = await import("./postgres_examine.ts");
      return success(await examinePostgres(location, lookFor));
    }
    if (!exists(sqlitePath)) return success({ kind: "absent" });
    const { examineSqlite } = await import("./sqlite_examine.ts");
    return success(examineSqlite(sqlitePath, lookFor));
  } catch (error) {
    if (!(error instanceof UnusableError)) throw error;
    return failure(error);
  }
}

/** An unreachable path is not a missing file: the start would not create it. */
function exists(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch (error) {
    throw new UnusableError(
      `${path} cannot be used: ${faultWords(error)}`,
      pathRemedy(error, "choose another place for the database (DATA_DIR, DATABASE_URL)"),
      { cause: error },
    );
  }
}
