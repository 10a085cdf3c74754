/** The tasks extension (SEP-2663): calls that outlive their connection. */
import assert from "node:assert/strict";
import { z } from "zod";
import { systemTimers } from "../../src/lib/time.ts";
import type { AuthOutcome } from "../../src/lib/principal.ts";
import { createSecretBox } from "../../src/lib/secrets.ts";
import { defineTool, type Tool, type ToolContext, type ToolOutcome } from "../../src/mcp/tool.ts";
import { createToolRegistry } from "../../src/mcp/registry.ts";
import { openSqliteStorage } from "../../src/storage/sqlite_storage.ts";
import { until } from "../fixtures/until.ts";
import { readEvents } from "./event_reader.ts";
import { createHarness, type Harness, principalWith } from "./harness.ts";
import { createMemoryStorage } from "./memory_storage.ts";

const capabilities = { elicitation: {}, extensions: { "io.modelcontextprotocol/tasks": {} } };

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

interface Task {
  readonly resultType: string;
  readonly taskId: string;
  readonly status: string;
  readonly statusMessage?: string;
  readonly inputRequests?: Record<string, unknown>;
  readonly result?: { readonly isError: boolean; readonly content: { readonly text: string }[] };
  readonly error?: { readonly code: number };
}

async function call(harness: Harness, method: string, params: Record<string, unknown>): Promise<Task> {
  const response = await harness.modern(method, params, { capabilities });
  assert.equal(response.status, 200);
  return (await response.json()).result;
}

const begin = (harness: Harness, name: string): Promise<Task> => call(harness, "tools/call", { name, arguments: {} });

function taskThat(harness: Harness, taskId: string, status: string): Promise<Task> {
  return until(`a task that is ${status}`, async () => {
    const task = await call(harness, "tasks/get", { taskId });
    return task.status === status && task;
  });
}

Deno.test("a call is handed out as a task, polled, and inlines its result", async () => {
  const gate = Promise.withResolvers<void>();
  const harness = createHarness({
    tools: createToolRegistry([tool("long", async (context) => {
      await context.handOut();
      context.progress({ progress: 1, total: 2 });
      await gate.promise;
      return { ok: true, content: [{ type: "text", text: "done" }] };
    })]),
  });
  const seed = await begin(harness, "long");
  assert.equal(seed.resultType, "task");
  assert.equal(seed.status, "working");
  assert.equal((await taskThat(harness, seed.taskId, "working")).statusMessage, "1 of 2");
  gate.resolve();
  const task = await taskThat(harness, seed.taskId, "completed");
  assert.equal(task.result?.content[0]?.text, "done");
  await harness.mcp.close();
});

Deno.test("a client that takes no tasks gets the result itself, or -32021 where the tool insists", async () => {
  const harness = createHarness({
    tools: createToolRegistry([
      tool("may", async (context) => {
        await context.handOut();
        return { ok: true, content: [{ type: "text", text: "at once" }] };
      }),
      tool("must", async (context) => {
        await context.handOut({ required: true });
        return { ok: true, content: [] };
      }),
    ]),
  });
  const may = await harness.modern("tools/call", { name: "may", arguments: {} });
  assert.equal((await may.json()).result.content[0].text, "at once");
  const must = await harness.modern("tools/call", { name: "must", arguments: {} });
  assert.equal(must.status, 400);
  const { error } = await must.json();
  assert.equal(error.code, -32021);
  assert.deepEqual(error.data.requiredCapabilities, { extensions: { "io.modelcontextprotocol/tasks": {} } });
  for (const method of ["tasks/get", "tasks/update", "tasks/cancel"]) {
    assert.equal((await (await harness.modern(method, { taskId: "x" })).json()).error.code, -32021);
  }
});

Deno.test("a tool's error completes its task, a broken tool fails it, and neither tells why it broke", async () => {
  const harness = createHarness({
    tools: createToolRegistry([
      tool("error", async (context) => {
        await context.handOut();
        return { ok: false, code: "no", message: "It did not work" };
      }),
      tool("break", async (context) => {
        await context.handOut();
        throw new Error("secret");
      }),
    ]),
  });
  const error = await taskThat(harness, (await begin(harness, "error")).taskId, "completed");
  assert.equal(error.result?.isError, true);
  const broken = await taskThat(harness, (await begin(harness, "break")).taskId, "failed");
  assert.equal(broken.error?.code, -32603);
  assert.ok(!JSON.stringify(broken).includes("secret"));
  await harness.mcp.close();
});

Deno.test("tasks/cancel stops the tool, and is acknowledged again once the task has ended", async () => {
  let aborted = false;
  const harness = createHarness({
    tools: createToolRegistry([tool("endless", async (context) => {
      await context.handOut();
      return await new Promise(() => context.signal.addEventListener("abort", () => aborted = true));
    })]),
  });
  const { taskId } = await begin(harness, "endless");
  for (let attempt = 0; attempt < 2; attempt += 1) {
    assert.equal((await call(harness, "tasks/cancel", { taskId })).resultType, "complete");
    await taskThat(harness, taskId, "cancelled");
  }
  assert.equal(aborted, true);
  await harness.mcp.close();
});

Deno.test("a task asks whoever polls it, takes answers one by one, and never uses a key twice", async () => {
  const form = (message: string) => ({
    method: "elicitation/create" as const,
    params: { message, requestedSchema: { type: "object" as const, properties: {} } },
  });
  const harness = createHarness({
    tools: createToolRegistry([tool("ask", async (context) => {
      await context.handOut();
      const first = await context.ask({ a: form("A?"), b: form("B?") });
      const second = await context.ask({ a: form("A again?") });
      return { ok: true, content: [{ type: "text", text: JSON.stringify([first, second]) }] };
    })]),
  });
  const { taskId } = await begin(harness, "ask");
  const accept = { action: "accept", content: {} };
  assert.deepEqual(Object.keys((await taskThat(harness, taskId, "input_required")).inputRequests ?? {}), ["a", "b"]);
  await call(harness, "tasks/update", { taskId, inputResponses: { a: accept, unknown: 7 } });
  assert.deepEqual(Object.keys((await taskThat(harness, taskId, "input_required")).inputRequests ?? {}), ["b"]);
  const wrong = await harness.modern("tasks/update", { taskId, inputResponses: { b: 12 } }, { capabilities });
  assert.equal((await wrong.json()).error.code, -32602);
  await call(harness, "tasks/update", { taskId, inputResponses: { a: accept, b: accept } });
  assert.deepEqual(Object.keys((await taskThat(harness, taskId, "input_required")).inputRequests ?? {}), ["a#2"]);
  await call(harness, "tasks/update", { taskId, inputResponses: { "a#2": accept } });
  assert.equal((await taskThat(harness, taskId, "completed")).result?.isError, false);
  await harness.mcp.close();
});

Deno.test("a task that asks again before it was answered goes on once all is answered", async () => {
  const form = { method: "elicitation/create" as const, params: { message: "?", requestedSchema: noFields } };
  const harness = createHarness({
    tools: createToolRegistry([tool("ask", async (context) => {
      await context.handOut();
      const all = await Promise.all(["a", "b", "a"].map((name) => context.ask({ [name]: form })));
      return { ok: true, content: [{ type: "text", text: JSON.stringify(all) }] };
    })]),
  });
  const { taskId } = await begin(harness, "ask");
  const names = ["a", "a#2", "b"];
  await until("all questions", async () => {
    const { inputRequests = {} } = await taskThat(harness, taskId, "input_required");
    return Object.keys(inputRequests).sort().join() === names.join();
  });
  for (const name of names) {
    await call(harness, "tasks/update", { taskId, inputResponses: { [name]: { action: "accept", content: {} } } });
  }
  assert.equal((await taskThat(harness, taskId, "completed")).result?.isError, false);
  await harness.mcp.close();
});

const noFields = { type: "object" as const, properties: {} };

Deno.test("a task belongs to its principal, and unknown ones are -32602", async () => {
  const storage = createMemoryStorage();
  const secretBox = createSecretBox(new Uint8Array(32));
  const tools = createToolRegistry([tool("quick", async (context) => {
    await context.handOut();
    return { ok: true, content: [] };
  })]);
  const harness = createHarness({ storage, secretBox, tools });
  const { taskId } = await begin(harness, "quick");
  await taskThat(harness, taskId, "completed");
  const authenticate = (): AuthOutcome => ({
    kind: "principal",
    principal: { ...principalWith([]), subject: "somebody-else" },
  });
  const stranger = createHarness({ storage, secretBox, tools, authenticate });
  for (const [each, id] of [[stranger, taskId], [harness, "nonsense"]] as const) {
    for (const method of ["tasks/get", "tasks/cancel", "tasks/update"]) {
      const response = await each.modern(method, { taskId: id, inputResponses: {} }, { capabilities });
      assert.equal((await response.json()).error.code, -32602, method);
    }
  }
  await harness.mcp.close();
});

Deno.test("another token of the same person and client gets at a task only with the scopes of its call", async () => {
  const storage = createMemoryStorage();
  const secretBox = createSecretBox(new Uint8Array(32));
  const scoped = {
    ...tool("quick", async (context) => {
      await context.handOut();
      return { ok: true, content: [] };
    }),
    scopes: ["llm:generate"],
  };
  const tools = createToolRegistry([scoped]);
  const harness = createHarness({ storage, secretBox, tools });
  const { taskId } = await begin(harness, "quick");
  await taskThat(harness, taskId, "completed");
  const withScopes = (scopes: readonly string[]): Harness =>
    createHarness({
      storage,
      secretBox,
      tools,
      authenticate: (): AuthOutcome => ({ kind: "principal", principal: principalWith(scopes) }),
    });
  for (const method of ["tasks/get", "tasks/cancel", "tasks/update"]) {
    const params = { taskId, inputResponses: {} };
    const narrow = await withScopes(["files:read"]).modern(method, params, { capabilities });
    assert.equal((await narrow.json()).error.code, -32602, method);
    const wide = await withScopes(["files:read", "llm:generate"]).modern(method, params, { capabilities });
    assert.equal((await wide.json()).error, undefined, method);
  }
  await harness.mcp.close();
});

Deno.test("another process serves a finished task, and says when the one that ran it is gone", async () => {
  let now = 1_000_000;
  const storage = createMemoryStorage();
  const tools = createToolRegistry([
    tool("quick", async (context) => {
      await context.handOut();
      return { ok: true, content: [] };
    }),
    tool("endless", async (context) => {
      await context.handOut();
      return await new Promise(() => {});
    }),
  ]);
  const timed = { clock: () => now, timers: { ...systemTimers, elapsed: () => now } };
  const first = createHarness({ storage, tools, ...timed });
  const quick = await begin(first, "quick");
  await taskThat(first, quick.taskId, "completed");
  const endless = await begin(first, "endless");
  const second = createHarness({ storage, tools, ...timed });
  assert.equal((await taskThat(second, quick.taskId, "completed")).result?.isError, false);
  assert.equal((await call(second, "tasks/get", { taskId: endless.taskId })).status, "working");
  now += 31_000; // no sign of life from the first
  assert.equal((await call(second, "tasks/get", { taskId: endless.taskId })).status, "failed");
  await first.mcp.close();
  await second.mcp.close();
});

Deno.test("another process passes cancellations and answers on to the one that runs the task", async () => {
  const form = {
    method: "elicitation/create" as const,
    params: { message: "Well?", requestedSchema: { type: "object" as const, properties: {} } },
  };
  const storage = createMemoryStorage();
  const tools = createToolRegistry([
    tool("ask", async (context) => {
      await context.handOut();
      const answers = await context.ask({ well: form });
      return { ok: true, content: [{ type: "text", text: JSON.stringify(answers) }] };
    }),
    tool("endless", async (context) => {
      await context.handOut();
      return await new Promise(() => {});
    }),
  ]);
  const limits = { taskHeartbeatMs: 10 };
  const [first, second] = [createHarness({ storage, tools, limits }), createHarness({ storage, tools, limits })];
  const [ask, endless] = [await begin(first, "ask"), await begin(first, "endless")];
  await taskThat(second, ask.taskId, "input_required");
  await call(second, "tasks/update", { taskId: ask.taskId, inputResponses: { well: { action: "decline" } } });
  assert.match((await taskThat(second, ask.taskId, "completed")).result?.content[0]?.text ?? "", /decline/);
  await call(second, "tasks/cancel", { taskId: endless.taskId });
  await taskThat(second, endless.taskId, "cancelled");
  await first.mcp.close();
  await second.mcp.close();
});

Deno.test("subscriptions/listen follows tasks by id", async () => {
  const gate = Promise.withResolvers<void>();
  const harness = createHarness({
    tools: createToolRegistry([tool("long", async (context) => {
      await context.handOut();
      await gate.promise;
      return { ok: true, content: [] };
    })]),
  });
  const { taskId } = await begin(harness, "long");
  const params = { notifications: { taskIds: [taskId, "nonsense"] } };
  const without = await harness.modern("subscriptions/listen", params);
  assert.equal((await without.json()).error.code, -32021);
  const response = await harness.modern("subscriptions/listen", params, { capabilities, id: "s" });
  const reader = readEvents(response, { method: "subscriptions/listen", isModern: true });
  const acknowledged = (await reader.next())?.message?.["params"] as { notifications: unknown };
  assert.deepEqual(acknowledged.notifications, { taskIds: [taskId] });
  gate.resolve();
  const notice = (await reader.next())?.message;
  assert.equal(notice?.["method"], "notifications/tasks");
  assert.equal((notice?.["params"] as Task).status, "completed");
  await reader.cancel();
  await harness.mcp.close();
});

Deno.test("tasks are limited per principal", async () => {
  const harness = createHarness({
    tools: createToolRegistry([tool("endless", async (context) => {
      await context.handOut();
      return await new Promise(() => {});
    })]),
    limits: { maxTasksPerPrincipal: 1 },
  });
  assert.equal((await begin(harness, "endless")).resultType, "task");
  const refused = await harness.modern("tools/call", { name: "endless", arguments: {} }, { capabilities });
  assert.equal((await refused.json()).result.isError, true);
  await harness.mcp.close();
});

Deno.test("a task keeps a result that is larger than a stored value, and fails honestly over the largest that is kept", async () => {
  await using directory = await Deno.makeTempDir().then((path) => ({
    path,
    [Symbol.asyncDispose]: () => Deno.remove(path, { recursive: true }),
  }));
  const storage = openSqliteStorage({ path: `${directory.path}/tasks.db`, clock: Date.now });
  const text = `"\\é\u{1f600}\u0001`.repeat(100_000);
  const answers = (name: string, answer: string): Tool =>
    tool(name, async (context) => {
      await context.handOut();
      context.progress({ progress: 1, message: "x".repeat(600_000) });
      return { ok: true, content: [{ type: "text", text: answer }], structuredContent: {} };
    });
  const tools = createToolRegistry([answers("large", text), answers("huge", "x".repeat(16_000_001))]);
  const here = createHarness({ tools, storage });
  const elsewhere = createHarness({ tools, storage });
  const { taskId } = await begin(here, "large");
  assert.equal((await taskThat(here, taskId, "completed")).result?.content[0]?.text, text);
  assert.equal((await taskThat(elsewhere, taskId, "completed")).result?.content[0]?.text, text);
  const huge = await begin(here, "huge");
  const failed = await taskThat(here, huge.taskId, "failed");
  assert.match(JSON.stringify(failed.error), /has 160\d+ characters and may have 16000000: ask for less/);
  assert.ok(
    !here.logged.some(({ event }) => event === "task_not_settled" || event === "task_end_not_stored"),
    JSON.stringify(here.logged),
  );
  await here.mcp.close();
  await elsewhere.mcp.close();
  await storage.close();
});

Deno.test("large results of one person's tasks are kept up to a sum, then refused in words; listening reads none", async () => {
  const tools = createToolRegistry([tool("large", async (context) => {
    await context.handOut();
    return { ok: true, content: [{ type: "text", text: "x".repeat(15_000_000) }], structuredContent: {} };
  })]);
  const storage = createMemoryStorage();
  const read: string[] = [];
  const here = createHarness({ tools, storage });
  const elsewhere = createHarness({
    storage: {
      ...storage,
      get(key) {
        read.push(key[0]);
        return storage.get(key);
      },
    },
  });
  const ids: string[] = [];
  for (let index = 0; index < 5; index++) {
    const { taskId } = await begin(here, "large");
    await taskThat(here, taskId, index < 4 ? "completed" : "failed");
    ids.push(taskId);
  }
  const refused = await call(here, "tasks/get", { taskId: ids[4] });
  assert.match(JSON.stringify(refused.error), /Too many large results of tasks are kept/);
  const stream = await elsewhere.modern("subscriptions/listen", { notifications: { taskIds: ids } }, { capabilities });
  const reader = readEvents(stream, { method: "subscriptions/listen", isModern: true });
  assert.match(JSON.stringify(await reader.next()), /acknowledged/);
  await elsewhere.modern("tasks/cancel", { taskId: ids[0] }, { capabilities });
  assert.ok(read.includes("mcp_task") && !read.includes("mcp_task_result"));
  await here.mcp.close();
  await elsewhere.mcp.close();
});
