/** The list of rules is bounded, approvals push no rule off its end, and it is as it was changed last. */
import assert from "node:assert/strict";
import { createDecisions } from "../../src/console/approvals/decisions.ts";
import { type HeldCall, putHeldCall } from "../../src/console/approvals/gate.ts";
import { createRuleStore, maxRules, type Rule } from "../../src/console/approvals/rule.ts";
import type { LogFields } from "../../src/lib/log.ts";
import { timeTurnsBy } from "../../src/lib/turns.ts";
import { answerFirstCommitLate } from "../fixtures/late_answer.ts";
import { createMemoryStorage } from "../mcp/memory_storage.ts";

const now = 1_000_000;
const clock = (): number => now;
const ada = { userId: "ada", isAdministrator: false, address: "::1" };
const guard: Rule = { id: "guard", tool: "changes", verdict: "ask" };
const others = (until?: number): readonly Rule[] =>
  Array.from({ length: maxRules - 1 }, (_, index) => ({
    id: `r${index}`,
    tool: "file_read",
    verdict: "allow",
    ...(until === undefined ? {} : { until }),
  }));

const waiting: HeldCall = {
  id: "call",
  person: "ada",
  clientId: "client",
  clientName: "Client",
  grantId: "grant",
  tool: "file_write",
  places: ["a.txt"],
  arguments: "{}",
  effect: "a new file",
  effectDigest: "digest",
  ruleId: "guard",
  approver: "person",
  createdAt: now,
  expiresAt: now + 1_000,
  state: "waiting",
};

async function approveForAnHour(before: readonly Rule[]) {
  const storage = createMemoryStorage();
  const lines: (LogFields | undefined)[] = [];
  const log = { write: (_level: string, _event: string, fields?: LogFields) => void lines.push(fields), flush() {} };
  const rules = createRuleStore({ storage, clock, log });
  assert.ok(await rules.change(() => before, ada));
  await putHeldCall(storage, waiting, null);
  const decisions = createDecisions({ storage, clock, log, rules, isLive: () => Promise.resolve(true) });
  const decision = { id: "call", effectDigest: "digest", approves: true, extent: "hour", word: "" } as const;
  const decided = await decisions.decide(decision, ada);
  rules.close();
  const extent = lines.at(-1)?.["extent"];
  assert.equal(decided, extent === "once" ? "once" : "decided", "the person is told what the audit has");
  return { left: rules.current, extent };
}

Deno.test("an approval for an hour pushes no rule off a full list: it counts once, and the audit says so", async () => {
  const before = [...others(), guard];
  const { left, extent } = await approveForAnHour(before);
  assert.deepEqual(left, before.map((rule) => ({ ...rule, by: "ada" })));
  assert.equal(extent, "once");
});

Deno.test("approvals that have ended make room for a new one", async () => {
  const { left, extent } = await approveForAnHour([...others(now), guard]);
  assert.deepEqual(left.map(({ tool, verdict }) => [tool, verdict]), [["file_write", "allow"], ["changes", "ask"]]);
  assert.equal(extent, "hour");
});

Deno.test("more rules than the list may have change nothing", async () => {
  const rules = createRuleStore({ storage: createMemoryStorage(), clock, log: { write: () => {}, flush() {} } });
  assert.ok(await rules.change(() => [guard], ada));
  assert.equal(await rules.change((all) => [...others(), ...all, guard], ada), false);
  assert.deepEqual(rules.current, [{ ...guard, by: "ada" }]);
  rules.close();
});

Deno.test("each rule says who made it, and a change by another leaves that as it is", async () => {
  const rules = createRuleStore({ storage: createMemoryStorage(), clock, log: { write: () => {}, flush() {} } });
  const eve = { ...ada, userId: "eve" };
  assert.ok(await rules.change(() => [guard], ada));
  assert.ok(await rules.change((all) => [{ id: "pass", verdict: "allow" }, ...all], eve));
  assert.ok(await rules.change((all) => all.toReversed(), eve));
  assert.deepEqual(rules.current.map(({ id, by }) => [id, by]), [["guard", "ada"], ["pass", "eve"]]);
  rules.close();
});

Deno.test("a rule counts where the answer of an earlier change comes late", async () => {
  const memory = createMemoryStorage();
  const { storage, committed, answer } = answerFirstCommitLate(memory);
  const parts = { clock, log: { write() {}, flush() {} } };
  const rules = createRuleStore({ storage, ...parts });
  const ofAnother = createRuleStore({ storage: memory, ...parts }); // within one process changes take turns
  const late = rules.change(() => [], ada);
  await committed;
  assert.ok(await ofAnother.change((before) => [...before, guard], ada));
  answer();
  assert.ok(await late);
  assert.deepEqual(rules.current, [{ ...guard, by: "ada" }]);
  rules.close();
  ofAnother.close();
});

Deno.test("hundreds of calls that wait, each of another client, are looked at in turns", async () => {
  const storage = createMemoryStorage();
  const rules = createRuleStore({ storage, clock, log: { write() {}, flush() {} } });
  const count = 300;
  for (let index = 0; index < count; index++) {
    await putHeldCall(storage, { ...waiting, id: `call${index}`, grantId: `grant${index}` }, null);
  }
  let elapsed = 0;
  timeTurnsBy(() => elapsed);
  using _turns = { [Symbol.dispose]: () => timeTurnsBy(() => performance.now()) };
  let [looked, most] = [0, 0];
  const isLive = ({ grantId }: { readonly grantId: string }): Promise<boolean> => {
    elapsed++;
    looked++;
    return Promise.resolve(grantId !== "grant7");
  };
  const decisions = createDecisions({ storage, clock, log: { write() {}, flush() {} }, rules, isLive });
  let isOver = false;
  const passing = (async () => {
    for (let before = 0; !isOver; before = looked) {
      await new Promise((resolve) => void setImmediate(resolve));
      most = Math.max(most, looked - before);
    }
  })();
  const shown = await decisions.waiting(ada);
  isOver = true;
  await passing;
  rules.close();
  assert.deepEqual([shown.length, looked], [count - 1, count]);
  assert.ok(most <= 50, `${most} of them before anyone else had a turn`);
});
