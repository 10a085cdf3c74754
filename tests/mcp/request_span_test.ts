/** The spans of requests and tools, by OpenTelemetry's conventions for MCP. */
import assert from "node:assert/strict";
import { z } from "zod";
import { until } from "../fixtures/until.ts";
import { defineTool, type Tool, type ToolContext, type ToolOutcome } from "../../src/mcp/tool.ts";
import { createToolRegistry } from "../../src/mcp/registry.ts";
import { createRecordingTracer } from "../fixtures/recording_tracer.ts";
import { createHarness, harnessTools, rpc, toolCall } from "./harness.ts";

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

Deno.test("each request has a span with its method, tool, outcome and audit's id, and nothing that a caller wrote", async () => {
  const { tracer, spans } = createRecordingTracer();
  const harness = createHarness({ tracer });
  const bodies: [unknown, string | null, (string | undefined)[]][] = [
    [toolCall("echo", { text: "WORDS" }), null, ["tools/call echo", undefined, "execute_tool echo", undefined]],
    [toolCall("measure", { text: "" }), null, ["tools/call measure", "tool_error", "execute_tool measure", "empty"]],
    [toolCall("crash", {}), null, ["tools/call crash", "tool_error", "execute_tool crash", "internal_error"]],
    [toolCall("crash", { later: true }), null, [
      ...["tools/call crash", "tool_error"],
      ...["execute_tool crash", "internal_error"],
    ]],
    [toolCall("WORDS", {}), null, ["tools/call", "-32602"]],
    [toolCall("store", {}), "Bearer read-only", ["tools/call store", "insufficient_scope"]],
    [rpc("ping"), null, ["ping", undefined]],
    [rpc("WORDS/words"), null, ["_OTHER", "-32601"]],
    [rpc("tools/list", undefined, "an id"), null, ["tools/list", undefined]],
    [{ jsonrpc: "2.0", method: "notifications/initialized" }, null, []],
    [[rpc("ping", undefined, 1), toolCall("echo", { text: "WORDS" }, 2)], null, [
      ...["ping", undefined],
      ...["tools/call echo", undefined, "execute_tool echo", undefined],
    ]],
  ];
  for (const [body, authorization, expected] of bodies) {
    const [before, audited] = [spans.length, harness.audit.length];
    const response = await harness.post(body, authorization === null ? {} : { authorization });
    await response.body?.cancel();
    const begun = spans.slice(before);
    assert.deepEqual(begun.flatMap(({ name, failure }) => [name, failure]), expected, JSON.stringify(body));
    assert.ok(begun.every(({ isOver }) => isOver));
    const ids = begun.flatMap(({ attributes }) => attributes["portcullis.request.id"] ?? []);
    assert.deepEqual(ids, harness.audit.slice(audited).map(({ requestId }) => requestId));
  }
  const listed = spans.find(({ name }) => name === "tools/list");
  assert.deepEqual([listed?.kind, listed?.attributes["jsonrpc.request.id"]], ["server", "an id"]);
  assert.ok(spans.some(({ attributes }) => attributes["rpc.response.status_code"] === "-32601"));
  assert.ok(!JSON.stringify(spans).includes("WORDS"));
  assert.ok(harness.audit.every(({ traceId }) => traceId?.startsWith("trace ")), "the audit names the span's trace");
});

Deno.test("a tool's span goes on with its task, and ends with the reason, while the request's ended with the seed", async () => {
  const { tracer, spans } = createRecordingTracer();
  const gate = Promise.withResolvers<void>();
  const long = tool("long", async (context) => {
    await context.handOut();
    await gate.promise;
    return { ok: false, code: "came_to_nothing", message: "" };
  });
  const harness = createHarness({ tracer, tools: createToolRegistry([long]) });
  const capabilities = { extensions: { "io.modelcontextprotocol/tasks": {} } };
  const seed = await harness.modern("tools/call", { name: "long", arguments: {} }, { capabilities });
  assert.equal((await seed.json()).result.resultType, "task");
  const states = (): unknown[] => spans.map(({ name, failure, isOver }) => [name, failure, isOver]);
  assert.deepEqual(states(), [["tools/call long", undefined, true], ["execute_tool long", undefined, false]]);
  gate.resolve();
  await until("the end of the tool's span", () => spans[1]?.isOver === true);
  await harness.mcp.close();
  assert.deepEqual(states(), [["tools/call long", undefined, true], ["execute_tool long", "came_to_nothing", true]]);
});

Deno.test("a tool that asks has not failed: its next round is another span", async () => {
  const { tracer, spans } = createRecordingTracer();
  const asking = tool("asking", async (context) => {
    await context.ask({
      who: {
        method: "elicitation/create",
        params: { message: "Who?", requestedSchema: { type: "object", properties: {}, required: [] } },
      },
    });
    return { ok: true, content: [] };
  });
  const harness = createHarness({ tracer, tools: createToolRegistry([asking]) });
  const capabilities = { elicitation: {} };
  const response = await harness.modern("tools/call", { name: "asking", arguments: {} }, { capabilities });
  assert.equal((await response.json()).result.resultType, "input_required");
  assert.deepEqual(spans.map(({ name, failure, isOver }) => [name, failure, isOver]), [
    ["tools/call asking", undefined, true],
    ["execute_tool asking", undefined, true],
  ]);
});

Deno.test("without a tracer nothing is begun, and with one that only passes on, only for a caller's trace", async () => {
  const { tracer, spans } = createRecordingTracer();
  const harness = createHarness({ tracer: { ...tracer, exports: false }, tools: createToolRegistry(harnessTools()) });
  const traceparent = `00-${"a".repeat(32)}-${"b".repeat(16)}-01`;
  for (const headers of [{}, { traceparent: "no" }, { traceparent }]) {
    await (await harness.post(toolCall("echo", { text: "a" }), headers)).body?.cancel();
  }
  assert.deepEqual(spans.map(({ name, parent }) => [name, parent?.traceparent]), [["tools/call echo", traceparent]]);
});
