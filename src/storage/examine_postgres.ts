/** Examines a PostgreSQL database without making or upgrading its schema. */
import { markKey } from "./bind_master_key.ts";
import type { PostgresLocation } from "./database_url.ts";
import type { AbsentStorage, SoundStorage } from "./examine_storage.ts";
import { encodeKey } from "./key_text.ts";
import { describePostgresFailure, requireUsableServer } from "./postgres.ts";
import { connectPostgres, postgresLimits } from "./postgres_connection.ts";
import { foundVersion } from "./postgres_schema.ts";
import { UnusableStorageError } from "./unusable_storage.ts";

/** Rejects with {@link UnusableStorageError} when the server or the schema cannot be used. */
export async function examinePostgres(
  location: PostgresLocation,
  schema = "portcullis",
): Promise<SoundStorage | AbsentStorage> {
  const connection = connectPostgres(location, { ...postgresLimits, connections: 1 });
  try {
    return await connection.whenReachable(async () => {
      const { sql } = connection;
      await requireUsableServer(sql);
      if (await foundVersion(sql, schema) === 0) return { kind: "absent" };
      const [row] = await sql.unsafe<{ value: string }[]>(
        `SELECT value FROM ${schema}.entry WHERE key = $1`,
        [encodeKey(markKey)],
      );
      return { kind: "sound", mark: row === undefined ? null : JSON.parse(row.value) };
    });
  } catch (error) {
    if (error instanceof UnusableStorageError) throw error;
    const { problem, remedy } = describePostgresFailure(error, location);
    throw new UnusableStorageError(problem, remedy);
  } finally {
    await connection.close();
  }
}
