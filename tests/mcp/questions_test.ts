/** One way to ask, in both eras: requests on the call's stream, or questions in its result (MRTR). */
import assert from "node:assert/strict";
import { z } from "zod";
import type { AuthOutcome } from "../../src/lib/principal.ts";
import { parseAnswer, type Question } from "../../src/mcp/question.ts";
import { defineTool, type Tool } from "../../src/mcp/tool.ts";
import { createToolRegistry } from "../../src/mcp/registry.ts";
import { readEvents } from "./event_reader.ts";
import { createHarness, type Harness, principalWith, toolCall } from "./harness.ts";

const nameForm: Question = {
  method: "elicitation/create",
  params: {
    message: "Who are you?",
    requestedSchema: { type: "object", properties: { name: { type: "string" } }, required: ["name"] },
  },
};
const sampling: Question = {
  method: "sampling/createMessage",
  params: { messages: [{ role: "user", content: { type: "text", text: "Hello?" } }], maxTokens: 10 },
};

/** Asks twice; the runs tell how often it was begun, and how often it was unwound. */
function askingTool(runs: { begun: number; unwound: number } = { begun: 0, unwound: 0 }): Tool {
  return defineTool({
    name: "greet",
    title: "Greet",
    description: "Asks who is there, twice.",
    scopes: [],
    annotations: {},
    input: z.object({ style: z.string().optional().describe("How") }),
    run: async (_input, context) => {
      runs.begun += 1;
      try {
        const first = await context.ask({ who: nameForm });
        if (!first.ok) return { ok: false, code: first.error.reason, message: first.error.message };
        const second = await context.ask({ again: nameForm });
        if (!second.ok) return { ok: false, code: second.error.reason, message: second.error.message };
        return { ok: true, content: [{ type: "text", text: JSON.stringify([first.value, second.value]) }] };
      } finally {
        runs.unwound += 1;
      }
    },
  });
}

const accept = (name: string) => ({ action: "accept", content: { name } });
const capabilities = { elicitation: {} };

interface Round {
  readonly resultType?: string;
  readonly inputRequests?: Record<string, unknown>;
  readonly requestState?: string;
  readonly content?: { readonly text: string }[];
}

async function round(harness: Harness, params: Record<string, unknown>, name = "greet"): Promise<Round> {
  const response = await harness.modern("tools/call", { name, arguments: {}, ...params }, { capabilities });
  assert.equal(response.status, 200);
  return (await response.json()).result;
}

async function refused(harness: Harness, params: Record<string, unknown>, name = "greet"): Promise<number> {
  const response = await harness.modern("tools/call", { name, arguments: {}, ...params }, { capabilities });
  return (await response.json()).error?.code;
}

Deno.test("2026-07-28: questions come as results, round by round, until the tool has its answers", async () => {
  const runs = { begun: 0, unwound: 0 };
  const harness = createHarness({ tools: createToolRegistry([askingTool(runs)]) });
  const one = await round(harness, {});
  assert.equal(one.resultType, "input_required");
  assert.deepEqual(one.inputRequests, { who: nameForm });
  const wrongKey = await round(harness, { inputResponses: { nobody: accept("x") }, requestState: one.requestState });
  assert.deepEqual(wrongKey.inputRequests, { who: nameForm });
  const two = await round(harness, { inputResponses: { who: accept("Ada") }, requestState: one.requestState });
  assert.deepEqual(two.inputRequests, { again: nameForm });
  assert.notEqual(two.requestState, one.requestState);
  const three = await round(harness, {
    inputResponses: { again: accept("Bea"), more: 1 },
    requestState: two.requestState,
  });
  assert.equal(three.resultType, "complete");
  assert.deepEqual(JSON.parse(three.content?.[0]?.text ?? ""), [{ who: accept("Ada") }, { again: accept("Bea") }]);
  assert.deepEqual(runs, { begun: 4, unwound: 4 }); // every round unwinds: nothing is left hanging
});

Deno.test("requestState is the caller's, for this request, for a while: anything else is -32602 (MRTR §5)", async () => {
  let now = 1_000_000;
  const options = { tools: createToolRegistry([askingTool()]), clock: () => now };
  const harness = createHarness(options);
  const inputResponses = { who: accept("Ada") };
  const { requestState = "" } = await round(harness, {});
  for (const bad of [`${requestState}-TAMPERED`, requestState.slice(1), "", 7, null, {}]) {
    assert.equal(await refused(harness, { inputResponses, requestState: bad }), -32602, String(bad));
  }
  assert.equal(await refused(harness, { inputResponses, requestState, arguments: { style: "loud" } }), -32602);
  const authenticate = (): AuthOutcome => ({
    kind: "principal",
    principal: { ...principalWith([]), subject: "somebody-else" },
  });
  assert.equal(await refused(createHarness({ ...options, authenticate }), { inputResponses, requestState }), -32602);
  assert.equal((await round(harness, { inputResponses, requestState })).resultType, "input_required");
  now += 16 * 60_000;
  assert.equal(await refused(harness, { inputResponses, requestState }), -32602);
});

Deno.test("answers of the wrong shape are -32602", async () => {
  const harness = createHarness({ tools: createToolRegistry([askingTool()]) });
  for (const inputResponses of [null, [], 5, { who: 12345 }, { who: null }, { who: { action: "perhaps" } }]) {
    assert.equal(await refused(harness, { inputResponses }), -32602, JSON.stringify(inputResponses));
  }
});

Deno.test("a client is never asked for what it did not declare: -32021, or a failure of the tool before", async () => {
  const harness = createHarness({ tools: createToolRegistry([askingTool()]) });
  const modern = await harness.modern("tools/call", { name: "greet", arguments: {} }, {
    capabilities: { sampling: {} },
  });
  assert.equal(modern.status, 400);
  const { error } = await modern.json();
  assert.equal(error.code, -32021);
  assert.deepEqual(error.data, { requiredCapabilities: { elicitation: {} } });
  const session = await harness.openSession("2025-11-25", { sampling: {} });
  const { result } = await (await harness.post(toolCall("greet"), session)).json();
  assert.equal(result.isError, true);
  assert.match(result.content[0].text, /elicitation/);
  assert.equal((await (await harness.post(toolCall("greet"))).json()).result.isError, true); // no session: no abilities
});

Deno.test("before 2026-07-28 questions are requests on the call's stream, answered by posted responses", async () => {
  const harness = createHarness({ tools: createToolRegistry([askingTool()]) });
  const session = await harness.openSession("2025-06-18", capabilities);
  const stranger = await harness.openSession("2025-06-18", capabilities);
  const reader = readEvents(await harness.post(toolCall("greet"), session), { method: "tools/call", isModern: false });
  for (const name of ["Ada", "Bea"]) {
    const question = (await reader.next())?.message;
    assert.equal(question?.["method"], "elicitation/create");
    assert.deepEqual(question?.["params"], nameForm.params);
    const response = { jsonrpc: "2.0", id: question?.["id"], result: accept(name) };
    await harness.post({ ...response, result: accept("Mallory") }, stranger); // another session answers nothing
    assert.equal((await harness.post(response, session)).status, 202);
  }
  const result = (await reader.next())?.message?.["result"] as Round;
  assert.deepEqual(JSON.parse(result.content?.[0]?.text ?? ""), [{ who: accept("Ada") }, { again: accept("Bea") }]);
  assert.equal(await reader.next(), null);
});

Deno.test("a client that refuses, or answers too late or wrongly, fails the tool in words", async () => {
  const cases: [Record<string, unknown> | null, RegExp][] = [
    [{ error: { code: -1, message: "Not now" } }, /refused: Not now/],
    [{ result: { action: "perhaps" } }, /wrong shape/],
    [null, /in time/],
  ];
  for (const [response, words] of cases) {
    const limits = response === null ? { askTimeoutMs: 30 } : {};
    const harness = createHarness({ tools: createToolRegistry([askingTool()]), limits });
    const session = await harness.openSession("2025-11-25", capabilities);
    const reader = readEvents(await harness.post(toolCall("greet"), session), {
      method: "tools/call",
      isModern: false,
    });
    await reader.next(); // primed
    const id = (await reader.next())?.message?.["id"];
    if (response !== null) await harness.post({ jsonrpc: "2.0", id, ...response }, session);
    const result = (await reader.next())?.message?.["result"] as Round & { readonly isError: boolean };
    assert.equal(result.isError, true);
    assert.match(result.content?.[0]?.text ?? "", words);
    await reader.cancel();
    await harness.mcp.close();
  }
});

Deno.test("several questions are asked at once", async () => {
  const both = defineTool({
    name: "both",
    title: "Both",
    description: "Asks the person and the model.",
    scopes: [],
    annotations: {},
    input: z.object({}),
    run: async (_input, context) => {
      const answers = await context.ask({ person: nameForm, model: sampling });
      return { ok: true, content: [{ type: "text", text: JSON.stringify(answers) }] };
    },
  });
  const harness = createHarness({ tools: createToolRegistry([both]) });
  const all = { elicitation: {}, sampling: {} };
  const response = await harness.modern("tools/call", { name: "both", arguments: {} }, { capabilities: all });
  assert.deepEqual((await response.json()).result.inputRequests, { person: nameForm, model: sampling });
});

Deno.test("null in an answer is what its person, or its model, left out", () => {
  const form = { message: "m", requestedSchema: { type: "object", properties: {} } } as const;
  const cases: readonly (readonly [Question, unknown, unknown])[] = [
    [{ method: "elicitation/create", params: form }, { action: "accept", content: { a: 1, b: null } }, {
      ...{ action: "accept", content: { a: 1 } },
    }],
    [{ method: "elicitation/create", params: form }, { action: "decline", content: null }, {
      ...{ action: "decline", content: null },
    }],
    [
      { method: "sampling/createMessage", params: { messages: [], maxTokens: 1 } },
      { role: "assistant", model: "m", content: { type: "text", text: "a" }, stopReason: null },
      { role: "assistant", model: "m", content: { type: "text", text: "a" }, stopReason: null },
    ],
    [{ method: "roots/list" }, { roots: [{ uri: "file:///a", name: null }] }, {
      roots: [{ uri: "file:///a", name: null }],
    }],
  ];
  for (const [question, given, meant] of cases) assert.deepEqual(parseAnswer(question, given), meant);
});
