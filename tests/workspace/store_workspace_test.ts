import assert from "node:assert/strict";
import type { Storage, StoredEntry } from "../../src/storage/port.ts";
import { openSqliteStorage } from "../../src/storage/sqlite_storage.ts";
import { defaultWorkspaceLimits, type Workspace } from "../../src/files/workspace/port.ts";
import { openStoreWorkspace } from "../../src/files/store/store_workspace.ts";
import { keptBytes } from "../../src/files/workspace/change.ts";
import { pause } from "../../src/lib/time.ts";
import { at, tree } from "./contract.ts";

const encode = (text: string): Uint8Array => new TextEncoder().encode(text);
const oneHour = 60 * 60 * 1000;

Deno.test("others get their turn while a large directory is judged, deleted and swept", () =>
  withStorage(async (storage, clock) => {
    const workspace = openStoreWorkspace({ storage, name: "w", clock: () => clock.now });
    for (let number = 0; number < 300; number++) await workspace.write(at(`d/${number}`), encode("x"));
    let passes = 0;
    const timer = setInterval(() => passes++, 0);
    const removed = await workspace.remove(at("d"), { recursive: true });
    clearInterval(timer);
    assert.deepEqual(removed, { ok: true, value: { entries: 301 } });
    assert.ok(passes > 0);
  }));

Deno.test("a crash before any commit of a change leaves the old state or the new, and a later start sweeps the rest", () =>
  withStorage(async (storage, clock) => {
    const large = new Uint8Array(900_000).fill(7);
    const changes: readonly (readonly [string, (workspace: Workspace) => Promise<unknown>])[] = [
      ["replace", (workspace) => workspace.write(at("d/f"), large)],
      ["append", (workspace) => workspace.write(at("d/f"), large, { mode: "append" })],
      ["create", (workspace) => workspace.write(at("d/e/new"), large)],
      ["copy", (workspace) => workspace.copy(at("d/f"), at("g"))],
      ["move", (workspace) => workspace.move(at("d/f"), at("a"), { overwrite: true })],
      ["remove", (workspace) => workspace.remove(at("d"), { recursive: true })],
    ];
    for (const [what, change] of changes) {
      const changed = await reference(storage, `${what}-reference`, change);
      for (let survived = 0, isDone = false; !isDone; survived++) {
        const name = `${what}-${survived}`;
        const before = openStoreWorkspace({ storage, name, clock: () => clock.now });
        for (const path of ["a", "d/f", "d/other"]) {
          assert.ok((await before.write(at(path), encode(path.repeat(50_000)))).ok);
        }
        const old = await snapshot(before);
        const crashing = crashAfter(storage, survived);
        const workspace = openStoreWorkspace({ storage: crashing, name, clock: () => clock.now });
        isDone = await change(workspace).then(() => true, (error) => {
          assert.ok(error instanceof Crash);
          return false;
        });
        clock.now += 2 * oneHour;
        const after = openStoreWorkspace({ storage, name, clock: () => clock.now });
        const now = await snapshot(after);
        assert.ok(now === changed || (!isDone && now === old), `${what}, ${survived} commits: ${now}`);
        await assertNothingLost(storage, name);
      }
    }
  }));

Deno.test("what another process left when it crashed is swept by one that goes on", () =>
  withStorage(async (storage, clock) => {
    const options = { name: "w", clock: () => clock.now, trash: { keepMs: oneHour, maxBytes: 1_000_000 } };
    const workspace = openStoreWorkspace({ ...options, storage });
    assert.ok((await workspace.write(at("a"), encode("x"))).ok);
    const crashing = openStoreWorkspace({ ...options, storage: crashAfter(storage, 3) });
    await assert.rejects(crashing.write(at("large"), new Uint8Array(900_000)));
    const staged = async () => (await storage.list(["workspace", "w", "chunk"], { limit: 100 })).length;
    const left = await staged();
    assert.ok(left > 1);
    await workspace.trash?.tidy(clock.now);
    assert.equal(await staged(), left, "it may be under way");
    clock.now += 2 * oneHour;
    await workspace.trash?.tidy(clock.now);
    assert.equal(await staged(), 1);
    await assertNothingLost(storage, "w");
  }));

Deno.test("writers in two processes exclude each other: one conditional winner, one creator, every append kept", () =>
  withStorage(async (storage, clock) => {
    const options = { storage, name: "shared", clock: () => clock.now };
    const two = [openStoreWorkspace(options), openStoreWorkspace(options)] as const;
    const everyone = Array.from({ length: 10 }, (_, n) => [two[n % 2] ?? two[0], n] as const);
    const first = await two[0].write(at("f"), encode("start"));
    assert.ok(first.ok);
    const ifMatch = first.value.sha256;
    const won = await Promise.all(everyone.map(([each, n]) => each.write(at("f"), encode(`${n}`), { ifMatch })));
    assert.equal(won.filter(({ ok }) => ok).length, 1);
    const made = await Promise.all(everyone.map(([each]) => each.write(at("n"), encode("x"), { mode: "create" })));
    assert.equal(made.filter(({ ok }) => ok).length, 1);
    const kept = await Promise.all(
      everyone.map(([each, n]) => each.write(at("log"), encode(`${n}`), { mode: "append" })),
    );
    assert.ok(kept.every(({ ok }) => ok));
    const log = await two[1].read(at("log"));
    assert.equal(log.ok && new TextDecoder().decode(log.value.bytes).length, 10);
    await assertNothingLost(storage, "shared");
  }));

Deno.test("a change whose plan takes long is made beside another process whose changes never stop, and neither fails", () =>
  withStorage(async (storage, clock) => {
    let written = 0;
    /** Until the other process has changed everything again, or waits. */
    const overtaken = async (): Promise<void> => {
      const before = written;
      for (let look = 0; look < 20 && written < before + 2; look++) await pause(5);
    };
    const slow: Storage = {
      ...storage,
      async get(key) {
        if (key[2] === "chunk") await overtaken();
        return await storage.get(key);
      },
      async list(...range) {
        await overtaken();
        return await storage.list(...range);
      },
    };
    const options = { name: "shared", clock: () => clock.now };
    const near = openStoreWorkspace({ ...options, storage });
    const far = openStoreWorkspace({ ...options, storage: slow });
    for (let number = 0; number < 20; number++) assert.ok((await far.write(at(`d/${number}`), encode("x"))).ok);
    await far.write(at("log"), new Uint8Array(40_000));
    const append = { mode: "append" } as const;
    let isOver = false;
    const writing = (async () => {
      for (; !isOver; written++) {
        const change = written % 2 === 0
          ? near.write(at("other"), encode("."))
          : near.write(at("log"), encode("."), append);
        assert.ok((await change).ok);
        await pause(0);
      }
    })();
    assert.deepEqual(await far.move(at("d"), at("e")), { ok: true, value: {} });
    assert.deepEqual(await far.remove(at("e"), { recursive: true }), { ok: true, value: { entries: 21 } });
    assert.ok((await far.write(at("log"), encode("."), append)).ok);
    isOver = true;
    await writing;
    await assertNothingLost(storage, "shared");
  }));

Deno.test("of many appends at once to a large file none is refused, and each reads it once", () =>
  withStorage(async (storage, clock) => {
    let read = 0;
    const get: Storage["get"] = (key) => {
      if (key[2] === "chunk") read++;
      return storage.get(key);
    };
    const workspace = openStoreWorkspace({ storage: { ...storage, get }, name: "w", clock: () => clock.now });
    const chunks = 3;
    await workspace.write(at("log"), new Uint8Array(chunks * 45_000 - 60));
    const appended = await Promise.all(
      Array.from({ length: 60 }, () => workspace.write(at("log"), encode("."), { mode: "append" })),
    );
    assert.ok(appended.every(({ ok }) => ok));
    assert.equal(read, 60 * chunks);
  }));

Deno.test("changes at once that overfill the trash look through it once, not each for itself", () =>
  withStorage(async (storage, clock) => {
    let looks = 0;
    const list: Storage["list"] = (prefix, range) => {
      if (prefix.at(-1) === "change") looks++;
      return storage.list(prefix, range);
    };
    const trash = { keepMs: oneHour, maxBytes: 20_000 };
    const workspace = openStoreWorkspace({ storage: { ...storage, list }, name: "w", clock: () => clock.now, trash });
    const writeAll = () =>
      Promise.all(Array.from({ length: 40 }, (_, n) => workspace.write(at(`${n}`), encode("x".repeat(1_000)))));
    await writeAll();
    looks = 0;
    await writeAll();
    assert.ok(looks > 0 && looks <= 4, `${looks} looks`);
    const kept = (await Array.fromAsync(workspace.trash?.changes() ?? [])).filter(({ steps }) => keptBytes(steps) > 0);
    assert.ok(kept.length <= 20, `${kept.length} are kept`);
  }));

Deno.test("contents that are being written take no more beside the quota than one file, however many are written", () =>
  withStorage(async (storage, clock) => {
    const megabyte = 1_000_000;
    let chunks = 0;
    let mostChunks = 0;
    const isChunk = (key: readonly string[]): boolean => key[2] === "chunk";
    const counting: Storage = {
      ...storage,
      async commit(batch) {
        const isDone = await storage.commit(batch);
        if (isDone) chunks += (batch.puts ?? []).filter(({ key }) => isChunk(key)).length;
        if (isDone) chunks -= (batch.deletes ?? []).filter(isChunk).length;
        mostChunks = Math.max(mostChunks, chunks);
        return isDone;
      },
    };
    const limits = { ...defaultWorkspaceLimits, maxTotalBytes: 3 * megabyte };
    const workspace = openStoreWorkspace({ storage: counting, name: "full", clock: () => clock.now, limits });
    const content = new Uint8Array(megabyte);
    assert.ok((await workspace.write(at("first"), content)).ok);
    const written = await Promise.all([
      ...Array.from({ length: 10 }, (_, index) => workspace.write(at(`write-${index}`), content)),
      ...Array.from({ length: 10 }, (_, index) => workspace.copy(at("first"), at(`copy-${index}`))),
      ...Array.from({ length: 10 }, () => workspace.write(at("first"), content, { mode: "append" })),
    ]);
    assert.equal(written.filter(({ ok }) => ok).length, 2);
    for (const outcome of written) assert.ok(outcome.ok || outcome.error.reason === "quota");
    const chunksOf = (bytes: number): number => Math.ceil(bytes / 45_000);
    assert.ok(mostChunks <= chunksOf(3 * megabyte) + chunksOf(3 * megabyte), `${mostChunks} chunks`);
  }));

Deno.test("a file made while its directory is deleted is kept with its directory or refused, never lost in between", () =>
  withStorage(async (storage, clock) => {
    const options = { storage, name: "shared", clock: () => clock.now };
    const one = openStoreWorkspace(options);
    const other = openStoreWorkspace(options);
    for (let round = 0; round < 30; round++) {
      assert.ok((await one.makeDirectory(at("d"))).ok);
      const [written, removed] = await Promise.all([
        one.write(at("d/f"), encode("x")),
        other.remove(at("d")),
      ]);
      assert.ok(written.ok, "the directory is made again if need be");
      assert.ok(removed.ok || removed.error.reason === "not_empty");
      assert.deepEqual(await tree(one), ["d/", "d/f"]);
      assert.ok((await one.remove(at("d"), { recursive: true })).ok);
    }
    await assertNothingLost(storage, "shared");
  }));

class Crash extends Error {}

/** A storage that dies, for good, before commit number `commits` + 1. */
function crashAfter(storage: Storage, commits: number): Storage {
  let left = commits;
  const step = <T>(task: () => Promise<T>): Promise<T> => left < 0 ? Promise.reject(new Crash()) : task();
  return {
    ...storage,
    get: (key) => step(() => storage.get(key)),
    list: (prefix, options) => step(() => storage.list(prefix, options)),
    commit: (batch) => {
      left--;
      return step(() => storage.commit(batch));
    },
  };
}

async function reference(
  storage: Storage,
  name: string,
  change: (workspace: Workspace) => Promise<unknown>,
): Promise<string> {
  const workspace = openStoreWorkspace({ storage, name });
  for (const path of ["a", "d/f", "d/other"]) await workspace.write(at(path), encode(path.repeat(50_000)));
  await change(workspace);
  return await snapshot(workspace);
}

/** Every path with its content's size and hash. */
async function snapshot(workspace: Workspace): Promise<string> {
  const lines: string[] = [];
  for (const path of await tree(workspace)) {
    const read = path.endsWith("/") ? null : await workspace.read(at(path), { offsetBytes: 0, lengthBytes: 2_000_000 });
    lines.push(
      read === null
        ? path
        : `${path} ${read.ok ? `${read.value.sizeBytes} ${read.value.bytes[0]}` : read.error.reason}`,
    );
  }
  return lines.join("\n");
}

/** Asserts that chunks and records are those of the files that are there, and that the usage is right. */
async function assertNothingLost(storage: Storage, name: string): Promise<void> {
  const all: StoredEntry[] = await storage.list(["workspace", name], { limit: 100_000 });
  const files = all.map(({ value }) => value).filter(isFile);
  const chunks = all.filter(({ key }) => key[2] === "chunk").map(({ key }) => `${key[3]}/${Number(key[4])}`).sort();
  const expected = files.flatMap(({ generation, chunkCount }) =>
    Array.from({ length: chunkCount }, (_, index) => `${generation}/${index}`)
  );
  assert.deepEqual(chunks, expected.sort());
  assert.deepEqual(all.filter(({ key }) => ["gone", "staged", "turn"].includes(key[2] ?? "")), []);
  const usage = all.find(({ key }) => key[2] === "usage")?.value;
  const bytes = files.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
  assert.deepEqual(usage, { bytes });
}

function isFile(value: unknown): value is { generation: string; chunkCount: number; sizeBytes: number } {
  return typeof value === "object" && value !== null && "generation" in value;
}

async function withStorage(body: (storage: Storage, clock: { now: number }) => Promise<void>): Promise<void> {
  const directory = Deno.makeTempDirSync({ prefix: "portcullis-" });
  const clock = { now: 1_700_000_000_000 };
  const storage = openSqliteStorage({ path: `${directory}/store.sqlite`, clock: () => clock.now });
  try {
    await body(storage, clock);
  } finally {
    await storage.close();
    Deno.removeSync(directory, { recursive: true });
  }
}
