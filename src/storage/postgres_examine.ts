/** Examines a PostgreSQL database without making its schema. */
import { UnusableError } from "../lib/result.ts";
import { type AbsentStorage, markKey, type SoundStorage } from "./open_storage.ts";
import type { PostgresLocation } from "./database_url.ts";
import { encodeKey, type StorageKey } from "./port.ts";
import { describePostgresFailure, hasSchema, requireUsableServer } from "./postgres_storage.ts";
import { connectPostgres, postgresLimits } from "./postgres_connection.ts";

/** Rejects with {@link UnusableError} when the server or the schema cannot be used. */
export async function examinePostgres(
  location: PostgresLocation,
  lookFor: StorageKey,
  schema = "portcullis",
): Promise<SoundStorage | AbsentStorage> {
  const connection = connectPostgres(location, { ...postgresLimits, connections: 1 });
  try {
    return await connection.whenReachable(async () => {
      const { sql } = connection;
      await requireUsableServer(sql);
      if (!await hasSchema(sql, schema)) return { kind: "absent" };
      const find = async (key: StorageKey): Promise<{ readonly value: string } | undefined> => {
        const select = `SELECT value FROM ${schema}.entry WHERE key = $1`;
        return (await sql.unsafe<{ value: string }[]>(select, [encodeKey(key)]))[0];
      };
      const [row, found] = await Promise.all([find(markKey), find(lookFor)]);
      return { kind: "sound", mark: row === undefined ? null : JSON.parse(row.value), isFound: found !== undefined };
    });
  } catch (error) {
    if (error instanceof UnusableError) throw error;
    const { problem, remedy } = describePostgresFailure(error, location);
    throw new UnusableError(problem, remedy);
  } finally {
    await connection.close();
  }
}
