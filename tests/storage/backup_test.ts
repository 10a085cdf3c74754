import assert from "node:assert/strict";
import { pause } from "../../src/lib/time.ts";
import { backupDataDirectory, restoreDataDirectory } from "../../src/storage/backup.ts";
import { openDataDirectory } from "../../src/storage/data_directory.ts";
import { openSqliteStorage } from "../../src/storage/sqlite_storage.ts";
import { UnusableError } from "../../src/lib/result.ts";
import { put } from "./contract.ts";
import { startStorageProcess } from "./start_storage_process.ts";

interface Directories {
  readonly parent: string;
  readonly data: string;
  readonly backup: string;
  readonly restored: string;
}

/** A data directory with one entry in it, and names for the others. */
async function withDataDirectory(run: (directories: Directories) => Promise<void>): Promise<void> {
  const parent = await Deno.makeTempDir({ prefix: "portcullis-backup-" });
  try {
    const data = `${parent}/data`;
    openDataDirectory(data);
    const storage = openSqliteStorage({ path: `${data}/portcullis.db`, clock: Date.now });
    await put(storage, ["k"], "kept");
    await storage.close();
    await run({ parent, data, backup: `${parent}/to/backup`, restored: `${parent}/restored` });
  } finally {
    await Deno.remove(parent, { recursive: true });
  }
}

const names = (directory: string): string[] => Array.from(Deno.readDirSync(directory), ({ name }) => name).sort();

async function modeOf(path: string): Promise<number> {
  return ((await Deno.stat(path)).mode ?? 0) & 0o777;
}

Deno.test("backupDataDirectory() and restoreDataDirectory() bring everything back, for its owner alone", () =>
  withDataDirectory(async ({ parent, data, backup, restored }) => {
    const done = await backupDataDirectory({ from: data, to: backup });
    assert.deepEqual(done, ["portcullis.db", "master.key"]);
    assert.deepEqual(names(`${parent}/to`), ["backup"], "nothing is left aside");
    assert.deepEqual(names(backup), ["master.key", "portcullis.db"]);
    assert.equal(await modeOf(backup), 0o700);
    for (const name of names(backup)) assert.equal(await modeOf(`${backup}/${name}`), 0o600, name);

    restoreDataDirectory({ from: backup, to: restored });
    assert.deepEqual(names(restored), ["master.key", "portcullis.db"]);
    assert.equal(await modeOf(restored), 0o700);
    for (const name of names(restored)) assert.equal(await modeOf(`${restored}/${name}`), 0o600, name);
    assert.deepEqual(openDataDirectory(restored), openDataDirectory(data));
    const storage = openSqliteStorage({ path: `${restored}/portcullis.db`, clock: Date.now });
    assert.equal((await storage.get(["k"]))?.value, "kept");
    await put(storage, ["k"], "written");
    await storage.close();
  }));

Deno.test("backupDataDirectory() copies one moment of a database that another process is writing, without stopping it", () =>
  withDataDirectory(async ({ data, backup, restored }) => {
    const writing = startStorageProcess(["sqlite", `${data}/portcullis.db`], "acknowledge", { word: "w" });
    await writing.started;
    const running = openSqliteStorage({ path: `${data}/portcullis.db`, clock: Date.now });
    const written = async (): Promise<number> => (await running.list(["left", "w"], { limit: 100_000 })).length;
    while (await written() === 0) await pause(1);
    const before = await written();
    await backupDataDirectory({ from: data, to: backup });
    const once = await written();
    while (await written() === once) await pause(1); // the writer goes on
    writing.kill();
    await writing.lines;
    await running.close();
    restoreDataDirectory({ from: backup, to: restored });
    const storage = openSqliteStorage({ path: `${restored}/portcullis.db`, clock: Date.now });
    const values = async (side: string) =>
      (await storage.list([side, "w"], { limit: 100_000 })).map(({ value }) => Number(value)).sort((a, b) => a - b);
    const left = await values("left");
    assert.deepEqual(left, await values("right"));
    assert.deepEqual(left, Array.from(left, (_, at) => at), "every commit up to one moment, and none after");
    assert.ok(left.length >= before && left.length <= once);
    await storage.close();
  }));

Deno.test("backupDataDirectory() makes nothing of a directory without data, and overwrites nothing", () =>
  withDataDirectory(async ({ parent, data, backup }) => {
    await assert.rejects(backupDataDirectory({ from: `${parent}/typo`, to: backup }), /typo.* does not exist$/);
    assert.deepEqual(names(parent), ["data"], "the typo was not made");
    await Deno.mkdir(backup, { recursive: true });
    await Deno.writeTextFile(`${backup}/precious`, "x");
    await assert.rejects(backupDataDirectory({ from: data, to: backup }), /backup is not empty$/);
    assert.deepEqual(names(backup), ["precious"]);
    await Deno.remove(`${backup}/precious`);
    await backupDataDirectory({ from: data, to: backup }); // an empty directory is taken
    assert.equal(await modeOf(backup), 0o700);
  }));

Deno.test("backupDataDirectory() that is stopped leaves nothing behind", () =>
  withDataDirectory(async ({ parent, data, backup }) => {
    const stopped = Promise.resolve();
    await assert.rejects(
      backupDataDirectory({ from: data, to: backup, stopped }),
      /was stopped: nothing is left of it$/,
    );
    assert.deepEqual(names(`${parent}/to`), []);
  }));

Deno.test("backupDataDirectory() refuses a damaged database and leaves nothing behind", () =>
  withDataDirectory(async ({ parent, data, backup }) => {
    await Deno.writeTextFile(`${data}/portcullis.db`, "no database\n".repeat(1_000));
    await assert.rejects(backupDataDirectory({ from: data, to: backup }), /could not be copied/);
    assert.deepEqual(names(`${parent}/to`), []);
  }));

Deno.test("backupDataDirectory() refuses a database of which pages in the middle are damaged", () =>
  withDataDirectory(async ({ data, backup }) => {
    const path = `${data}/portcullis.db`;
    const storage = openSqliteStorage({ path, clock: Date.now });
    for (let at = 0; at < 200; at++) await put(storage, ["k", `${at}`], "x".repeat(1_000));
    await storage.close();
    const bytes = await Deno.readFile(path);
    await Deno.writeFile(path, bytes.fill(9, 4_096, 12_288));
    await assert.rejects(backupDataDirectory({ from: data, to: backup }), /damaged|malformed/);
    await assert.rejects(Deno.stat(backup));
  }));

Deno.test("restoreDataDirectory() refuses to overwrite, and backups that are damaged, incomplete or none", () =>
  withDataDirectory(async ({ parent, data, backup, restored }) => {
    await backupDataDirectory({ from: data, to: backup });
    assert.throws(() => restoreDataDirectory({ from: backup, to: data }), /data is not empty$/);
    const refuses = (problem: RegExp): void => {
      const isRefused = (error: unknown) => error instanceof UnusableError && problem.test(error.problem);
      assert.throws(() => restoreDataDirectory({ from: backup, to: restored }), isRefused);
      assert.ok(!names(parent).includes("restored"), "nothing was made");
    };
    const database = await Deno.readFile(`${backup}/portcullis.db`);
    await Deno.writeFile(`${backup}/portcullis.db`, database.subarray(0, database.length - 4_096));
    refuses(/damaged|database/);
    await Deno.writeTextFile(`${backup}/portcullis.db`, "no database\n".repeat(1_000));
    refuses(/is not a database/);
    await Deno.writeFile(`${backup}/portcullis.db`, database);
    await Deno.writeTextFile(`${backup}/portcullis.db-wal`, "");
    refuses(/is not a backup/);
    await Deno.remove(`${backup}/portcullis.db-wal`);
    await Deno.truncate(`${backup}/master.key`, 31);
    refuses(/master key/);
    await Deno.remove(`${backup}/master.key`);
    refuses(/does not exist/);
  }));
