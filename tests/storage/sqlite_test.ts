import assert from "node:assert/strict";
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { fileURLToPath } from "node:url";
import { loadKernel } from "../../src/lib/kernel/kernel.ts";
import { UnusableError } from "../../src/lib/result.ts";
import { formerCommits, formerDatabase } from "../fixtures/former_database.ts";
import type { Storage } from "../../src/storage/port.ts";
import { guardStorage } from "../../src/storage/open_storage.ts";
import { describeSqliteFailure, openSqliteStorage } from "../../src/storage/sqlite_storage.ts";
import { put, testStorageContract } from "./contract.ts";
import { type SharedStoragePlace, testStorageProcesses } from "./contract_processes.ts";
import { countCalls } from "./contract_watch.ts";
import { startStorageProcess } from "./start_storage_process.ts";

interface SqlitePlace extends SharedStoragePlace {
  readonly path: string;
  readonly open: (busyTimeoutMs?: number) => Promise<Storage>;
}

const kernel = loadKernel();
const watchCommits = kernel.available ? kernel.watchCommits : undefined;
/** Without the kernel's watch, and with it where there is one. */
const ways = watchCommits === undefined ? [{}] : [{}, { watchCommits }];

async function sqlitePlace(options: { readonly watchCommits?: typeof watchCommits } = {}): Promise<SqlitePlace> {
  const directory = await Deno.makeTempDir({ prefix: "portcullis-sqlite-" });
  const path = `${directory}/portcullis.db`;
  let now = 1_700_000_000_000;
  return {
    path,
    location: ["sqlite", path],
    open: async (busyTimeoutMs = 5_000) =>
      await openSqliteStorage({ path, clock: () => now, busyTimeoutMs, ...options }),
    advance: (milliseconds) => void (now += milliseconds),
    now: () => now,
    [Symbol.asyncDispose]: () => Deno.remove(directory, { recursive: true }),
  };
}

for (const way of ways) testStorageContract(["sqlite", ...Object.keys(way)].join(", "), () => sqlitePlace(way));
for (const way of ways) {
  const name = ["sqlite storage", ...Object.keys(way)].join(", ");
  Deno.test(`${name}: what was read may be trusted until another process commits`, () => trustUntilCommit(way));
  Deno.test(`${name}: the change count sees each commit of another process that has returned`, () => seeEach(way));
}

async function trustUntilCommit(way: (typeof ways)[number]): Promise<void> {
  await using place = await sqlitePlace(way);
  const storage = await place.open();
  const value = async () => (await storage.get(["counter"]))?.value;
  let isOver = false;
  const processes = Array.from({ length: 3 }, () => startStorageProcess(place.location, "increment").lines);
  const ended = Promise.all(processes).then(() => void (isOver = true));
  let [count, trusted, moved] = [await storage.changeCount(), await value(), 0];
  for (let wasOver = false; !wasOver;) {
    wasOver = isOver;
    const found = await value();
    const now = await storage.changeCount();
    if (now === count) assert.equal(found, trusted);
    else [count, trusted, moved] = [now, await value(), moved + 1];
    await new Promise((resolve) => setTimeout(resolve));
  }
  await ended;
  assert.equal(trusted, 75);
  assert.ok(moved > 1);
  await storage.close();
}

/** Also those that begin a new write-ahead log, and those after a commit of our own. */
async function seeEach(way: (typeof ways)[number]): Promise<void> {
  await using place = await sqlitePlace(way);
  const storage = await place.open();
  const program = fileURLToPath(new URL("./storage_process.ts", import.meta.url));
  const args = ["run", "--allow-all", "--no-check", program, ...place.location, "commit"];
  const child = new Deno.Command(Deno.execPath(), { args, stdin: "piped", stdout: "piped" }).spawn();
  const [input, output] = [child.stdin.getWriter(), child.stdout.getReader()];
  for (let commit = 1; commit <= 300; commit++) {
    if (commit % 7 === 0) await put(storage, ["own"], commit);
    const before = await storage.changeCount();
    await input.write(new Uint8Array(1));
    await output.read(); // says that it has returned
    assert.notEqual(await storage.changeCount(), before, `commit ${commit}`);
    if (commit % 50 !== 0) continue;
    const third = new DatabaseSync(place.path);
    third.prepare("PRAGMA wal_checkpoint(RESTART)").get();
    third.close();
  }
  await input.close();
  await output.cancel();
  await child.status;
  await storage.close();
}

Deno.test("sqlite storage: where there is no write-ahead log, SQLite is asked for the change count", async () => {
  await using place = await sqlitePlace({ watchCommits: () => () => false });
  const keeper = await place.open();
  await put(keeper, ["k"], 1);
  await keeper.close();
  const prepare = DatabaseSync.prototype.prepare;
  DatabaseSync.prototype.prepare = function (sql) { // as on a file system that cannot share memory
    return prepare.call(this, sql.replace("journal_mode = WAL", "journal_mode = DELETE"));
  };
  try {
    const [storage, other] = [await place.open(), await place.open()];
    const before = await storage.changeCount();
    await put(other, ["k"], 2);
    assert.notEqual(await storage.changeCount(), before);
    await storage.close();
    await other.close();
  } finally {
    DatabaseSync.prototype.prepare = prepare;
  }
});

Deno.test("sqlite storage: a watch that misses this connection's commits is trusted for no other's", async () => {
  await using place = await sqlitePlace({ watchCommits: () => () => false });
  const [storage, other] = [await place.open(), await place.open()];
  await put(storage, ["k"], 1);
  const before = await storage.changeCount();
  await put(other, ["k"], 2);
  assert.notEqual(await storage.changeCount(), before);
  await storage.close();
  await other.close();
});

testStorageContract("guarded sqlite", async () => {
  const place = await sqlitePlace();
  const describe = (error: unknown) => describeSqliteFailure(error, place.path);
  return { ...place, open: async () => guardStorage(await place.open(), { describe }) };
});
testStorageProcesses("sqlite", () => sqlitePlace());

Deno.test("sqlite storage: the database and its side files are for their owner alone (0600)", async () => {
  await using place = await sqlitePlace();
  const storage = await place.open();
  await put(storage, ["k"], 1);
  for (const suffix of ["", "-wal", "-shm"]) {
    assert.equal(((await Deno.stat(place.path + suffix)).mode ?? 0) & 0o777, 0o600, suffix);
  }
  await storage.close();
});

Deno.test("sqlite storage: an opening that fails on the way leaves the database closed", async () => {
  await using place = await sqlitePlace({
    watchCommits() {
      throw new Error("no descriptor is left");
    },
  });
  await assert.rejects(place.open(), { message: "no descriptor is left" });
  const left = Array.from(Deno.readDirSync(dirname(place.path)), ({ name }) => name);
  assert.deepEqual(left, ["portcullis.db"], "the last to close it removes its log");
});

Deno.test("sqlite storage: refuses a database of another format, and leaves it as it is", async () => {
  const formats = [[99, /newer version/, /run that version/], [4, /newer version/, /run that version/]] as const;
  const earlier = [2, 1, 0, -1].map((version) => [version, /an earlier version/, /start over/] as const);
  for (const [version, problem, remedy] of [...formats, ...earlier]) {
    await using place = await sqlitePlace();
    const storage = await place.open();
    await put(storage, ["k"], 1);
    await storage.close();
    const database = new DatabaseSync(place.path);
    database.exec(`PRAGMA user_version = ${version}`);
    database.close();
    const before = await Deno.readFile(place.path);
    await assert.rejects(place.open(), (error: unknown) => {
      assert.ok(error instanceof UnusableError);
      assert.match(error.message, problem);
      assert.match(error.remedy, remedy);
      return true;
    });
    assert.deepEqual(await Deno.readFile(place.path), before);
  }
});

Deno.test("sqlite storage: refuses what the states before this format wrote", async () => {
  for (const commit of formerCommits) {
    await using place = await sqlitePlace();
    await Deno.writeFile(place.path, formerDatabase(commit), { mode: 0o600 });
    await assert.rejects(place.open(), /an earlier version of Portcullis \(format 2; this one reads 3\)/);
  }
});

Deno.test("sqlite storage: who was told of nothing for more changes than are kept is told that anything may have changed", async () => {
  await using place = await sqlitePlace();
  const [watching, writing] = [await place.open(), await place.open()];
  const calls = countCalls(watching, ["user", "unchanged"]);
  const called = calls.next();
  // All in one turn, so that the watch has no chance to look in between.
  const writes: Promise<unknown>[] = [];
  for (let batch = 0; batch < 101; batch++) {
    const puts = Array.from({ length: 100 }, (_, at) => ({ key: ["user", String(at)] as const, value: batch }));
    writes.push(writing.commit({ puts }));
  }
  await Promise.all(writes);
  await called;
  calls.stop();
  await watching.close();
  await writing.close();
});

Deno.test("sqlite storage: refuses, unchanged, a file that is no database and a database of another program", async () => {
  await using place = await sqlitePlace();
  await Deno.writeTextFile(place.path, "not a database, but long enough to look for a header\n".repeat(100));
  const before = await Deno.readTextFile(place.path);
  await assert.rejects(place.open(), UnusableError);
  assert.equal(await Deno.readTextFile(place.path), before);
  await Deno.remove(place.path);
  const database = new DatabaseSync(place.path);
  database.exec("CREATE TABLE entry (id INTEGER)");
  database.close();
  const bytes = await Deno.readFile(place.path);
  await assert.rejects(place.open(), /another program/);
  assert.deepEqual(await Deno.readFile(place.path), bytes);
});

Deno.test("sqlite storage: a database that cannot be opened is refused in words", async () => {
  await using place = await sqlitePlace();
  await Deno.mkdir(place.path);
  await assert.rejects(place.open(), (error: unknown) => {
    assert.ok(error instanceof UnusableError);
    assert.match(error.message, /portcullis\.db cannot be opened: EISDIR$/);
    return true;
  });
});

Deno.test("sqlite storage: opening waits for another process that is just making the same database", async () => {
  await using place = await sqlitePlace();
  const program = `
    import { DatabaseSync } from "node:sqlite";
    const database = new DatabaseSync(${JSON.stringify(place.path)});
    database.exec("BEGIN IMMEDIATE");
    postMessage("holds the lock");
    setTimeout(() => { database.close(); close(); }, 150);`;
  const address = URL.createObjectURL(new Blob([program], { type: "text/javascript" }));
  const worker = new Worker(address, { type: "module" });
  await new Promise((resolve) => worker.onmessage = resolve);
  const storage = await place.open(60_000); // without waiting: "database is locked" at once
  await put(storage, ["k"], 1);
  await storage.close();
  worker.terminate();
  URL.revokeObjectURL(address);
});

Deno.test("sqlite storage: a database that stays busy rejects the write, not the reads, and goes on afterwards", async () => {
  await using place = await sqlitePlace();
  const storage = await place.open(20);
  await put(storage, ["k"], 1);
  const holder = new DatabaseSync(place.path);
  holder.exec("BEGIN IMMEDIATE");
  await assert.rejects(put(storage, ["k"], 2), /locked/);
  await assert.rejects(storage.consume(["k"]), /locked/);
  assert.equal((await storage.get(["k"]))?.value, 1);
  const opened = await place.open(20); // an instance can start meanwhile
  holder.exec("ROLLBACK");
  await put(opened, ["k"], 3);
  assert.equal((await storage.consume(["k"]))?.value, 3);
  holder.close();
  await opened.close();
  await storage.close();
});

Deno.test("sqlite storage: a full disk rejects the write, keeps what was acknowledged, and can still be read", async () => {
  await using place = await sqlitePlace();
  const filling = startStorageProcess(place.location, "fill", { limitKibibytes: 2_048 });
  const lines = await filling.lines;
  const refused = lines.findIndex((line) => line.startsWith("refused: "));
  assert.ok(refused > 2, lines.join("\n"));
  assert.equal(lines[refused + 1], "first: true, last: false");
  const storage = await place.open();
  const kept = await storage.list(["fill"], { limit: 1_000 });
  assert.deepEqual(kept.map(({ key }) => key[1]).sort(), lines.slice(0, refused).sort());
  await put(storage, ["fill", "after"], 1);
  await storage.close();
});

Deno.test("sqlite storage: writes wait for another process's lock without keeping the thread, in their order", async () => {
  await using place = await sqlitePlace();
  const storage = await place.open(60_000);
  const holder = new DatabaseSync(place.path);
  holder.exec("BEGIN IMMEDIATE");
  const done: number[] = [];
  const writes = [1, 2, 3].map((value) => put(storage, ["k"], value).then(() => void done.push(value)));
  let turns = 0;
  for (; turns < 20; turns += 1) await new Promise((resolve) => setTimeout(resolve, 1));
  assert.deepEqual(done, []);
  assert.equal(await storage.get(["k"]), null);
  holder.exec("ROLLBACK");
  holder.close();
  await Promise.all(writes);
  assert.deepEqual(done, [1, 2, 3]);
  assert.equal((await storage.get(["k"]))?.value, 3);
  await storage.close();
});

Deno.test("sqlite storage: closing rejects the writes that still wait for a lock", async () => {
  await using place = await sqlitePlace();
  const storage = await place.open(60_000);
  const holder = new DatabaseSync(place.path);
  holder.exec("BEGIN IMMEDIATE");
  const refused = assert.rejects(put(storage, ["k"], 1), /locked/);
  await storage.close();
  await refused;
  holder.close();
});

Deno.test("sqlite storage: a server refuses a damaged database, whichever page it is, and says to restore", async () => {
  await using place = await sqlitePlace();
  const storage = await place.open();
  for (let count = 0; count < 300; count += 1) {
    await put(storage, ["user", String(count)], "x".repeat(300), count % 3 === 0 ? place.now() + 1_000 : undefined);
  }
  await storage.close();
  const sound = await Deno.readFile(place.path);
  const pageBytes = 4_096;
  const pages = sound.byteLength / pageBytes;
  assert.ok(pages > 10);
  const damaged: [string, Uint8Array<ArrayBuffer>][] = [
    ["half of it", sound.slice(0, Math.floor(pages / 2) * pageBytes)],
    ["a page too few", sound.slice(0, sound.byteLength - pageBytes)],
  ];
  for (let page = 0; page < pages; page += 1) {
    const zeroed = sound.slice();
    zeroed.fill(0, page * pageBytes + (page === 0 ? 100 : 0), (page + 1) * pageBytes);
    damaged.push([`page ${page} zeroed`, zeroed]);
  }
  const swapped = sound.slice();
  swapped.copyWithin(2 * pageBytes, 5 * pageBytes, 6 * pageBytes);
  damaged.push(["a page twice", swapped]);
  const open = (): Storage => openSqliteStorage({ path: place.path, clock: place.now, checkedBytes: 2 ** 28 });
  for (const [what, bytes] of damaged) {
    await Deno.writeFile(place.path, bytes);
    try {
      await open().close();
      assert.fail(`${what}: opened`);
    } catch (error) {
      assert.ok(error instanceof UnusableError, `${what}: ${error}`);
      assert.match(error.message, /is damaged|is not a database/, what);
      assert.match(error.remedy, /portcullis restore/, what);
    }
  }
  await Deno.writeFile(place.path, sound);
  await open().close();
});
