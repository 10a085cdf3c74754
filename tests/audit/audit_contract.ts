/** What the stored audit promises on every storage. Each driver's test file runs this suite. */
import assert from "node:assert/strict";
import { auditHeads, batchesKey, listChains, readCallsOfDay, trimAudit, verifyAudit } from "../../src/audit/chain.ts";
import { searchAudit } from "../../src/audit/recorder.ts";
import type { Storage } from "../../src/storage/port.ts";
import { type AuditPlace, auditPlace, secrets, start } from "./audit_place.ts";

interface OpenPlace extends AsyncDisposable {
  readonly open: () => Promise<Storage>;
}

const numbers = (count: number): number[] => Array.from({ length: count }, (_, index) => index);
const sound = { problems: [], notes: [] };
const verified = async (storage: Storage): Promise<typeof sound> => {
  const { problems, notes } = await verifyAudit({ storage, secrets });
  return { problems, notes } as typeof sound;
};

export function testStoredAudit(driver: string, makePlace: () => Promise<OpenPlace>): void {
  const test = (name: string, run: (place: AuditPlace, storage: Storage) => Promise<void>): void =>
    Deno.test(`${driver} audit: ${name}`, async () => {
      await using place = await makePlace();
      const storage = await place.open();
      try {
        await run(auditPlace(storage), storage);
      } finally {
        await storage.close();
      }
    });

  test("lines are found newest first, page by page, and the chain is sound", async (place, storage) => {
    const recorder = place.recorder();
    await place.write(recorder, numbers(100).map((at) => ({ target: `notes/${at}.md`, person: `p${at % 3}` })));
    const all = await place.search();
    assert.deepEqual(all.map(({ target }) => target), numbers(100).reverse().map((at) => `notes/${at}.md`));
    assert.equal((await place.search({ person: "p1" }, 7)).length, 33);
    assert.deepEqual((await place.search({ target: ["notes/42"] })).map(({ target }) => target), ["notes/42.md"]);
    const [from, to] = [start + 10_000, start + 12_000];
    assert.equal((await place.search({ since: from, until: to })).length, 3);
    assert.deepEqual(await verified(storage), sound);
    await recorder.close();
    assert.deepEqual((await place.search()).length, 100);
    assert.deepEqual(await verified(storage), sound);
  });

  test("a process goes on with the chain of one that has ended, and leaves that of one that runs", async (place) => {
    const first = place.recorder("first");
    const second = place.recorder("second");
    await place.write(first, [{ person: "a" }]);
    await place.write(second, [{ person: "b" }]);
    await place.write(first, [{ person: "c" }]);
    assert.deepEqual((await place.search()).map(({ person, instance }) => [person, instance]), [
      ["c", "1"],
      ["b", "2"],
      ["a", "1"],
    ]);
    await first.close();
    await place.write(place.recorder("third"), [{ person: "d" }]);
    assert.equal((await place.search({ person: "d" }))[0]?.instance, "1");
    assert.deepEqual(await verified(place.parts.storage), sound);
  });

  test("instances that write at the same time are merged by time, at every size of a page", async (place) => {
    const recorders = numbers(3).map((at) => place.recorder(`instance ${at}`));
    for (const at of numbers(60)) {
      await place.write(recorders[at % 3] ?? assert.fail(), [{ target: `${at}` }]);
    }
    const expected = numbers(60).reverse().map(String);
    for (const limit of [1, 4, 25, 100]) {
      assert.deepEqual((await place.search({}, limit)).map(({ target }) => target), expected);
    }
  });

  test("a page goes on where the one before ended, though lines and chains are added meanwhile", async (place) => {
    const recorders = numbers(2).map((at) => place.recorder(`instance ${at}`));
    for (const at of numbers(90)) await place.write(recorders[at % 2] ?? assert.fail(), [{ target: `${at}` }]);
    const found: (string | null)[] = [];
    let cursor: string | undefined;
    for (let page = 0; page < 30; page++) {
      const { lines, cursor: next } = await searchAudit(place.parts.storage, {}, { limit: 7, cursor });
      found.push(...lines.map(({ target }) => target));
      if (next === null) break;
      cursor = next;
      const recorder = recorders[page] ??= place.recorder(`instance ${page}`);
      await place.write(recorder, [{ target: `added ${page}` }, { target: `added too ${page}` }]);
    }
    assert.deepEqual(found, numbers(90).reverse().map(String));
  });

  test("a chain whose process was killed is taken after ten minutes", async (place) => {
    await place.write(place.recorder("killed"), [{ person: "a" }]);
    place.advance(601_000);
    await place.write(place.recorder("next"), [{ person: "b" }]);
    assert.deepEqual((await place.search()).map(({ instance }) => instance), ["1", "1"]);
    assert.deepEqual(await verified(place.parts.storage), sound);
  });

  test("retention by age leaves a checkpoint that the rest is verified against", async (place, storage) => {
    const recorder = place.recorder();
    await place.write(recorder, numbers(50).map((at) => ({ target: `${at}` })));
    const [kept] = await auditHeads(storage);
    place.advance(3_600_000);
    await place.write(recorder, numbers(50).map((at) => ({ target: `${50 + at}` })));
    const removed = await trimAudit(place.parts, { keepMs: 3_600_000, maxBytes: 1e9, now: place.parts.clock() });
    assert.ok(removed >= 40 && removed <= 50, `removed ${removed}`);
    assert.equal((await place.search()).length, 100 - removed);
    assert.deepEqual(await verified(storage), sound);
    assert.deepEqual((await verifyAudit({ storage, secrets }, [kept ?? assert.fail()])).problems, []);
    // The writer goes on beside it.
    await place.write(recorder, numbers(50).map((at) => ({ target: `${100 + at}` })));
    await recorder.close();
    assert.deepEqual(await verified(storage), sound);
  });

  test("retention by size removes the oldest lines of all chains", async (place, storage) => {
    const recorders = numbers(2).map((at) => place.recorder(`instance ${at}`));
    for (const at of numbers(100)) await place.write(recorders[at % 2] ?? assert.fail(), [{ target: `${at}` }]);
    await trimAudit(place.parts, { keepMs: 1e12, maxBytes: 10_000, now: place.parts.clock() });
    const left = await place.search();
    const { length } = left;
    assert.ok(length > 10 && length < 70, `${length} lines are left`);
    assert.equal(left[0]?.target, "99");
    await Promise.all(recorders.map((each) => each.close()));
    assert.deepEqual(await verified(storage), sound);
    await trimAudit(place.parts, { keepMs: 1e12, maxBytes: 0, now: place.parts.clock() });
    assert.deepEqual(await place.search(), []);
    assert.deepEqual(await verified(storage), sound);
  });

  test("retention reads the batches that it removes, and the next", async (place, storage) => {
    const recorder = place.recorder();
    for (const at of numbers(50)) await place.write(recorder, [{ target: `${at}` }]);
    await recorder.close();
    const read = new Set<string>();
    const note = (key: readonly string[]): void => void (key[0] === batchesKey("1")[0] && read.add(key.join()));
    const noting: Storage = {
      ...storage,
      async get(key) {
        note(key);
        return await storage.get(key);
      },
      async list(prefix, options) {
        const entries = await storage.list(prefix, options);
        for (const { key } of entries) note(key);
        return entries;
      },
    };
    const limits = { keepMs: 1e12, maxBytes: 8_000, now: place.parts.clock() };
    const removed = await trimAudit({ ...place.parts, storage: noting }, limits);
    assert.ok(removed > 5 && removed < 45, `${removed} lines were removed`);
    assert.equal(read.size, removed + 1);
  });

  test("retention reads no more for each batch where many instances have a chain", async (place, storage) => {
    const recorders = numbers(40).map((at) => place.recorder(`instance ${at}`));
    for (const recorder of recorders) await place.write(recorder, numbers(2).map((at) => ({ target: `${at}` })));
    let reads = 0;
    const get: Storage["get"] = (key) => {
      if (key[0] === batchesKey("1")[0]) reads++;
      return storage.get(key);
    };
    const limits = { keepMs: 1e12, maxBytes: 0, now: place.parts.clock() };
    assert.equal(await trimAudit({ ...place.parts, storage: { ...storage, get } }, limits), 80);
    assert.ok(reads <= 3 * 80, `${reads} reads`);
    for (const recorder of recorders) await recorder.close();
    assert.deepEqual(await verified(storage), sound);
  });

  test("retention beside that of another instance takes no chain for changed", async (place, storage) => {
    const recorder = place.recorder();
    await place.write(recorder, numbers(100).map((at) => ({ target: `${at}` })));
    await recorder.close();
    const limits = { keepMs: 1e12, now: place.parts.clock() };
    let isFirst = true;
    const get: Storage["get"] = async (key) => {
      if (key[0] === batchesKey("1")[0] && isFirst) {
        isFirst = false;
        assert.ok(await trimAudit(place.parts, { ...limits, maxBytes: 10_000 }) > 0);
      }
      return await storage.get(key);
    };
    const slow = { ...place.parts, storage: { ...storage, get } };
    assert.ok(await trimAudit(slow, { ...limits, maxBytes: 0 }) > 0);
    assert.ok(!isFirst);
    assert.deepEqual(place.logged, []);
    assert.deepEqual(await place.search(), []);
    assert.deepEqual(await verified(storage), sound);
  });

  test(
    "retention beside a writer that never stops removes, and reads nothing twice",
    async (place, storage) => {
      const recorder = place.recorder();
      for (const at of numbers(50)) {
        await place.write(recorder, [{ target: `${at}` }]);
      }
      const limits = {
        keepMs: 1e12,
        maxBytes: 8_000,
        now: place.parts.clock(),
      };
      const read: string[] = [];
      const get: Storage["get"] = async (key) => {
        if (key[0] === batchesKey("1")[0]) {
          read.push(key.join());
          if (read.length % 3 === 0) {
            await place.write(recorder, [{ target: "meanwhile" }]);
          }
        }
        return await storage.get(key);
      };
      const removed = await trimAudit({
        ...place.parts,
        storage: { ...storage, get },
      }, limits);
      assert.ok(removed > 40, `${removed} lines were removed`);
      assert.ok(read.length <= 3 * removed, `${read.length} batches were read`);
      await recorder.close();
      assert.deepEqual(place.logged, []);
      assert.deepEqual(await verified(storage), sound);
    },
  );

  test("calls are counted by hour and outcome", async (place, storage) => {
    const recorder = place.recorder();
    await place.write(recorder, [{ tool: "a" }, { outcome: "tool_error" }, { event: "sign_in" }, {}]);
    place.advance(3_600_000);
    await place.write(recorder, [{}]);
    const hours = await readCallsOfDay(storage, place.parts.clock());
    assert.deepEqual(hours.map(({ outcomes }) => outcomes), [{ ok: 2, tool_error: 1 }, { ok: 1 }]);
  });

  test("what a commit that seemed lost has stored is not stored twice", async (place, storage) => {
    let isLost = false;
    const commit: Storage["commit"] = async (batch) => {
      const done = await storage.commit(batch);
      if (!isLost) return done;
      isLost = false;
      throw new Error("the connection was lost");
    };
    const losing = auditPlace({ ...storage, commit });
    const recorder = losing.recorder();
    await losing.write(recorder, [{ target: "a" }]);
    isLost = true;
    await losing.write(recorder, [{ target: "b" }]);
    await losing.write(recorder, [{ target: "c" }]);
    assert.deepEqual((await place.search()).map(({ target }) => target), ["c", "b", "a"]);
    assert.deepEqual(await verified(storage), sound);
    assert.equal((await listChains(storage)).length, 1);
  });
}
