/** The places for calls that wait are shared, and neither asking nor deciding goes on for ever where others are quicker. */
import assert from "node:assert/strict";
import { ask } from "../../src/console/approvals/gate.ts";
import {
  createDecisions,
  listHeldCalls,
  maxHeldCalls,
  putHeldCall,
  readHeldCall,
} from "../../src/console/approvals/decisions.ts";
import { createRuleStore, type Rule } from "../../src/console/approvals/rule.ts";
import type { LogFields } from "../../src/lib/log.ts";
import type { Storage } from "../../src/storage/port.ts";
import { createMemoryStorage } from "../mcp/memory_storage.ts";

const rule: Rule = { id: "guard", verdict: "ask" };

function startAsking(storage: Storage = createMemoryStorage()) {
  let now = 1_000_000;
  const lines: (LogFields | undefined)[] = [];
  const log = { write: (_level: string, _event: string, fields?: LogFields) => void lines.push(fields), flush() {} };
  const options = { storage, clock: () => now, log, nameOfClient: (id: string) => id };
  return {
    options,
    lines,
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
    async counts(keyOf: "person" | "clientId"): Promise<Record<string, number>> {
      const groups = Map.groupBy(await listHeldCalls(storage), (call) => call[keyOf]);
      return Object.fromEntries(Array.from(groups, ([key, calls]) => [key, calls.length]));
    },
  };
}

Deno.test("ten people whose agents take every place leave room for others, down to an equal share", async () => {
  const asking = startAsking();
  for (let person = 0; person < 10; person++) assert.equal(await asking.fill(`p${person}`, "c", 50), 50);
  assert.equal(await asking.fill("late", "c", 60), 45);
  assert.equal(await asking.fill("later", "c", 60), 41);
  const counts = await asking.counts("person");
  assert.equal(Object.values(counts).reduce((sum, count) => sum + count), maxHeldCalls);
  assert.ok(Object.values(counts).every((count) => count >= 41 && count <= 46), JSON.stringify(counts));
  assert.equal(await asking.ask("p0", "c", "one more.txt"), "too_many");
});

Deno.test("of one person's clients, none keeps the others from asking", async () => {
  const asking = startAsking();
  assert.equal(await asking.fill("ada", "runaway", 60), 50);
  assert.equal(await asking.fill("ada", "editor", 60), 25);
  assert.deepEqual(await asking.counts("clientId"), { runaway: 25, editor: 25 });
  assert.equal(await asking.ask("ada", "runaway", "one more.txt"), "too_many");
});

Deno.test("the newest call gives way, never a decided one, and the audit says which", async () => {
  const asking = startAsking();
  await asking.fill("ada", "runaway", 50);
  const { storage } = asking.options;
  const calls = await listHeldCalls(storage);
  const [newest, before] = [calls.at(-1), calls.at(-2)];
  assert.ok(newest !== undefined && before !== undefined);
  const stored = await readHeldCall(storage, newest.id);
  await putHeldCall(storage, { ...newest, state: "approved" }, stored ?? assert.fail());
  assert.equal(typeof await asking.ask("ada", "editor", "new.txt"), "object");
  assert.equal((await readHeldCall(storage, newest.id))?.call.state, "approved");
  assert.equal(await readHeldCall(storage, before.id), null);
  const displaced = asking.lines.filter((fields) => fields?.["outcome"] === "displaced");
  assert.deepEqual(displaced.map((fields) => fields?.["held"]), [before.id]);
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
  const decisions = createDecisions({ ...asking.options, storage: contended, rules });
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
