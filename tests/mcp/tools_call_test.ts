import assert from "node:assert/strict";
import { z } from "zod";
import { defineTool } from "../../src/mcp/tool.ts";
import { createToolRegistry } from "../../src/mcp/registry.ts";
import { createHarness, toolCall } from "./harness.ts";

const v2025_11_25 = { "mcp-protocol-version": "2025-11-25" };

async function resultOf(response: Response): Promise<unknown> {
  assert.equal(response.status, 200);
  return (await response.json()).result;
}

Deno.test("tools/call answers a quick tool and honours defaults", async () => {
  const { post, audit } = createHarness();
  const response = await post(toolCall("echo", { text: "hi", _meta: {} }, 'a"b'));
  assert.equal(response.headers.get("content-type"), "application/json");
  assert.deepEqual(await response.json(), {
    jsonrpc: "2.0",
    id: 'a"b',
    result: { content: [{ type: "text", text: "hi" }], structuredContent: { text: "hi" }, isError: false },
  });
  assert.equal(audit.length, 1);
  const { time, durationMs, ...entry } = audit[0] ?? assert.fail();
  assert.ok(time > 0 && durationMs >= 0);
  assert.equal(durationMs, Number(durationMs.toFixed(3)));
  assert.deepEqual(entry, {
    requestId: "r1",
    subject: "user-1",
    clientId: "client-1",
    grantId: "grant-1",
    method: "tools/call",
    tool: "echo",
    outcome: "ok",
    code: null,
    change: undefined,
    traceId: undefined,
  });
});

Deno.test("tools/call puts structured content into the content of a tool that gives no other", async () => {
  const { post } = createHarness();
  assert.deepEqual(await resultOf(await post(toolCall("measure", { text: "four" }))), {
    content: [{ type: "text", text: '{"length":4}' }],
    structuredContent: { length: 4 },
    isError: false,
  });
});

Deno.test("tools/call leaves structured content out of the failure of a tool with an output schema", async () => {
  const { post, audit } = createHarness();
  assert.deepEqual(await resultOf(await post(toolCall("measure", { text: "" }))), {
    content: [{ type: "text", text: "There is nothing to measure" }],
    isError: true,
  });
  assert.deepEqual([audit[0]?.outcome, audit[0]?.code], ["tool_error", "empty"]);
});

Deno.test("tools/call hides why a tool threw, at once or later, and logs it", async () => {
  const { post, logged } = createHarness();
  for (const args of [undefined, { later: true }]) {
    assert.deepEqual(await resultOf(await post(toolCall("crash", args))), {
      content: [{ type: "text", text: "Internal error in tool crash" }],
      structuredContent: { text: "Internal error in tool crash" },
      isError: true,
    });
  }
  const reasons = logged.filter(({ event }) => event === "tool_crashed").map(({ fields }) => String(fields?.["error"]));
  assert.equal(reasons.length, 2);
  for (const reason of reasons) assert.match(reason, /secret detail/);
});

Deno.test("tools/call treats a result that breaks the output schema as a failure of the tool", async () => {
  const { post } = createHarness();
  assert.deepEqual(await resultOf(await post(toolCall("break_promise"))), {
    content: [{ type: "text", text: "Internal error in tool break_promise" }],
    isError: true,
  });
});

Deno.test("tools/call stops a tool that takes too long", async () => {
  const { post, audit } = createHarness({ toolTimeoutMs: 20 });
  const result = await resultOf(await post(toolCall("wait"))) as { content: { text: string }[] };
  assert.match(result.content[0]?.text ?? "", /^The call took longer than 0.02 s and was stopped$/);
  assert.equal(audit[0]?.outcome, "tool_error");
});

Deno.test("a tool that ends by the reason of its signal has not crashed, whoever has its answer by then", async () => {
  const ended = Promise.withResolvers<void>();
  const tools = createToolRegistry([defineTool({
    name: "work",
    title: "Work",
    description: "Works until it is told to stop.",
    scopes: [],
    annotations: {},
    input: z.object({}),
    async run(_input, { signal }) {
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      setTimeout(ended.resolve, 5);
      throw signal.reason;
    },
  })]);
  const { post, logged } = createHarness({ tools, toolTimeoutMs: 20 });
  const result = await resultOf(await post(toolCall("work"))) as { content: { text: string }[] };
  assert.match(result.content[0]?.text ?? "", /^The call took longer than 0.02 s and was stopped$/);
  await ended.promise;
  assert.deepEqual(logged.map(({ event }) => event).filter((event) => event === "tool_crashed"), []);
});

Deno.test("tools/call says per revision what is wrong with the arguments (SEP-1303)", async () => {
  const { post } = createHarness();
  const cases: [unknown, string][] = [
    [{}, "text parameter is required"],
    [undefined, "text parameter is required"],
    [{ text: 5 }, "text must be a string"],
    [{ text: "x".repeat(101) }, "text must have at most 100 characters"],
    [{ text: "x", times: 9 }, "times must be at most 3"],
    [{ text: "x", times: 1.5 }, "times must be an integer"],
    [{ times: "2" }, "text parameter is required"],
    [{ times: "02" }, "text parameter is required; times must be a number"],
    [{ text: "x", times: "9" }, "times must be at most 3"],
    [{ text: "x", time: 2 }, "echo has no time; did you mean times?"],
    [
      { content: "x", colour: "red", times: 0 },
      "echo has no content, colour; it takes text, times; text parameter is required; times must be at least 1",
    ],
  ];
  for (const [args, message] of cases) {
    for (const header of [{}, { "mcp-protocol-version": "2025-06-18" }]) {
      const response = await post(toolCall("echo", args), header);
      assert.equal(response.status, 200);
      assert.deepEqual((await response.json()).error, { code: -32602, message });
    }
    assert.deepEqual(await resultOf(await post(toolCall("echo", args), v2025_11_25)), {
      content: [{ type: "text", text: message }],
      structuredContent: { text: message },
      isError: true,
    });
  }
});

Deno.test("tools/call takes numbers and booleans that come as text in their canonical form, then checks them", async () => {
  const taken: unknown[] = [];
  const { post } = createHarness({
    tools: createToolRegistry([defineTool({
      name: "take",
      title: "Take",
      description: "Takes arguments of all types.",
      scopes: [],
      annotations: {},
      input: z.object({
        count: z.int().max(10).optional(),
        share: z.number().optional(),
        on: z.boolean().optional(),
        text: z.string().optional(),
        options: z.object({ seed: z.int(), stop: z.array(z.string()) }).partial().optional(),
        lines: z.array(z.int()).optional(),
        open: z.looseObject({ known: z.int() }).partial().optional(),
      }),
      run: (input) => {
        taken.push(input);
        return { ok: true, content: [] };
      },
    })]),
  });
  const cases: [Record<string, unknown>, Record<string, unknown> | string][] = [
    [{ count: "3" }, { count: 3 }],
    [{ count: "-3", share: "0.5", on: "true", text: "3" }, { count: -3, share: 0.5, on: true, text: "3" }],
    [{ on: "false", lines: ["1", 2, "3"] }, { on: false, lines: [1, 2, 3] }],
    [{ options: { seed: "7", stop: ["1", "true"] } }, { options: { seed: 7, stop: ["1", "true"] } }],
    [{ open: { known: "1", other: "2" } }, { open: { known: 1, other: "2" } }],
    [{ count: "", on: "", lines: "", options: "", text: "" }, { text: "" }],
    [{ lines: '[1, "2"]', options: '{"seed":"7"}' }, { lines: [1, 2], options: { seed: 7 } }],
    [{ count: "11" }, "count must be at most 10"],
    ...["3.0", " 3", "+3", "1e1", "0x3", "three", "NaN", "Infinity"].map((
      count,
    ): [Record<string, unknown>, string] => [{ count }, "count must be a number"]),
    [{ on: "True" }, { on: true }], // as Python writes it
    ...["yes", "1", "on"].map((on): [Record<string, unknown>, string] => [
      { on },
      "on must be true or false",
    ]),
  ];
  for (const [args, expected] of cases) {
    taken.length = 0;
    const answer = await (await post(toolCall("take", args))).json();
    if (typeof expected === "string") assert.deepEqual(answer.error, { code: -32602, message: expected });
    else assert.deepEqual(taken, [expected], JSON.stringify(answer));
  }
});

Deno.test("tools/call names the parameter that an unknown argument was meant for", async () => {
  const tool = (name: string, ...parameters: readonly string[]) =>
    defineTool({
      name,
      title: name,
      description: "Takes texts.",
      scopes: [],
      annotations: {},
      aliases: { path: "filename" },
      input: z.object(Object.fromEntries(parameters.map((parameter) => [parameter, z.string().optional()]))),
      run: (input) => ({ ok: true, content: [{ type: "text", text: JSON.stringify(input) }] }),
    });
  const { post } = createHarness({
    tools: createToolRegistry([
      tool("list", "path", "pattern"),
      tool("read", "filename", "start_line", "end_line"),
      tool("edit", "filename", "old_text", "new_text", "replace_all"),
      tool("nothing"),
    ]),
  });
  const cases: [string, Record<string, unknown>, string][] = [
    ["list", { dir: "docs" }, "list has no dir; it takes path, pattern"],
    ["list", { pth: "docs" }, "list has no pth; did you mean path?"],
    [
      "edit",
      { old_string: "a", new_txt: "b", replaceAl: "true" },
      "edit has no new_txt; did you mean new_text?; edit has no replaceAl; did you mean replace_all?; edit has no old_string; it takes filename, old_text, new_text, replace_all",
    ],
    ["nothing", { x: 1 }, "nothing has no x; it takes no arguments"],
    ["nothing", { x: 1, y: 2 }, "nothing has no x, y; it takes no arguments"],
    [
      "read",
      { color: 1, end_lin: 3, shade: 2 },
      "read has no end_lin; did you mean end_line?; read has no color, shade; it takes filename, start_line, end_line",
    ],
    [
      "nothing",
      Object.fromEntries(Array.from({ length: 50 }, (_, n) => [`x${n}`, n])),
      `nothing has no ${Array.from({ length: 20 }, (_, n) => `x${n}`).join(", ")}; it takes no arguments`,
    ],
    [
      "read",
      { ["\ud800".repeat(2) + "y".repeat(500)]: 1 },
      `read has no \ufffd\ufffd${"y".repeat(62)}; it takes filename, start_line, end_line`,
    ],
  ];
  for (const [name, args, message] of cases) {
    const answer = await (await post(toolCall(name, args))).json();
    assert.deepEqual(answer.error, { code: -32602, message });
  }
  const answer = await (await post(toolCall("read", { path: "a.txt" }))).json();
  assert.deepEqual(answer.result.content, [{ type: "text", text: '{"filename":"a.txt"}' }]);
  const nested = { path: "f", seed: "options.seed", stop: "options.stop" };
  const alias = createHarness({
    tools: createToolRegistry([defineTool({
      name: "ask",
      title: "ask",
      description: "Takes options.",
      scopes: [],
      annotations: {},
      aliases: nested,
      input: z.object({
        f: z.string(),
        options: z.strictObject({ seed: z.int(), stop: z.string() }).partial().optional(),
      }),
      run: (input) => ({ ok: true, content: [{ type: "text", text: JSON.stringify(input) }] }),
    })]),
  });
  const aliasCases: [Record<string, unknown>, unknown][] = [
    [{ path: "a", seed: "7", stop: "b" }, { f: "a", options: { seed: 7, stop: "b" } }],
    [{ f: "a", seed: 7, options: { stop: "b" } }, { f: "a", options: { seed: 7, stop: "b" } }],
    [
      { f: "a", seed: 7, options: { seed: 8 } },
      "options.seed and seed are one parameter with different values; give one of them",
    ],
    [{ f: "a", seed: 7, options: "x" }, "options must be an object"],
    [{ seed: 7, options: '{"stop":"b"}', F_: "a" }, "ask has no F_; it takes f, options; f parameter is required"],
    [{ f: "a", path: "b" }, "f and path are one parameter with different values; give one of them"],
    [{ f: "a", path: "a" }, { f: "a" }],
    [{ f: "a", options: { sed: 7 } }, "options has no sed; did you mean seed?"],
  ];
  for (const [args, expected] of aliasCases) {
    const { result, error } = await (await alias.post(toolCall("ask", args))).json();
    assert.deepEqual(result === undefined ? error.message : JSON.parse(result.content[0].text), expected);
  }
  const many = Object.fromEntries(Array.from({ length: 500 }, (_, at) => [`x${at}`, at]));
  const { error } = await (await post(toolCall("nothing", many))).json();
  assert.equal(error.message.split(", ").length, 20, error.message.slice(0, 300));
});

Deno.test("tools/call refuses malformed params and unknown tools with -32602 in every revision", async () => {
  const { post } = createHarness();
  const cases: [unknown, string][] = [
    [{ jsonrpc: "2.0", id: 1, method: "tools/call" }, "params must be an object"],
    [{ jsonrpc: "2.0", id: 1, method: "tools/call", params: [] }, "params must be an object"],
    [{ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: 4 } }, "params.name must be a string"],
    [toolCall("nope"), "Unknown tool: nope"],
    [toolCall("ehco"), "Unknown tool: ehco; did you mean echo?"],
    [toolCall("mcp__here__echo"), "Unknown tool: mcp__here__echo; did you mean echo?"],
    [toolCall("say"), "Unknown tool: say; did you mean echo?"],
    [toolCall("Measure"), "Unknown tool: Measure; did you mean measure?"],
    [toolCall("x".repeat(1000)), `Unknown tool: ${"x".repeat(1000)}`],
    [toolCall("__proto__"), "Unknown tool: __proto__"],
    [toolCall("echo", ["text"]), "params.arguments must be an object"],
    [toolCall("echo", "text"), "params.arguments must be an object"],
  ];
  for (const [body, message] of cases) {
    for (const header of [{}, v2025_11_25]) {
      const response = await post(body, header);
      assert.equal(response.status, 200);
      assert.deepEqual((await response.json()).error, { code: -32602, message });
    }
  }
});

Deno.test("null is absent in the parameters of the protocol's own methods", async () => {
  const { post } = createHarness();
  const alike: [string, unknown, unknown][] = [
    ["tools/list", null, undefined],
    ["tools/list", { cursor: null, _meta: null }, {}],
    ["resources/list", { cursor: null }, {}],
    ["resources/list", { cursor: "" }, {}],
    ["resources/templates/list", { cursor: null, _meta: { progressToken: null } }, {}],
    ["prompts/list", { cursor: null }, {}],
    ["ping", null, undefined],
    ["tools/call", { name: "measure", arguments: { text: "a" }, _meta: null, task: null }, {
      ...{ name: "measure", arguments: { text: "a" } },
    }],
    ["tools/call", { name: "measure", arguments: '{"text":"a"}' }, { name: "measure", arguments: { text: "a" } }],
    ["tools/call", { name: "measure", arguments: null }, { name: "measure" }],
    ["tools/call", { name: "measure", arguments: [] }, { name: "measure" }], // as PHP writes an empty object
    ["tools/call", { name: "measure", arguments: "" }, { name: "measure" }],
  ];
  for (const [method, sent, meant] of alike) {
    const answers = [];
    for (const params of [sent, meant]) {
      answers.push(await (await post({ jsonrpc: "2.0", id: 1, method, params })).json());
    }
    assert.deepEqual(answers[0], answers[1], `${method} ${JSON.stringify(sent)}`);
  }
});

Deno.test("tools/call refuses a token without the scopes before anything runs (RFC 6750 §3.1)", async () => {
  const { post, audit } = createHarness();
  const response = await post(toolCall("store", undefined, 9), { authorization: "Bearer read-only" });
  assert.equal(response.status, 403);
  assert.equal(
    response.headers.get("www-authenticate"),
    `Bearer error="insufficient_scope", scope="files:read files:write"`,
  );
  assert.deepEqual(await response.json(), {
    jsonrpc: "2.0",
    id: 9,
    error: { code: 403, message: "This call needs the scopes: files:read files:write" },
  });
  assert.deepEqual([audit[0]?.outcome, audit[0]?.tool], ["insufficient_scope", "store"]);
});

Deno.test("tools/call answers 429 with Retry-After when the principal calls too often", async () => {
  const { post, audit } = createHarness({ admit: () => ({ ok: false, retryAfterSeconds: 7 }) });
  const response = await post(toolCall("echo", { text: "hi" }));
  assert.equal(response.status, 429);
  assert.equal(response.headers.get("retry-after"), "7");
  const { error } = await response.json();
  assert.deepEqual(error, { code: 429, message: "Too many calls. Try again in 7 s", data: { retryAfterSeconds: 7 } });
  assert.deepEqual([audit[0]?.outcome, audit[0]?.tool], ["rate_limited", "echo"]);
});

Deno.test("a step-up challenge names what is granted and needed before 2026-07-28, and only what is needed since", async () => {
  const speaking = defineTool({
    name: "speak",
    title: "Speak",
    description: "Needs the model.",
    scopes: ["llm:generate"],
    annotations: {},
    input: z.object({}),
    run: () => ({ ok: true, content: [] }),
  });
  const harness = createHarness({ tools: createToolRegistry([speaking]) });
  const narrow = { authorization: "Bearer read-only" };
  const challengeOf = async (answer: Promise<Response>): Promise<string> => {
    const response = await answer;
    assert.equal(response.status, 403);
    assert.equal((await response.json()).error.message, "This call needs the scopes: llm:generate");
    return response.headers.get("www-authenticate") ?? "";
  };
  for (const version of ["2025-03-26", "2025-06-18", "2025-11-25"]) {
    const headers = { ...narrow, "mcp-protocol-version": version };
    assert.match(await challengeOf(harness.post(toolCall("speak", {}), headers)), /scope="files:read llm:generate"/);
  }
  const modern = harness.modern("tools/call", { name: "speak", arguments: {} }, { headers: narrow });
  assert.match(await challengeOf(modern), /scope="llm:generate"/);
});

Deno.test("the audit gets a tool's arguments by its own names", async () => {
  const seen: unknown[] = [];
  const read = defineTool({
    ...{ name: "read", title: "Read", description: "Reads.", scopes: [], annotations: {} },
    aliases: { file_path: "filename" },
    input: z.object({ filename: z.string() }),
    run: () => ({ ok: true, content: [] }),
  });
  const { post } = createHarness({
    tools: createToolRegistry([read]),
    audit: (_entry, params) => void seen.push(params),
  });
  await post(toolCall("read", { file_path: "a.txt" }));
  await post(toolCall("read", { colour: 1 }));
  assert.deepEqual(seen, [{ arguments: { filename: "a.txt" } }, { name: "read", arguments: { colour: 1 } }]);
});

Deno.test("a call with more than a thousand arguments is refused before they are looked at", async () => {
  const { post } = createHarness({ maxBodyBytes: 1_000_000 });
  const many = Object.fromEntries(Array.from({ length: 19_000 }, (_, index) => [`k${index}`, []]));
  const response = await post(toolCall("echo", { ...many, text: "hi" }));
  assert.match(await response.text(), /more than 1000 were given/);
});
