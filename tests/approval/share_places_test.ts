/** The places for calls that wait are shared, and neither asking nor deciding goes on for ever where others are quicker. */
import assert from "node:assert/strict";
import { createDecisions } from "../../src/console/approvals/decisions.ts";
import { ask, listHeldCalls, maxHeldCalls, readHeldCall } from "../../src/console/approvals/gate.ts";
import { createRuleStore, type Rule } from "../../src/console/approvals/rule.ts";
import type { Storage } from "../../src/storage/port.ts";
import { createMemoryStorage } from "../mcp/memory_storage.ts";

const rule: Rule = { id: "guard", verdict: "ask" };

function startAsking(storage: Storage = createMemoryStorage()) {
  let now = 1_000_000;
  const log = { write() {}, flush() {} };
  const options = { storage, clock: () => now, log, nameOfClient: (id: string) => id };
  return {
    options,
    ask(person: string, clientId: string, path: string) {
      now += 1;
      const judged = { person, clientId, grantId: "g", tool: "file_write", changes: true, places: [path] };
      return ask({ input: { path }, judged, rule, effect: `writes ${path}`, effectDigest: path }, options);
    },
    async fill(person: string, clientId: string, count: number): Promise<number> {
      let held = 0;
      for (let index = 0; index < count; index++) {
        if (typeof await this.ask(person, clientId, `${index}.txt`) !== "string") held++;
      }
      return held;
    },
  };
}

Deno.test("no person, and no client of theirs, takes all places", async () => {
  const asking = startAsking();
  assert.equal(await asking.fill("ada", "runaway", 60), 25);
  assert.equal(await asking.fill("ada", "editor", 60), 25);
  assert.equal(await asking.fill("ada", "third", 60), 1, "the first of each client");
  for (let person = 0; person < 9; person++) {
    for (const client of ["a", "b"]) {
      const expected = person === 8 && client === "b" ? 24 : 25;
      assert.equal(await asking.fill(`p${person}`, client, 25), expected);
    }
  }
  assert.equal((await listHeldCalls(asking.options.storage)).length, maxHeldCalls);
  assert.equal(await asking.fill("late", "c", 60), 1);
  for (let client = 0; client < 200; client++) await asking.ask("ada", `made ${client}`, "a.txt");
  assert.equal(await asking.ask("later", "c", "a.txt"), "too_many");
  assert.equal((await listHeldCalls(asking.options.storage)).length, maxHeldCalls + 100);
  assert.equal(typeof await asking.ask("ada", "runaway", "1.txt"), "object", "one that waits already");
});

Deno.test("calls that come at once get no more places than one after another", async () => {
  const asking = startAsking();
  const many = Array.from({ length: 700 }, (_, index) => index);
  const askMany = (clientOf: (index: number) => string) =>
    Promise.all(many.map((index) => asking.ask("ada", clientOf(index), `${index}.txt`)));
  const held = async () => (await listHeldCalls(asking.options.storage)).length;
  const first = await askMany(() => "runaway");
  assert.equal(first.filter((each) => typeof each !== "string").length, 25);
  assert.equal(await held(), 25);
  await askMany((index) => `client ${index % 10}`);
  assert.equal(await held(), 50, "of the person");
  assert.equal(typeof await asking.ask("bob", "c", "a.txt"), "object");
  assert.equal(typeof await asking.ask("bob", "c", "b.txt"), "object");
});

Deno.test("where others are quicker each time, asking and deciding end and say so", async () => {
  const storage = createMemoryStorage();
  let commits = 0;
  const contended: Storage = {
    ...storage,
    commit() {
      commits += 1;
      return Promise.resolve(false);
    },
  };
  assert.equal(await startAsking(contended).ask("ada", "c", "a.txt"), "busy");
  const asking = startAsking(storage);
  const held = await asking.ask("ada", "c", "a.txt");
  assert.ok(typeof held === "object");
  const rules = createRuleStore(asking.options);
  const decisions = createDecisions({
    ...{ ...asking.options, storage: contended, rules },
    isLive: () => Promise.resolve(true),
  });
  const decision = { id: held.call.id, effectDigest: held.call.effectDigest, approves: true, extent: "once", word: "" };
  const decided = await decisions.decide({ ...decision, extent: "once" }, {
    userId: "ada",
    isAdministrator: false,
    address: "::1",
  });
  assert.equal(decided, "busy");
  assert.equal((await readHeldCall(storage, held.call.id))?.call.state, "waiting");
  assert.ok(commits < 100, `${commits} commits`);
  rules.close();
});
