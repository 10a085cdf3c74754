import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { UnusableError } from "../../src/lib/result.ts";
import { StorageFault } from "../../src/lib/system_fault.ts";
import type { Storage } from "../../src/storage/port.ts";
import { openDenoKvStorage } from "../../src/storage/deno_kv_storage.ts";
import { put, testStorageContract } from "./contract.ts";
import { type SharedStoragePlace, testStorageProcesses } from "./contract_processes.ts";

async function denoKvPlace(): Promise<
  SharedStoragePlace & { readonly path: string; readonly open: () => Promise<Storage> }
> {
  const directory = await Deno.makeTempDir({ prefix: "portcullis-kv-" });
  const path = `${directory}/portcullis.kv`;
  let now = 1_700_000_000_000;
  return {
    path,
    location: ["deno_kv", path],
    open: () => openDenoKvStorage({ path, clock: () => now }),
    advance: (milliseconds) => void (now += milliseconds),
    now: () => now,
    [Symbol.asyncDispose]: () => Deno.remove(directory, { recursive: true }),
  };
}

testStorageContract("deno_kv", denoKvPlace);
testStorageProcesses("deno_kv", denoKvPlace);

Deno.test("deno_kv storage: sweep() leaves no chunk, index or entry behind", async () => {
  await using place = await denoKvPlace();
  const storage = await place.open();
  const large = "x".repeat(200_000);
  await put(storage, ["replaced"], large, place.now() + 5);
  await put(storage, ["replaced"], "small", place.now() + 7);
  await put(storage, ["consumed"], large);
  await storage.consume(["consumed"]);
  await put(storage, ["deleted"], large, place.now() + 9);
  await storage.commit({ deletes: [["deleted"]] });
  await put(storage, ["kept"], large);
  place.advance(10);
  assert.equal(await storage.sweep(place.now()), 1);
  assert.equal((await storage.get(["kept"]))?.value, large);
  await storage.commit({ deletes: [["kept"]] });
  assert.equal(await storage.sweep(place.now()), 0);
  await storage.close();
  using kv = await Deno.openKv(place.path);
  const keys = (await Array.fromAsync(kv.list({ prefix: [] }))).map(({ key }) => key);
  assert.deepEqual(keys, [["change"], ["schema"]]);
});

Deno.test("deno_kv storage: a large value that is replaced while it is read is read whole, the old one or the new", async () => {
  await using place = await denoKvPlace();
  const [reader, writer] = [await place.open(), await place.open()];
  const values = ["a", "b"].map((letter) => letter.repeat(150_000));
  await put(writer, ["below", "k"], values[0]);
  let writing = true;
  const readers = Array.from({ length: 8 }, async (_, at) => {
    while (writing) {
      const entry = at % 2 === 0 ? await reader.get(["below", "k"]) : (await reader.list(["below"], { limit: 1 }))[0];
      assert.ok(values.includes(String(entry?.value)));
    }
  });
  for (let round = 0; round < 40; round++) {
    await put(writer, ["below", "k"], values[round % 2]);
    await writer.sweep(place.now());
  }
  writing = false;
  await Promise.all(readers);
  await reader.close();
  await writer.close();
});

Deno.test("deno_kv storage: the database and its side files are for their owner alone (0600)", async () => {
  await using place = await denoKvPlace();
  const storage = await place.open();
  await put(storage, ["k"], 1);
  for (const suffix of ["", "-wal", "-shm"]) {
    assert.equal(((await Deno.stat(place.path + suffix)).mode ?? 0) & 0o777, 0o600, suffix);
  }
  await storage.close();
});

Deno.test("deno_kv storage: refuses a file that is none and a database that a newer version wrote", async () => {
  await using place = await denoKvPlace();
  await Deno.writeTextFile(place.path, "not a database\n".repeat(500));
  await assert.rejects(place.open(), UnusableError);
  await Deno.remove(place.path);
  await (await place.open()).close();
  {
    using kv = await Deno.openKv(place.path);
    await kv.set(["schema"], 99);
  }
  await assert.rejects(place.open(), /newer version/);
});

Deno.test("deno_kv storage: every value is bytes, which any version of Deno reads", async () => {
  await using place = await denoKvPlace();
  const storage = await place.open();
  await put(storage, ["small"], { text: "ä\n" }, place.now() + 1_000);
  await put(storage, ["large"], "x".repeat(200_000));
  await put(storage, ["grant", "watched\nand odd \\"], 1);
  await storage.close();
  using kv = await Deno.openKv(place.path);
  const entries = await Array.fromAsync(kv.list({ prefix: [] }));
  for (const { key, value } of entries) {
    assert.ok(value instanceof Uint8Array || value instanceof Deno.KvU64, key.join(" "));
  }
  const kinds = new Set(entries.map(({ key: [kind] }) => kind));
  assert.deepEqual([...kinds].sort(), ["announced", "change", "chunk", "entry", "expiry", "large", "schema"]);
});

Deno.test("deno_kv storage: records in the form of earlier versions are read, expire, are swept, and become bytes when they change", async () => {
  await using place = await denoKvPlace();
  const json = (value: unknown): Uint8Array => new TextEncoder().encode(JSON.stringify(value));
  {
    using kv = await Deno.openKv(place.path);
    await kv.set(["schema"], 1);
    await kv.set(["announced"], { count: 70, keys: ["grant!a!"] });
    await kv.set(["entry", "small"], { expiresAt: null, content: json("old") });
    await kv.set(["entry", "brief"], { expiresAt: place.now() + 5, content: json("old") });
    await kv.set(["expiry", place.now() + 5, "id"], ["brief"]);
    await kv.set(["entry", "large"], { expiresAt: null, content: { id: "pieces", chunks: 2 } });
    await kv.set(["large", "pieces"], { key: ["large"], chunks: 2 });
    const text = json("x".repeat(100_000));
    await kv.set(["chunk", "pieces", 0], text.slice(0, 60_000));
    await kv.set(["chunk", "pieces", 1], text.slice(60_000));
  }
  const storage = await place.open();
  assert.equal((await storage.get(["small"]))?.value, "old");
  assert.equal((await storage.get(["large"]))?.value, "x".repeat(100_000));
  assert.equal((await storage.get(["brief"]))?.value, "old");
  place.advance(5);
  assert.equal(await storage.get(["brief"]), null);
  assert.equal(await storage.sweep(place.now()), 1);
  const found = await storage.get(["small"]);
  assert.ok(
    await storage.commit({
      checks: [{ key: ["small"], version: found?.version ?? null }],
      puts: [{ key: ["small"], value: "new" }, { key: ["large"], value: "small now" }, {
        key: ["grant", "a"],
        value: 1,
      }],
    }),
  );
  assert.equal(await storage.sweep(place.now()), 0);
  await storage.close();
  using kv = await Deno.openKv(place.path);
  const entries = await Array.fromAsync(kv.list({ prefix: [] }));
  assert.deepEqual(
    entries.map(({ key }) => key.join(" ")),
    ["announced", "change", "entry grant a", "entry large", "entry small", "schema"],
  );
  for (const { key, value } of entries) {
    assert.ok(value instanceof Uint8Array || value instanceof Deno.KvU64, key.join(" "));
  }
});

Deno.test("deno_kv storage: a record that this Deno cannot read is a fault that names the cause, in a read and at the start", async () => {
  await using place = await denoKvPlace();
  await (await place.open()).close();
  const writeFromTheFuture = async (key: Deno.KvKey): Promise<void> => {
    const marker = crypto.randomUUID();
    {
      using kv = await Deno.openKv(place.path);
      await kv.set(key, { marker });
    }
    using database = new DatabaseSync(place.path);
    // V8's versions are the second byte of what it writes.
    const { changes } = database.prepare("UPDATE kv SET v = x'fff06f' WHERE instr(v, ?) > 0").run(
      new TextEncoder().encode(marker),
    );
    assert.equal(changes, 1);
  };
  await writeFromTheFuture(["entry", "below", "k"]);
  const storage = await place.open();
  const isClear = (error: unknown): boolean =>
    error instanceof StorageFault && /newer version of Deno/.test(error.message) && /run the Deno/.test(error.remedy);
  await assert.rejects(storage.get(["below", "k"]), isClear);
  await assert.rejects(storage.consume(["below", "k"]), isClear);
  await assert.rejects(storage.list(["below"], { limit: 10 }), isClear);
  await assert.rejects(storage.commit({ checks: [{ key: ["below", "k"], version: null }] }), isClear);
  await storage.close();
  await writeFromTheFuture(["schema"]);
  await assert.rejects(
    place.open(),
    (error: unknown) => error instanceof UnusableError && /newer version of Deno/.test(error.message),
  );
});
