/** What `doctor` finds out about a storage, without making or changing anything. */
import { lstatSync } from "node:fs";
import { failure, type Problem, type Result, success, UnusableError } from "../lib/result.ts";
import type { Clock } from "../lib/time.ts";
import { faultWords, pathRemedy } from "../lib/system_fault.ts";
import type { DatabaseLocation } from "./database_url.ts";
import type { StorageKey } from "./port.ts";
import type { AbsentStorage, SoundStorage } from "./open_storage.ts";

/** Opens what is there, looks for damage and for one entry, and tries to write where that can be undone. */
export async function examineStorage(
  { location, sqlitePath, lookFor, clock }: {
    readonly location?: DatabaseLocation;
    readonly sqlitePath: string;
    readonly lookFor: StorageKey;
    readonly clock: Clock;
  },
): Promise<Result<SoundStorage | AbsentStorage, Problem>> {
  try {
    if (location?.kind === "postgres") {
      const { examinePostgres } = await import("./postgres_examine.ts");
      return success(await examinePostgres(location, lookFor));
    }
    if (location?.kind === "deno_kv") {
      const [{ openDenoKvStorage }, { boundMark }] = await Promise.all([
        import("./deno_kv_storage.ts"),
        import("./open_storage.ts"),
      ]);
      const storage = await openDenoKvStorage({ path: location.url, clock });
      try {
        const [mark, entry] = await Promise.all([boundMark(storage), storage.get(lookFor)]);
        return success({ kind: "sound", mark, isFound: entry !== null });
      } finally {
        await storage.close();
      }
    }
    if (!exists(sqlitePath)) return success({ kind: "absent" });
    const { examineSqlite } = await import("./sqlite_examine.ts");
    return success(examineSqlite(sqlitePath, lookFor));
  } catch (error) {
    if (!(error instanceof UnusableError)) throw error;
    return failure(error);
  }
}

/** A path out of reach is no absent file: the start would not make it. */
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
