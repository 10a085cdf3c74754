/** What an approval says a call would do: the tool's own words for people, of which its caller hears nothing. */
import assert from "node:assert/strict";
import * as z from "zod";
import { placeReader } from "../../src/app/approval.ts";
import { createDecisions } from "../../src/console/approvals/decisions.ts";
import { gateTool } from "../../src/console/approvals/gate.ts";
import { decisionsSection } from "../../src/console/pages/decisions.ts";
import { createRuleStore } from "../../src/console/approvals/rule.ts";
import { defineTool, type Tool } from "../../src/mcp/tool.ts";
import type { Visit } from "../../src/console/pages/section.ts";
import { quietCaller } from "../fixtures/quiet_context.ts";
import { virtualTimers } from "../fixtures/virtual_timers.ts";
import { createMemoryStorage } from "../mcp/memory_storage.ts";
import { principalOf } from "../workspace/call_tool.ts";
import { noPart } from "../console/harness.ts";

const order = "Developer Laptop for Petra Wolf, CHF 2,400";
const orderTool = (more: Partial<Tool> = {}): Tool => ({
  ...defineTool({
    name: "order",
    title: "Order",
    description: "Orders.",
    scopes: [],
    annotations: { readOnlyHint: false },
    input: z.object({ item: z.string(), dry_run: z.boolean().default(false) }),
    run: ({ dry_run }) =>
      Promise.resolve({
        ok: true,
        content: [{
          type: "text",
          text: dry_run ? `Dry run, nothing sent. Would order ${order}\nmemory: 32 GB` : "done",
        }],
      }),
  }),
  ...more,
});
const ada = { userId: "owner", isAdministrator: true, address: "::1" };

/** What the caller of a held call is told, and what the page shows to the person. */
async function hold(tool: Tool, dryRun = false) {
  const { rules, gated, decisions } = await gate(tool);
  const { context, leaves } = calling();
  const answer = gated.run({ item: "laptop", dry_run: dryRun } as never, context as never);
  const page = await shown(decisions);
  leaves.abort();
  const told = JSON.stringify(await answer);
  rules.close();
  return { page, told };
}

/** The tool behind a rule that asks. */
async function gate(
  tool: Tool,
  isLive = (): boolean => true,
  storage = createMemoryStorage(),
  timers = virtualTimers(),
  isAdministrator = (): boolean | null => true,
) {
  const log = { write: () => {}, flush() {} };
  const rules = createRuleStore({ storage, clock: Date.now, log });
  await rules.change(() => [{ id: "guard", tool: "changes", verdict: "ask" }], ada);
  const gated = gateTool(tool, {
    ...{ rules, storage, clock: Date.now, log, placeReader, pageUrl: "https://a.example/console/decisions" },
    timers,
    findTrueNames: () => Promise.resolve([]),
    findStates: () => Promise.resolve([]),
    nameOfClient: () => "Claude Code",
    isLive: () => Promise.resolve(isLive()),
    isAdministrator: () => Promise.resolve(isAdministrator()),
  });
  const decisions = createDecisions({ storage, clock: Date.now, log, rules, isLive: () => Promise.resolve(true) });
  return { rules, gated, decisions };
}

function calling() {
  const leaves = new AbortController();
  const context = {
    ...quietCaller,
    principal: principalOf("owner"),
    signal: leaves.signal,
    progress: () => {},
    supports: () => false,
  };
  return { context, leaves };
}

/** What the page says of the call that waits. */
async function shown(decisions: ReturnType<typeof createDecisions>): Promise<string> {
  while ((await decisions.waiting(ada)).length === 0) await new Promise((resolve) => setTimeout(resolve, 1));
  const visit = { visitor: { ...ada, csrf: "c" }, query: new URLSearchParams(), now: Date.now(), href: () => "/" };
  const parts = await decisionsSection(decisions, noPart).live?.(visit as unknown as Visit);
  return parts?.["waiting"]?.markup ?? assert.fail();
}

const approverIs = { "its approver is disabled": null, "its approver administers no longer": false } as const;
for (
  const change of ["the access ends", "the call is stopped", "a rule refuses", ...Object.keys(approverIs)]
) {
  Deno.test(`an approved call does nothing where ${change} while its effect is looked at for the last time`, async () => {
    let [looks, runs, isLive] = [0, 0, true];
    let approver: boolean | null = true;
    const { context, leaves } = calling();
    const tool = orderTool({
      async preview() {
        looks += 1;
        if (looks === 2) {
          if (change === "the access ends") isLive = false;
          else if (change === "the call is stopped") leaves.abort();
          else if (change in approverIs) approver = approverIs[change as keyof typeof approverIs];
          else await rules.change((all) => [...all, { id: "no", tool: "changes", verdict: "deny" }], ada);
        }
        return `Orders ${order}`;
      },
      run() {
        runs += 1;
        return { ok: true, content: [] };
      },
    });
    const { rules, gated, decisions } = await gate(
      tool,
      () => isLive,
      createMemoryStorage(),
      virtualTimers(),
      () => approver,
    );
    const answer = gated.run({ item: "laptop", dry_run: false } as never, context as never);
    await shown(decisions);
    const [waiting] = await decisions.waiting(ada);
    assert.ok(waiting);
    const { id, effectDigest } = waiting;
    await decisions.decide({ id, effectDigest, word: "", approves: true, extent: "once" }, {
      ...ada,
      userId: "mallory",
    });
    const outcome = await answer;
    rules.close();
    assert.deepEqual([outcome.ok, looks, runs], [false, 2, 0], JSON.stringify(outcome));
  });
}

for (const moment of ["is taken", "was taken, and the call is looked at for the last time"]) {
  Deno.test(`an approval is not spent by a call that is cancelled while it ${moment}: the same call runs by it later`, async () => {
    let [looks, runs] = [0, 0];
    const { context, leaves } = calling();
    const own = createMemoryStorage();
    const storage: typeof own = {
      ...own,
      async commit(change) {
        const done = await own.commit(change);
        if (moment === "is taken" && change.deletes !== undefined) leaves.abort();
        return done;
      },
    };
    const tool = orderTool({
      preview() {
        if (++looks === 2 && moment !== "is taken") leaves.abort();
        return Promise.resolve(`Orders ${order}`);
      },
      run() {
        runs += 1;
        return { ok: true, content: [] };
      },
    });
    const { rules, gated, decisions } = await gate(tool, () => true, storage);
    const call = (by: unknown) => gated.run({ item: "laptop", dry_run: false } as never, by as never);
    const answer = call(context);
    await shown(decisions);
    const [waiting] = await decisions.waiting(ada);
    const { id = "", effectDigest = "" } = waiting ?? {};
    await decisions.decide({ id, effectDigest, word: "", approves: true, extent: "once" }, ada);
    const outcome = await answer;
    assert.deepEqual([outcome.ok, "code" in outcome && outcome.code, runs], [false, "approval_pending", 0]);
    assert.ok((await call(calling().context)).ok);
    assert.equal(runs, 1);
    rules.close();
  });
}

for (const isStored of [true, false]) {
  const words = isStored ? "once the call is on the page" : "a constant later, where looking at the call has no end";
  Deno.test(`a client that has waited its time is answered ${words}`, async () => {
    const timers = virtualTimers();
    const [looked, looks] = [Promise.withResolvers<string>(), Promise.withResolvers<void>()];
    const tool = orderTool({
      preview() {
        looks.resolve();
        return looked.promise;
      },
    });
    const { rules, gated, decisions } = await gate(tool, () => true, createMemoryStorage(), timers);
    let isAnswered = false;
    const answer = gated.run({ item: "laptop", dry_run: false } as never, calling().context as never);
    void Promise.resolve(answer).then(() => void (isAnswered = true));
    await looks.promise;
    timers.advance(54_000);
    await new Promise((resolve) => setTimeout(resolve, 20));
    assert.equal(isAnswered, false);
    if (isStored) looked.resolve(`Orders ${order}`);
    else timers.advance(2_000);
    const outcome = await answer;
    assert.equal("code" in outcome && outcome.code, "approval_pending");
    assert.equal((await decisions.waiting(ada)).length, isStored ? 1 : 0);
    looked.resolve("");
    rules.close();
  });
}

Deno.test("an approval shows the first line of a dry run as what the call would do", async () => {
  const { page, told } = await hold(orderTool());
  assert.match(page, new RegExp(`<p><strong>Would order ${order}</strong></p><pre [^>]*>memory: 32 GB</pre>`));
  assert.doesNotMatch(page, /[Dd]ry run/);
  assert.doesNotMatch(told, /Laptop|2,400|32 GB/);
});

Deno.test("an approval of a trial says that it changes nothing", async () => {
  const { page } = await hold(orderTool({ preview: () => Promise.resolve(`Orders ${order}`) }), true);
  assert.match(page, new RegExp(`<p><strong>A trial that changes nothing\\. Orders ${order}</strong></p>`));
});

Deno.test("a tool's own preview comes before its dry run", async () => {
  const { page, told } = await hold(orderTool({ preview: () => Promise.resolve(`Orders ${order}`) }));
  assert.match(page, new RegExp(`<p><strong>Orders ${order}</strong></p>`));
  assert.doesNotMatch(told, /Laptop|2,400/);
});

Deno.test("an approval of a call that would fail says why to the person alone", async () => {
  const fails = { ok: false, code: "not_found", message: "There is no such laptop" } as const;
  const { page, told } = await hold(orderTool({ preview: () => Promise.resolve(fails) }));
  assert.match(page, /<p><strong>This call would fail: There is no such laptop<\/strong>/);
  assert.doesNotMatch(told, /no such laptop/);
});

Deno.test("a tool without a preview is shown by its arguments", async () => {
  const plain = orderTool();
  const { page } = await hold({
    ...plain,
    input: z.object({ item: z.string() }),
    run: () => ({ ok: true, content: [] }),
  });
  assert.match(page, /What it would do/);
});
