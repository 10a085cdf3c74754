/** What `doctor`, and a start, say of a database and its master key. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { DatabaseSync } from "node:sqlite";
import { setUpOwner } from "../fixtures/owner.ts";
import { formerCommits, formerDatabase } from "../fixtures/former_database.ts";
import { createPerson } from "../fixtures/person.ts";
import { freePort } from "../fixtures/free_port.ts";
import { makeServerPlace, runCommand, startServer } from "../fixtures/running_server.ts";
import { ownMounts, withMounts } from "../fixtures/own_mounts.ts";
import { findPostgres, startPostgresCluster } from "../storage/postgres_cluster.ts";

const spoilings: readonly [string, (dataDir: string) => Promise<void>, RegExp, RegExp][] = [
  [
    "a damaged database",
    async (dataDir) => {
      const path = `${dataDir}/portcullis.db`;
      const bytes = await Deno.readFile(path);
      await Deno.writeFile(path, bytes.fill(0, 4_096, 8_192));
    },
    /portcullis\.db is damaged/,
    / restore( --data-dir \S+)?` on a backup/,
  ],
  [
    "another master key",
    (dataDir) => Deno.writeFile(`${dataDir}/master.key`, randomBytes(32)),
    /written with another master key/,
    /copy master\.key/,
  ],
  [
    "a master key of 5 bytes",
    (dataDir) => Deno.writeFile(`${dataDir}/master.key`, new Uint8Array(5)),
    /master\.key is not a master key/,
    /backup/,
  ],
  [
    "a lost master key",
    (dataDir) => Deno.remove(`${dataDir}/master.key`),
    /master\.key is missing, and the database was written with it/,
    /put master\.key back/,
  ],
  ...formerCommits.map((commit): (typeof spoilings)[number] => [
    `the database of commit ${commit}`,
    (dataDir) => Deno.writeFile(`${dataDir}/portcullis.db`, formerDatabase(commit)),
    /written by an earlier version of Portcullis \(format 2; this one reads 3\)/,
    /keep using that version, or start over/,
  ]),
  [
    "a database of a newer version",
    (dataDir) => {
      const database = new DatabaseSync(`${dataDir}/portcullis.db`);
      database.exec("PRAGMA user_version = 99");
      database.close();
      return Promise.resolve();
    },
    /written by a newer version of Portcullis/,
    /run that version or a newer one/,
  ],
  [
    "the database of another program",
    async (dataDir) => {
      await Deno.remove(`${dataDir}/portcullis.db`);
      const database = new DatabaseSync(`${dataDir}/portcullis.db`);
      database.exec("CREATE TABLE theirs (id INTEGER)");
      database.close();
    },
    /database of another program/,
    /choose another data directory/,
  ],
];

function linesOf(text: string): string {
  return text.split("\n").filter((line, at, all) =>
    /(^|\s)database: /.test(line) || /database: /.test(all[at - 1] ?? "")
  )
    .join("\n");
}

for (const [what, spoil, problem, remedy] of spoilings) {
  Deno.test(`doctor and the start both say what is wrong with ${what}, and change nothing`, async () => {
    await using place = await makeServerPlace();
    const data = ["--data-dir", place.dataDir];
    assert.equal((await runCommand(["token", "create", "--scope", "files:read", ...data])).code, 0);
    const before = await runCommand(["doctor", ...data]);
    assert.match(linesOf(before.stdout), /^ok +database: is undamaged, writable, and belongs to the master key/m);
    await spoil(place.dataDir);
    const names = (): string[] => Array.from(Deno.readDirSync(place.dataDir), ({ name }) => name).sort();
    const left = names();
    const doctor = await runCommand(["doctor", ...data]);
    assert.equal(doctor.code, 1);
    const told = linesOf(doctor.stdout);
    assert.match(told, /^FAIL +database: /m);
    assert.match(told, problem);
    assert.match(told, remedy);
    assert.doesNotMatch(doctor.stdout, /master\.key does not exist yet/);
    const start = await runCommand(["serve", "--port", "0", ...data, "--workspace", place.workspaceDir]);
    assert.equal(start.code, 1);
    assert.match(start.stderr, problem);
    assert.match(start.stderr, remedy);
    assert.deepEqual(
      names().filter((name) => !/-(wal|shm)$/.test(name)),
      left.filter((name) => !/-(wal|shm)$/.test(name)),
    );
  });
}

Deno.test("doctor warns of a database that is not there yet, makes none, and fails for a PostgreSQL that is not there", async () => {
  await using place = await makeServerPlace();
  const data = ["--data-dir", `${place.dataDir}/new`];
  const fresh = await runCommand(["doctor", ...data]);
  assert.match(linesOf(fresh.stdout), /^note +database: does not exist yet: the first start makes it$/m);
  await assert.rejects(Deno.stat(`${place.dataDir}/new`), Deno.errors.NotFound);
  const env = { DATABASE_URL: "postgres://u:hunter2@127.0.0.1:1/x" };
  const away = await runCommand(["doctor", ...data], { env });
  assert.equal(away.code, 1);
  assert.match(linesOf(away.stdout), /^FAIL +database: PostgreSQL database x at 127\.0\.0\.1, port 1, cannot be used/m);
  assert.ok(!away.stdout.includes("hunter2"));
  const start = await runCommand(["serve", "--port", "0", ...data, "--workspace", place.workspaceDir], { env });
  assert.equal(start.code, 1);
  assert.match(
    start.stderr,
    /"event":"waiting_for_database","host":"127\.0\.0\.1","port":1\}[^]*\nerror: PostgreSQL database x/,
  );
});

Deno.test({
  name: `doctor and connections fail for a full disk, name it, and claim no database that can be written${
    ownMounts === null ? " (skipped: this machine lets nobody mount)" : ""
  }`,
  ignore: ownMounts === null,
  async fn() {
    await using place = await makeServerPlace();
    await Deno.mkdir(place.dataDir, { recursive: true, mode: 0o700 });
    const { dataDir, workspaceDir } = place;
    const run = (args: string) =>
      `"$DENO" run -A main.ts ${args} --port ${freePort()} --data-dir ${dataDir} --workspace ${workspaceDir}`;
    const script = [
      `mount -t tmpfs -o size=8m,mode=700 none ${dataDir}`,
      `${run("token create --scope files:read")} >/dev/null 2>&1`,
      `{ dd if=/dev/zero of=${dataDir}/fill bs=64k 2>/dev/null || :; }`,
      `${run("doctor")} || echo "status $?"`,
      "echo of connections",
      `${run("connections")} || echo "status $?"`,
    ].join("; ");
    const [command = "", ...args] = withMounts(script);
    const { stdout } = await new Deno.Command(command, {
      args: [...args, "true"],
      env: { DENO: Deno.execPath(), OLLAMA_HOST: "127.0.0.1:1" },
    }).output();
    const [text = "", ofConnections = ""] = new TextDecoder().decode(stdout).split("of connections\n");
    assert.match(ofConnections, /database: .*: its disk is full[^]*\nstatus 1\n$/);
    assert.equal(text.match(/^FAIL +database: .*: its disk is full\n +hint: free some space/gm)?.length, 1, text);
    assert.equal(text.match(/^FAIL +disk( of the data)?: is full: .*\n +hint: free some space/gm)?.length, 1, text);
    assert.equal(text.match(/^status 1$/gm)?.length, 1, text);
    assert.doesNotMatch(text, /can be written, and/);
  },
});

Deno.test("doctor warns until the server has an owner", async () => {
  await using place = await makeServerPlace();
  const examine = async (): Promise<string> =>
    linesOf((await runCommand(["doctor", "--data-dir", place.dataDir])).stdout);
  {
    await using server = await startServer(place);
    assert.match(await examine(), /^warn +owner: there is none yet/m);
    await setUpOwner(createPerson(server.url), server);
  }
  assert.doesNotMatch(await examine(), /owner:/);
});

const onPostgres = "doctor finds the owner in PostgreSQL, too";
const found = findPostgres();
if ("missing" in found) {
  Deno.test({ name: `SKIPPED ${onPostgres}: ${found.missing}`, ignore: true, fn: () => {} });
} else {
  Deno.test(onPostgres, async () => {
    await using cluster = await startPostgresCluster(found.programs);
    await using place = await makeServerPlace();
    const env = { DATABASE_URL: cluster.url };
    const examine = async (): Promise<string> =>
      linesOf((await runCommand(["doctor", "--data-dir", place.dataDir], { env })).stdout);
    {
      await using server = await startServer(place, { env });
      assert.match(await examine(), /^warn +owner: there is none yet/m);
      await setUpOwner(createPerson(server.url), server);
    }
    const told = await examine();
    assert.match(told, /^ok +database: /m);
    assert.doesNotMatch(told, /owner:/);
  });
}
