import assert from "node:assert/strict";
import type { Storage } from "../../src/storage/port.ts";
import { openDenoKvStorage } from "../../src/storage/deno_kv.ts";
import { UnusableStorageError } from "../../src/storage/unusable_storage.ts";
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
  assert.equal(await storage.sweep(), 1);
  assert.equal((await storage.get(["kept"]))?.value, large);
  await storage.commit({ deletes: [["kept"]] });
  assert.equal(await storage.sweep(), 0);
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
    await writer.sweep();
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
  await assert.rejects(place.open(), UnusableStorageError);
  await Deno.remove(place.path);
  await (await place.open()).close();
  {
    using kv = await Deno.openKv(place.path);
    await kv.set(["schema"], 99);
  }
  await assert.rejects(place.open(), /newer version/);
});
