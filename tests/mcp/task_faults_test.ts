/** Tasks on a storage that fails for a while, and tasks whose owner was paused. */
import assert from "node:assert/strict";
import { z } from "zod";
import { systemTimers } from "../../src/lib/time.ts";
import { defineTool, type Tool, type ToolContext, type ToolOutcome } from "../../src/mcp/tool.ts";
import { createToolRegistry } from "../../src/mcp/registry.ts";
import { virtualTimers } from "../fixtures/virtual_timers.ts";
import { inTime, until } from "../fixtures/until.ts";
import { makeFailing } from "./failing_storage.ts";
import { readEvents } from "./event_reader.ts";
import { createHarness, type Harness } from "./harness.ts";
import { createMemoryStorage } from "./memory_storage.ts";

const capabilities = { elicitation: {}, extensions: { "io.modelcontextprotocol/tasks": {} } };
const done: ToolOutcome = { ok: true, content: [{ type: "text", text: "done" }] };

function tool(name: string, run: (context: ToolContext) => Promise<ToolOutcome>): Tool {
  return defineTool({
    name,
    title: name,
    description: `Does ${name}.`,
    scopes: [],
    annotations: {},
    input: z.object({}),
    run: (_input, context) => run(context),
  });
}

/** A tool that is handed out and then waits for the gate. */
function gated(): { readonly tool: Tool; readonly open: () => void; readonly stopped: () => boolean } {
  const gate = Promise.withResolvers<void>();
  let stopped = false;
  return {
    tool: tool("long", async (context) => {
      await context.handOut();
      context.signal.addEventListener("abort", () => stopped = true);
      await gate.promise;
      return done;
    }),
    open: gate.resolve,
    stopped: () => stopped,
  };
}

interface Task {
  readonly taskId: string;
  readonly status: string;
  readonly inputRequests?: Record<string, unknown>;
}

async function send(harness: Harness, method: string, params: Record<string, unknown>): Promise<Response> {
  return await harness.modern(method, params, { capabilities });
}

async function call(harness: Harness, method: string, params: Record<string, unknown>): Promise<Task> {
  const response = await send(harness, method, params);
  assert.equal(response.status, 200);
  return (await response.json()).result;
}

const begin = (harness: Harness): Promise<Task> => call(harness, "tools/call", { name: "long", arguments: {} });

function taskThat(harness: Harness, taskId: string, status: string): Promise<Task> {
  return until(`a task that is ${status}`, async () => {
    const task = await call(harness, "tasks/get", { taskId });
    return task.status === status && task;
  });
}

Deno.test("tasks that could not be stored take no place: the call is refused, later ones begin, and the server closes", async () => {
  for (const fault of ["refused", "done_but_lost"] as const) {
    const storage = makeFailing(createMemoryStorage());
    const { tool, open } = gated();
    const tools = createToolRegistry([tool]);
    const harness = createHarness({ storage, tools, limits: { maxTasksPerPrincipal: 2 } });
    storage.fault = fault;
    for (let count = 0; count < 5; count += 1) {
      const refused = await send(harness, "tools/call", { name: "long", arguments: {} });
      assert.equal(refused.status, 503);
      assert.ok(Number(refused.headers.get("retry-after")) >= 1);
      assert.equal((await refused.json()).error.code, 503);
    }
    storage.fault = null;
    for (let count = 0; count < 2; count += 1) assert.equal((await begin(harness)).status, "working");
    storage.fault = fault;
    await inTime("the server to close", harness.mcp.close());
    open();
  }
});

Deno.test("a call that is answered while its task is being stored leaves no task behind that runs for ever", async () => {
  const storage = createMemoryStorage();
  const gate = Promise.withResolvers<void>();
  let commits = 0;
  const slow: typeof storage = {
    ...storage,
    async commit(batch) {
      if (++commits === 1) await gate.promise;
      return await storage.commit(batch);
    },
  };
  const { tool, open } = gated();
  const limits = { maxTasksPerPrincipal: 1 };
  const harness = createHarness({ storage: slow, tools: createToolRegistry([tool]), limits, toolTimeoutMs: 20 });
  const late = await (await send(harness, "tools/call", { name: "long", arguments: {} })).json();
  assert.equal(late.result.isError, true);
  gate.resolve();
  const task = await until("a free place", async () => {
    const answer = await (await send(harness, "tools/call", { name: "long", arguments: {} })).json();
    return answer.result.taskId === undefined ? null : answer.result;
  });
  open();
  await taskThat(harness, task.taskId, "completed");
  await inTime("the server to close", harness.mcp.close());
});

Deno.test("the end of a task that comes while the storage is away is stored and audited, once, when it is back", async () => {
  for (const fault of ["refused", "done_but_lost"] as const) {
    const storage = makeFailing(createMemoryStorage());
    const { tool, open } = gated();
    const harness = createHarness({ storage, tools: createToolRegistry([tool]) });
    const { taskId } = await begin(harness);
    storage.fault = fault;
    open();
    await until(
      "a first attempt that fails",
      () => harness.logged.some(({ event }) => event === "task_end_not_stored"),
    );
    storage.fault = null;
    await taskThat(harness, taskId, "completed");
    const other = createHarness({ storage, tools: createToolRegistry([tool]) });
    await taskThat(other, taskId, "completed");
    const audited = await until("the audit", () => harness.logged.find(({ event }) => event === "task_ended"));
    assert.equal(audited.fields?.["outcome"], "completed");
    assert.equal(audited.fields?.["tool"], "long");
    assert.equal(harness.logged.filter(({ event }) => event === "task_ended").length, 1);
    await harness.mcp.close();
    await other.mcp.close();
  }
});

Deno.test("a task is not said to have ended before its end is stored", async () => {
  const storage = makeFailing(createMemoryStorage());
  const { tool, open } = gated();
  const harness = createHarness({ storage, tools: createToolRegistry([tool]) });
  const { taskId } = await begin(harness);
  storage.fault = "refused";
  open();
  await until("a first attempt that fails", () => harness.logged.some(({ event }) => event === "task_end_not_stored"));
  assert.equal((await call(harness, "tasks/get", { taskId })).status, "working");
  storage.fault = null;
  await taskThat(harness, taskId, "completed");
  await harness.mcp.close();
});

Deno.test("an end that others have read is told by the owner too, while it still waits to hear that it is stored", async () => {
  const storage = createMemoryStorage();
  const gate = Promise.withResolvers<void>();
  const slow: typeof storage = {
    ...storage,
    async commit(batch) {
      const done = await storage.commit(batch);
      if (JSON.stringify(batch).includes('"completed"')) await gate.promise;
      return done;
    },
  };
  const { tool, open } = gated();
  const tools = createToolRegistry([tool]);
  const [owner, other] = [createHarness({ storage: slow, tools }), createHarness({ storage, tools })];
  const { taskId } = await begin(owner);
  open();
  await taskThat(other, taskId, "completed");
  assert.equal((await call(owner, "tasks/get", { taskId })).status, "completed");
  gate.resolve();
  await taskThat(owner, taskId, "completed");
  await owner.mcp.close();
  await other.mcp.close();
});

Deno.test("a task that may live for 30 days, longer than one timer can wait, does not end at once", async () => {
  const { tool, open } = gated();
  const limits = { taskTtlMs: 30 * 86_400_000 };
  const harness = createHarness({ tools: createToolRegistry([tool]), limits });
  const { taskId } = await begin(harness);
  await new Promise<void>((resolve) => void systemTimers.after(30, resolve));
  assert.equal((await call(harness, "tasks/get", { taskId })).status, "working");
  open();
  await taskThat(harness, taskId, "completed");
  await harness.mcp.close();
});

Deno.test("a server stops although the end of a task cannot be stored, and logs that", async () => {
  const storage = makeFailing(createMemoryStorage());
  const { tool, open } = gated();
  const harness = createHarness({ storage, tools: createToolRegistry([tool]) });
  await begin(harness);
  storage.fault = "refused";
  open();
  await inTime("the server to close", harness.mcp.close());
  await until("the log line", () => harness.logged.some(({ event }) => event === "task_not_settled"));
});

Deno.test("a task that an instance called failed stays so when its owner wakes up: the owner stops and says the same", async () => {
  for (const wakes of ["by a heartbeat", "by a question about the task", "by the end of the call"] as const) {
    let now = 1_000_000;
    const storage = createMemoryStorage();
    const { tool, open, stopped } = gated();
    const timers = { ...systemTimers, elapsed: () => now };
    const options = { storage, tools: createToolRegistry([tool]), clock: () => now, timers };
    const heart = virtualTimers(); // which does not beat by itself, as in a process that is stopped
    const owner = createHarness({ ...options, timers: { ...timers, every: heart.every } });
    const other = createHarness(options);
    const { taskId } = await begin(owner);
    assert.equal((await call(other, "tasks/get", { taskId })).status, "working", wakes);
    now += 31_000;
    assert.equal((await call(other, "tasks/get", { taskId })).status, "failed", wakes);
    if (wakes === "by the end of the call") open();
    if (wakes === "by a heartbeat") heart.advance(5_000);
    if (wakes === "by a heartbeat") await until("the call to be stopped", stopped);
    assert.equal((await call(owner, "tasks/get", { taskId })).status, "failed", wakes);
    await until("the audit", () => owner.logged.some(({ event }) => event === "task_ended"));
    open();
    for (const each of [owner, other]) assert.equal((await call(each, "tasks/get", { taskId })).status, "failed");
    await owner.mcp.close();
    await other.mcp.close();
  }
});

Deno.test("of an owner that ends a task and an instance that presumes it dead, both at once, one wins for all", async () => {
  for (let round = 0; round < 20; round += 1) {
    let now = 1_000_000;
    const storage = createMemoryStorage();
    const { tool, open } = gated();
    const options = {
      storage,
      tools: createToolRegistry([tool]),
      clock: () => now,
      timers: { ...systemTimers, elapsed: () => now },
    };
    const [owner, other] = [createHarness(options), createHarness(options)];
    const { taskId } = await begin(owner);
    await call(other, "tasks/get", { taskId });
    now += 31_000;
    open();
    for (let turns = 0; turns < round; turns += 1) await Promise.resolve();
    const { status } = await call(other, "tasks/get", { taskId });
    assert.ok(status === "failed" || status === "completed", status);
    await until("the end", () => owner.logged.some(({ event }) => event === "task_ended"));
    for (const each of [owner, other]) assert.equal((await call(each, "tasks/get", { taskId })).status, status);
    await owner.mcp.close();
    await other.mcp.close();
  }
});

Deno.test("a task whose server is long dead has failed at the first look; a live one is not, however far clocks are apart", async () => {
  for (const isAlive of [false, true]) {
    let ahead = 0;
    const storage = createMemoryStorage();
    const [own, others] = [virtualTimers(), virtualTimers()];
    const { tool, open } = gated();
    const options = { storage, tools: createToolRegistry([tool]), clock: () => 1_800_000_000_000 + ahead };
    const owner = createHarness({ ...options, timers: own });
    let waiting = 0;
    const after = (ms: number, run: () => void) => {
      if (ms === 10_000) waiting++;
      return others.after(ms, run);
    };
    const other = createHarness({ ...options, timers: { ...others, after } });
    const { taskId } = await begin(owner);
    ahead = 200_000;
    const looks = [call(other, "tasks/get", { taskId }), call(other, "tasks/get", { taskId })];
    let beats = 0;
    storage.watch(["mcp_task", taskId], () => beats += 1);
    await until("both have read it, and wait", () => waiting === 2);
    ahead = isAlive ? -200_000 : ahead; // the owner's clock stays behind
    if (isAlive) own.advance(5_000);
    if (isAlive) await until("a sign of life", () => beats > 0);
    ahead = 200_000;
    others.advance(10_000);
    for (const look of looks) assert.equal((await look).status, isAlive ? "working" : "failed");
    if (!isAlive) {
      const failed = await (await send(other, "tasks/get", { taskId })).json();
      assert.match(
        failed.result.error.message,
        /stopped before the task ended\. It may have taken effect: check, then/,
      );
    }
    open();
    await owner.mcp.close();
    await other.mcp.close();
  }
});

Deno.test("who listens for a task hears that its server died", async () => {
  const storage = createMemoryStorage();
  const timers = virtualTimers();
  const { tool, open } = gated();
  const owner = createHarness({ storage, tools: createToolRegistry([tool]), timers: virtualTimers() });
  const other = createHarness({ storage, tools: createToolRegistry([tool]), timers });
  const { taskId } = await begin(owner);
  const listening = await send(other, "subscriptions/listen", { notifications: { taskIds: [taskId] } });
  const events = readEvents(listening, { method: "subscriptions/listen", isModern: true });
  assert.equal((await events.next())?.message?.["method"], "notifications/subscriptions/acknowledged");
  let told: unknown;
  const hearing = events.next().then((event) => told = event?.message?.["params"]);
  await until("the notice", () => {
    timers.advance(10_000);
    return told !== undefined;
  });
  await hearing;
  assert.equal((told as Task).status, "failed");
  await events.cancel();
  open();
  await owner.mcp.close();
  await other.mcp.close();
});

Deno.test("a running task is told as running by an instance whose clock is off, or jumps, and its owner loses nothing", async () => {
  const ahead = { owner: 0, other: 0 };
  let now = 1_800_000_000_000;
  const storage = createMemoryStorage();
  const { tool, open } = gated();
  const timers = { ...systemTimers, elapsed: () => now };
  const options = { storage, timers, tools: createToolRegistry([tool]), limits: { taskHeartbeatMs: 5 } };
  const owner = createHarness({ ...options, clock: () => now + ahead.owner });
  const other = createHarness({ ...options, clock: () => now + ahead.other });
  const { taskId } = await begin(owner);
  let beats = 0;
  storage.watch(["mcp_task", taskId], () => beats += 1);
  for (const apart of [45_000, -45_000, 90_000, 3_600_000, 400 * 86_400_000, -400 * 86_400_000]) {
    for (const name of ["owner", "other"] as const) {
      ahead[name] = apart;
      for (let look = 0; look < 3; look += 1) {
        const before = beats;
        await until("a heartbeat", () => beats > before);
        for (const each of [owner, other]) assert.equal((await call(each, "tasks/get", { taskId })).status, "working");
        now += 20_000;
      }
      ahead[name] = 0;
    }
  }
  open();
  for (const each of [owner, other]) await taskThat(each, taskId, "completed");
  await owner.mcp.close();
  await other.mcp.close();
});

Deno.test("answers that were taken while the storage was away let the task go on when it is back", async () => {
  const form = {
    method: "elicitation/create" as const,
    params: { message: "Well?", requestedSchema: { type: "object" as const, properties: {} } },
  };
  const storage = makeFailing(createMemoryStorage());
  const asking = tool("long", async (context) => {
    await context.handOut();
    await context.ask({ well: form });
    return done;
  });
  const harness = createHarness({ storage, tools: createToolRegistry([asking]) });
  const { taskId } = await begin(harness);
  await taskThat(harness, taskId, "input_required");
  storage.fault = "refused";
  const answer = await send(harness, "tasks/update", { taskId, inputResponses: { well: { action: "decline" } } });
  assert.equal(answer.status, 503);
  await answer.body?.cancel();
  storage.fault = null;
  await taskThat(harness, taskId, "completed");
  await harness.mcp.close();
});
