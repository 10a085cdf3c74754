/**
 * Moves a Deno KV file, in which earlier versions could keep their entries, into the SQLite database of a data
 * directory: `deno run -A scripts/move_kv_file.ts FILE DATA_DIR`. Stop the server first. The file stays as it is.
 */
import { join } from "node:path";
import { dataFiles } from "../src/storage/mod_settings.ts";
import { decodeRecord, isLive, readContent } from "../src/storage/deno_kv_storage.ts";
import { openStorage } from "../src/storage/open_storage.ts";
import type { StorageKey } from "../src/storage/port.ts";

/** Copies every entry that has not expired; rejects where the data directory has a database already. */
export async function moveKvFile(file: string, dataDir: string, clock: () => number): Promise<number> {
  const sqlitePath = join(dataDir, dataFiles.database);
  if (await Deno.lstat(sqlitePath).catch(() => null) !== null) throw new Error(`${sqlitePath} is there already`);
  await Deno.lstat(file); // KV would make an absent one
  const kv = await Deno.openKv(file);
  const opened = await openStorage({ sqlitePath, clock });
  if (!opened.ok) throw new Error(`${opened.error.problem}: ${opened.error.remedy}`);
  let moved = 0;
  try {
    for await (const { key: [, ...parts], value } of kv.list({ prefix: ["entry"] })) {
      const record = decodeRecord(value);
      if (!isLive(record, clock())) continue;
      const json = await readContent(kv, record.content);
      if (json === null) continue;
      const { expiresAt } = record;
      const key = parts.map(String) as unknown as StorageKey;
      const put = { key, value: JSON.parse(json), ...(expiresAt === null ? {} : { expiresAt }) };
      await opened.value.commit({ puts: [put] });
      moved += 1;
    }
  } finally {
    kv.close();
    await opened.value.close();
  }
  return moved;
}

if (import.meta.main) {
  const [file, dataDir] = Deno.args;
  const say = (text: string): void => void Deno.stdout.writeSync(new TextEncoder().encode(`${text}\n`));
  if (file === undefined || dataDir === undefined) {
    say(
      "error: FILE and DATA_DIR are needed\nhint: deno run -A scripts/move_kv_file.ts /var/lib/portcullis.kv ~/.portcullis",
    );
    Deno.exit(2);
  }
  say(`${await moveKvFile(file, dataDir, Date.now)} entries are in ${join(dataDir, dataFiles.database)}`);
}
