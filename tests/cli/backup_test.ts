import assert from "node:assert/strict";
import { backupCommand } from "../../src/cli/backup_command.ts";
import type { CommandWork } from "../../src/cli/command.ts";
import { runToEnd } from "../../src/cli/run_command.ts";
import { restoreCommand } from "../../src/cli/backup_command.ts";
import { loadConfig } from "../../src/app/config/config.ts";
import { openDataDirectory } from "../../src/storage/data_directory.ts";
import { openSqliteStorage } from "../../src/storage/sqlite_storage.ts";

async function runCommand(
  command: CommandWork,
  words: readonly string[],
  dataDir: string,
  env: Record<string, string> = {},
) {
  let printed = "";
  let said = "";
  const status = await runToEnd({ name: "tried", summary: "", ...command }, {
    words,
    flags: {},
    loadConfig: () =>
      loadConfig({ flags: { "data-dir": dataDir }, env, readFile: (path) => Deno.readTextFileSync(path) }),
    findSetting: () => undefined,
    print: (text) => void (printed += text),
    say: (text) => void (said += text),
  });
  return { status, printed, said };
}

Deno.test("backup and restore copy the data directory there and back, and say what a restore brings back", async () => {
  const parent = await Deno.makeTempDir({ prefix: "portcullis-cli-backup-" });
  try {
    openDataDirectory(`${parent}/data`);
    await openSqliteStorage({ path: `${parent}/data/portcullis.db`, clock: Date.now }).close();
    const backup = await runCommand(backupCommand, [`${parent}/backup`], `${parent}/data`);
    assert.deepEqual([backup.status, backup.printed], [0, ""]);
    const restore = await runCommand(restoreCommand, [`${parent}/backup`], `${parent}/new`);
    assert.equal(restore.status, 0);
    assert.match(restore.said, /revoked after the backup/);
    const again = await runCommand(restoreCommand, [`${parent}/backup`], `${parent}/new`);
    assert.equal(again.status, 1);
    assert.match(again.said, /^error: .*is not empty\nhint: /);
    const elsewhere = await runCommand(backupCommand, [`${parent}/other`], `${parent}/nothing`);
    assert.equal(elsewhere.status, 1);
    assert.match(elsewhere.said, /^error: .*does not exist\nhint: /);
  } finally {
    await Deno.remove(parent, { recursive: true });
  }
});

Deno.test("backup and restore take exactly one directory", async () => {
  for (const command of [backupCommand, restoreCommand]) {
    for (const words of [[], ["a", "b"]]) {
      const { status, said } = await runCommand(command, words, "/nowhere");
      assert.equal(status, 2);
      assert.match(said, /^error: .*\nhint: /);
    }
  }
});

Deno.test("backup and restore say so when entries are kept elsewhere, rather than copy half of an installation", async () => {
  for (const command of [backupCommand, restoreCommand]) {
    const elsewhere = { DATABASE_URL: "postgres://u:hunter2@127.0.0.1/d" };
    const { status, said } = await runCommand(command, ["/nowhere"], "/nothing", elsewhere);
    assert.equal(status, 1);
    assert.match(said, /^error: .*DATABASE_URL.*\nhint: .*master\.key/);
    assert.ok(!said.includes("hunter2"));
  }
});
