/** Answers as streams: progress, logging, keep-alive, resumption, cancellation, notices, limits. */
import assert from "node:assert/strict";
import { z } from "zod";
import { defineTool, type Tool, type ToolContext, type ToolOutcome } from "../../src/mcp/tool.ts";
import { createToolRegistry } from "../../src/mcp/registry.ts";
import { createResourceRegistry } from "../../src/mcp/resource.ts";
import { createSecretBox } from "../../src/lib/secrets.ts";
import { pause } from "../../src/lib/time.ts";
import { modernRequest } from "../fixtures/mcp_call.ts";
import { until } from "../fixtures/until.ts";
import { type EventReader, readEvents, type ServerEvent } from "./event_reader.ts";
import { createHarness, type Harness, postRequest, principalWith, rpc, toolCall } from "./harness.ts";
import { createMemoryStorage } from "./memory_storage.ts";

const eventStream = { accept: "application/json, text/event-stream" };
const legacyCall = { method: "tools/call", isModern: false };

function tool(name: string, run: (context: ToolContext) => ToolOutcome | Promise<ToolOutcome>): Tool {
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

const done: ToolOutcome = { ok: true, content: [{ type: "text", text: "done" }] };

const counting = tool("count", async (context) => {
  for (const progress of [1, 1, 2, 0, 3]) {
    context.progress({ progress, total: 3 });
    await Promise.resolve();
  }
  return done;
});

function withMeta(name: string, _meta: Record<string, unknown>): Record<string, unknown> {
  return rpc("tools/call", { name, arguments: {}, _meta });
}

async function get(harness: Harness, session: Record<string, string>, lastEventId?: string): Promise<Response> {
  const headers = new Headers({ authorization: "Bearer all-scopes", ...session });
  if (lastEventId !== undefined) headers.set("last-event-id", lastEventId);
  return await harness.endpoint(new Request("http://host/mcp", { headers }), { address: "" });
}

async function openChannel(
  harness: Harness,
  session: Record<string, string>,
  lastEventId?: string,
): Promise<EventReader> {
  return readEvents(await get(harness, session, lastEventId), { isModern: false, method: "tools/call" });
}

/** Resumes as a client does that was not told to stop: from the last event that it has; gives the events. */
async function resumeUntilRefused(
  harness: Harness,
  session: Record<string, string>,
  lastEventId: string | undefined,
): Promise<ServerEvent[]> {
  const seen: ServerEvent[] = [];
  for (let round = 0; round < 3; round += 1) {
    const response = await get(harness, session, seen.at(-1)?.id ?? lastEventId);
    if (response.status === 405) {
      await response.body?.cancel();
      return seen;
    }
    seen.push(...await readEvents(response, legacyCall).rest());
  }
  return assert.fail("the client is still asked to come back");
}

Deno.test("progress goes to callers that asked for it and read streams, and only ever grows", async () => {
  const harness = createHarness({ tools: createToolRegistry([counting]) });
  const events = await readEvents(
    await harness.post(withMeta("count", { progressToken: "t" }), eventStream),
    legacyCall,
  )
    .rest();
  assert.deepEqual(
    events.slice(0, -1).map(({ message }) => message?.["params"]),
    [1, 2, 3].map((progress) => ({
      progressToken: "t",
      progress,
      total: 3,
    })),
  );
  assert.deepEqual((events.at(-1)?.message?.["result"] as { isError: boolean }).isError, false);
  assert.deepEqual(events.map(({ id }) => id), [undefined, undefined, undefined, undefined]);

  for (
    const [body, headers] of [[toolCall("count"), eventStream], [withMeta("count", { progressToken: 1 }), {}]] as const
  ) {
    const response = await harness.post(body, headers);
    assert.equal(response.headers.get("content-type"), "application/json");
    await response.body?.cancel();
  }
  const batch = await harness.post([withMeta("count", { progressToken: 1 })], eventStream);
  assert.equal(batch.headers.get("content-type"), "application/json");
  await batch.body?.cancel();
});

Deno.test("a stream that has ended before it is sent goes out as one text", async () => {
  const quick = tool("quick", (context) => {
    context.progress({ progress: 1 });
    return done;
  });
  const harness = createHarness({ tools: createToolRegistry([quick]) });
  const response = await harness.post(withMeta("quick", { progressToken: 1 }), eventStream);
  assert.equal((await readEvents(response, legacyCall).rest()).length, 2);
});

Deno.test("log messages go where a level was set: per session before 2026-07-28, per request since", async () => {
  const talking = tool("talk", async (context) => {
    context.log("debug", "quiet");
    await Promise.resolve();
    context.log("warning", { words: "loud" }, "talker");
    return done;
  });
  const harness = createHarness({ tools: createToolRegistry([talking]) });
  const session = await harness.openSession("2025-06-18");
  const silent = await harness.post(toolCall("talk"), session);
  assert.equal(silent.headers.get("content-type"), "application/json");
  await silent.body?.cancel();
  await harness.post(rpc("logging/setLevel", { level: "info" }), session);
  const [first] = await readEvents(await harness.post(toolCall("talk"), session), legacyCall).rest();
  assert.deepEqual(first?.message?.["params"], { level: "warning", logger: "talker", data: { words: "loud" } });

  const modern = { method: "tools/call", isModern: true };
  const asked = await harness.modern("tools/call", { name: "talk", arguments: {} }, {
    meta: { "io.modelcontextprotocol/logLevel": "debug" },
  });
  assert.equal((await readEvents(asked, modern).rest()).length, 3);
  const unasked = await harness.modern("tools/call", { name: "talk", arguments: {} });
  assert.equal(unasked.headers.get("content-type"), "application/json");
  await unasked.body?.cancel();
});

Deno.test("a long call becomes a stream whose idle connection is kept alive by comments", async () => {
  const heard = Promise.withResolvers<void>();
  const slow = tool("slow", async () => {
    await heard.promise;
    return done;
  });
  const harness = createHarness({
    tools: createToolRegistry([slow]),
    limits: { beginAnswerAfterMs: 10 },
    eventStreams: { keepAliveMs: 20, retryMs: 7 },
  });
  const reader = readEvents(await harness.post(toolCall("slow"), eventStream), legacyCall);
  const rest = reader.rest();
  await until("two comments", () => reader.comments >= 2);
  heard.resolve();
  assert.equal((await rest).length, 1);
});

Deno.test("2026-07-28: a long call's JSON begins with blanks for callers that read no streams", async () => {
  let finish = Promise.withResolvers<ToolOutcome>();
  const slow = tool("slow", (context) => {
    context.progress({ progress: 1 });
    return finish.promise;
  });
  const harness = createHarness({
    tools: createToolRegistry([slow]),
    limits: { beginAnswerAfterMs: 10 },
    toolTimeoutMs: 60_000,
    eventStreams: { keepAliveMs: 5, retryMs: 7 },
  });
  const ends: [boolean, () => void][] = [
    [false, () => finish.resolve(done)],
    [true, () => finish.reject(new Error("broken"))],
  ];
  for (const [isError, end] of ends) {
    finish = Promise.withResolvers();
    const { message, headers } = modernRequest("tools/call", { name: "slow", arguments: {} });
    const request = postRequest(message, { ...headers, accept: "application/json" });
    const response = await harness.endpoint(request, { address: "" });
    assert.equal(response.status, 200);
    assert.equal(response.headers.get("content-type"), "application/json");
    const reader = (response.body ?? assert.fail("no body")).pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    while (text.length < 3) text += (await reader.read()).value ?? assert.fail(text);
    assert.equal(text.trim(), "");
    end();
    for (let piece = await reader.read(); !piece.done; piece = await reader.read()) text += piece.value;
    assert.equal(JSON.parse(text).result.isError, isError);
  }
});

Deno.test("2026-07-28: what decides the status is judged before a long call's answer begins", async () => {
  const harness = createHarness({ limits: { beginAnswerAfterMs: 0 } });
  const json = { headers: { accept: "application/json" } };
  const cases: [Promise<Response>, number][] = [
    [
      harness.modern("tools/call", { name: "store", arguments: {} }, {
        headers: { ...json.headers, authorization: "Bearer read-only" },
      }),
      403,
    ],
    [harness.modern("nope", {}, json), 404],
    [harness.modern("tools/call", { name: "wait" }, { headers: { ...json.headers, "mcp-name": "store" } }), 400],
  ];
  for (const [answer, status] of cases) {
    const response = await answer;
    assert.equal(response.status, status);
    await response.body?.cancel();
  }
});

Deno.test("before 2026-07-28: a caller that reads JSON only gets its status with the response, however late", async () => {
  const slow = tool("slow", async () => {
    await pause(30);
    return done;
  });
  const harness = createHarness({ tools: createToolRegistry([slow]), limits: { beginAnswerAfterMs: 1 } });
  const response = await harness.post(toolCall("slow"), { accept: "application/json" });
  assert.match(await response.text(), /^\{/);
});

Deno.test("a lost stream of a session is resumed by Last-Event-ID, in its own session only (SEP-1699)", async () => {
  const gone = Promise.withResolvers<void>();
  const released = tool("release", async (context) => {
    context.progress({ progress: 1 });
    context.release();
    await gone.promise;
    context.progress({ progress: 2 });
    return done;
  });
  const harness = createHarness({ tools: createToolRegistry([released]) });
  const session = await harness.openSession("2025-11-25");
  const stranger = await harness.openSession("2025-11-25");
  const response = await harness.post(withMeta("release", { progressToken: 1 }), session);
  const before = await readEvents(response, legacyCall).rest();
  assert.deepEqual(before.map(({ message, retry }) => [message?.["method"], retry]), [
    [undefined, "1000"], // the priming event
    ["notifications/progress", undefined],
  ]);
  gone.resolve();
  await until("the end of the call", () => harness.audit.some(({ tool }) => tool === "release"));
  const lastEventId = before.at(-1)?.id ?? "";
  const foreign = await openChannel(harness, stranger, lastEventId);
  assert.equal((await foreign.next())?.message, null); // a fresh stream of its own
  await foreign.cancel();
  for (let attempt = 0; attempt < 2; attempt += 1) { // again, as long as the window is open
    const after = await (await openChannel(harness, session, lastEventId)).rest();
    assert.deepEqual(after.map(({ message }) => message?.["method"]), ["notifications/progress", undefined]);
    assert.ok("result" in (after.at(-1)?.message ?? {}));
  }
  await harness.mcp.close();
});

Deno.test("an answer is not resumed while calls are stopped, nor for fewer directories than it was made with", async () => {
  let stopped: string | null = null;
  let directories: readonly string[] | undefined = ["a", "b"];
  const principal = () => ({ ...principalWith([]), ...directories === undefined ? {} : { directories } });
  const harness = createHarness({
    tools: createToolRegistry([counting]),
    callWatch: { refusal: () => stopped, enter: () => () => {} },
    authenticate: () => ({ kind: "principal", principal: principal() }),
  });
  const session = await harness.openSession("2025-11-25");
  const response = await harness.post(withMeta("count", { progressToken: 1 }), session);
  const [first] = await readEvents(response, legacyCall).rest();
  const resumed = async (): Promise<string> => {
    const answer = await get(harness, { ...session, ...eventStream }, first?.id);
    return answer.status === 200 && !directories?.includes("c")
      ? JSON.stringify(await readEvents(answer, legacyCall).rest())
      : `${answer.status} ${await answer.text()}`;
  };
  for (const held of [["a", "b"], ["b", "a", "x"], undefined]) {
    directories = held;
    assert.match(await resumed(), /done/);
    stopped = "All calls are stopped";
    assert.match(await resumed(), /^403 .*All calls are stopped/);
    stopped = null;
  }
  for (const held of [["a"], [], ["c", "b"]]) {
    directories = held;
    assert.match(await resumed(), /^405 /);
  }
  await harness.mcp.close();
});

Deno.test("a session's call goes on without its connection; one that cannot be resumed is cancelled", async () => {
  let stopped = 0;
  let goOn = Promise.withResolvers<void>();
  const working = tool("work", async (context) => {
    context.signal.addEventListener("abort", () => (stopped++, goOn.resolve()));
    context.progress({ progress: 1 });
    await goOn.promise;
    return done;
  });
  const harness = createHarness({ tools: createToolRegistry([working]) });
  const session = await harness.openSession("2025-06-18");
  const reader = readEvents(await harness.post(withMeta("work", { progressToken: 1 }), session), legacyCall);
  const first = await reader.next();
  await reader.cancel();
  goOn.resolve();
  await until("the end of the call", () => harness.audit.some(({ tool }) => tool === "work"));
  const rest = await (await openChannel(harness, session, first?.id)).rest();
  assert.ok("result" in (rest.at(-1)?.message ?? {}));
  assert.equal(stopped, 0);

  goOn = Promise.withResolvers();
  const modern = await harness.modern("tools/call", { name: "work", arguments: {} }, { meta: { progressToken: 1 } });
  const abandoned = readEvents(modern, { method: "tools/call", isModern: true });
  await abandoned.next();
  await abandoned.cancel(); // MCP 2026-07-28, basic/patterns/cancellation: closing the stream cancels
  await until("the cancellation", () => harness.audit.at(-1)?.outcome === "cancelled");
  assert.equal(stopped, 1);
  await harness.mcp.close();
});

Deno.test("notifications/cancelled stops the call it names, of the same session, and gets no response", async () => {
  const started = Promise.withResolvers<void>();
  const waiting = tool("wait", (context) =>
    new Promise((resolve) => {
      context.progress({ progress: 1 });
      started.resolve();
      context.signal.addEventListener("abort", () => resolve({ ok: false, code: "stopped", message: "stopped" }));
    }));
  const harness = createHarness({ tools: createToolRegistry([waiting]) });
  const session = await harness.openSession("2025-06-18");
  const stranger = await harness.openSession("2025-06-18");
  const reader = readEvents(await harness.post(withMeta("wait", { progressToken: 1 }), session), legacyCall);
  await started.promise;
  const cancelled = { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 1, reason: "enough" } };
  await harness.post(cancelled, stranger);
  await harness.post({ ...cancelled, params: { requestId: "1" } }, session); // another id
  assert.equal(harness.audit.some(({ outcome }) => outcome === "cancelled"), false);
  await harness.post(cancelled, session);
  const events = await reader.rest();
  assert.deepEqual(events.map(({ message }) => message?.["method"]), ["notifications/progress"]);
  assert.equal(harness.audit.at(-1)?.outcome, "cancelled");
  await harness.mcp.close();
});

Deno.test("an answer of which nothing is left is refused with 405, however its call ended", async () => {
  const finish = Promise.withResolvers<void>();
  const ends: Record<string, (context: ToolContext) => Promise<ToolOutcome>> = {
    well: () => Promise.resolve(done),
    "with an error": () => Promise.reject(new Error("broken")),
    cancelled: (context) =>
      new Promise((resolve) => context.signal.addEventListener("abort", () => resolve(done), { once: true })),
    abandoned: async (context) => {
      context.release();
      await finish.promise;
      return done;
    },
  };
  for (const version of ["2025-06-18", "2025-11-25"]) {
    for (const [name, end] of Object.entries(ends)) {
      const talking = tool("talk", (context) => {
        context.progress({ progress: 1 });
        return end(context);
      });
      const harness = createHarness({
        tools: createToolRegistry([talking]),
        limits: name === "abandoned" ? { resumeWindowMs: 1 } : {},
      });
      const session = await harness.openSession(version);
      const standing = await openChannel(harness, session);
      const reader = readEvents(await harness.post(withMeta("talk", { progressToken: 1 }), session), legacyCall);
      const first = await reader.next();
      if (name === "cancelled") {
        await harness.post({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 1 } }, session);
      }
      const last = (await reader.rest()).at(-1) ?? first;
      if (name === "abandoned") await until("the end of the call", () => harness.audit.length > 1);
      await resumeUntilRefused(harness, session, first?.id);
      assert.deepEqual(await resumeUntilRefused(harness, session, last?.id), [], `${version}, ${name}`);
      harness.tools.remove("talk"); // the session's own stream was not replaced meanwhile
      const notice = await standing.next().then((event) => event?.message === null ? standing.next() : event);
      assert.equal(notice?.message?.["method"], "notifications/tools/list_changed", `${version}, ${name}`);
      await standing.cancel();
      await harness.mcp.close();
    }
  }
  finish.resolve();
});

Deno.test("a stream is primed as its session agreed, whatever version a request names (SEP-1699)", async () => {
  const harness = createHarness({ tools: createToolRegistry([counting]) });
  for (const [version, isPrimed] of [["2025-11-25", true], ["2025-06-18", false]] as const) {
    const session = await harness.openSession(version);
    for (const named of [version, "2025-03-26", null]) {
      const headers = { ...session, "mcp-protocol-version": named };
      const response = await harness.post(withMeta("count", { progressToken: 1 }), headers as Record<string, string>);
      const [first] = await readEvents(response, legacyCall).rest();
      assert.equal(first?.message === null, isPrimed, `${version}, ${named}`);
    }
  }
  await harness.mcp.close();
});

Deno.test("a session's own stream that has ended is opened anew for a client that resumes it", async () => {
  const harness = createHarness();
  const session = await harness.openSession("2025-11-25");
  const first = await openChannel(harness, session);
  const primed = await first.next();
  const second = await openChannel(harness, session);
  await second.next();
  assert.equal(await first.next(), null); // replaced
  const third = await openChannel(harness, session, primed?.id);
  assert.equal((await third.next())?.message, null); // primed
  harness.tools.remove("wait");
  assert.equal((await third.next())?.message?.["method"], "notifications/tools/list_changed");
  await harness.mcp.close();
});

Deno.test("a session's stream tells when the tools change, and ends with the session or the server", async () => {
  const harness = createHarness();
  const [session, other] = [await harness.openSession("2025-06-18"), await harness.openSession("2025-11-25")];
  const [reader, otherReader] = [await openChannel(harness, session), await openChannel(harness, other)];
  assert.equal((await otherReader.next())?.message, null); // primed
  harness.tools.remove("wait");
  for (const each of [reader, otherReader]) {
    assert.equal((await each.next())?.message?.["method"], "notifications/tools/list_changed");
  }
  const headers = { authorization: "Bearer all-scopes", ...session };
  await harness.endpoint(new Request("http://host/mcp", { method: "DELETE", headers }), { address: "" });
  assert.equal(await reader.next(), null);
  harness.mcp.drain();
  assert.equal(await otherReader.next(), null);
  await harness.mcp.close();
});

Deno.test("a session from before a start hears at once that resources may have come or gone", async () => {
  const secretBox = createSecretBox(new Uint8Array(32).fill(7));
  const storage = createMemoryStorage();
  const resources = createResourceRegistry([]);
  const first = createHarness({ storage, secretBox, resources });
  const session = await first.openSession("2025-06-18");
  const same = await openChannel(first, session);
  await pause(5);
  const restarted = createHarness({ storage, secretBox, resources });
  const [later, own] = [
    await openChannel(restarted, session),
    await openChannel(restarted, await restarted.openSession("2025-06-18")),
  ];
  assert.equal((await later.next())?.message?.["method"], "notifications/resources/list_changed");
  for (const each of [first, restarted]) each.tools.remove("wait");
  for (const each of [same, own]) {
    assert.equal((await each.next())?.message?.["method"], "notifications/tools/list_changed");
  }
  for (const each of [first, restarted]) {
    each.mcp.drain();
    await each.mcp.close();
  }
});

Deno.test("subscriptions/listen acknowledges, keeps to its filter, tags every frame, and ends with a result", async () => {
  const harness = createHarness();
  const wanted = { toolsListChanged: true, promptsListChanged: true, resourceSubscriptions: ["a://b"] };
  const context = { method: "subscriptions/listen", isModern: true };
  const response = await harness.modern("subscriptions/listen", { notifications: wanted }, { id: "sub" });
  const deaf = await harness.modern("subscriptions/listen", { notifications: {} }, { id: 2 });
  const [reader, deafReader] = [readEvents(response, context), readEvents(deaf, context)];
  const _meta = { "io.modelcontextprotocol/subscriptionId": "sub" };
  assert.deepEqual((await reader.next())?.message, {
    jsonrpc: "2.0",
    method: "notifications/subscriptions/acknowledged",
    params: { _meta, notifications: { toolsListChanged: true } }, // what the server lacks is left out
  });
  harness.tools.remove("wait");
  assert.deepEqual((await reader.next())?.message, {
    jsonrpc: "2.0",
    method: "notifications/tools/list_changed",
    params: { _meta },
  });
  harness.mcp.drain();
  const last = (await reader.next())?.message;
  assert.deepEqual(last, { jsonrpc: "2.0", id: "sub", result: { resultType: "complete", _meta } });
  assert.equal(await reader.next(), null);
  assert.equal((await deafReader.rest()).length, 2); // the acknowledgement and the end
  assert.equal(harness.mcp.openStreams, 0);
});

Deno.test("streams are limited per principal and in all, and those without a stream go on in JSON", async () => {
  const harness = createHarness({ tools: createToolRegistry([counting]), limits: { maxStreamsPerPrincipal: 1 } });
  const context = { method: "subscriptions/listen", isModern: true };
  const first = readEvents(await harness.modern("subscriptions/listen", { notifications: {} }), context);
  await first.next();
  const second = await harness.modern("subscriptions/listen", { notifications: {} });
  assert.equal(second.status, 429);
  assert.ok(Number(second.headers.get("retry-after")) > 0);
  await second.body?.cancel();
  const call = await harness.post(withMeta("count", { progressToken: 1 }), eventStream);
  assert.equal(call.headers.get("content-type"), "application/json");
  await call.body?.cancel();
  await first.cancel();
  assert.equal(harness.mcp.openStreams, 0);
  const third = readEvents(await harness.modern("subscriptions/listen", { notifications: {} }), context);
  await third.next();
  await third.cancel();
});

Deno.test("a client that reads nothing holds a bounded queue, and loses progress rather than memory", async () => {
  const gate = Promise.withResolvers<void>();
  const flooding = tool("flood", async (context) => {
    for (let progress = 1; progress <= 10_000; progress += 1) context.progress({ progress });
    await gate.promise;
    return done;
  });
  const harness = createHarness({ tools: createToolRegistry([flooding]), limits: { maxQueuedMessages: 10 } });
  const response = await harness.post(withMeta("flood", { progressToken: 1 }), eventStream);
  gate.resolve();
  await until("the end of the call", () => harness.audit.length > 0);
  const events = await readEvents(response, legacyCall).rest();
  assert.equal(events.length, 11);
  assert.ok("result" in (events.at(-1)?.message ?? {}));
});

Deno.test("complete streams are kept for resumption up to a budget, the newest ones, and those of others", async () => {
  const talking = tool("talk", (context) => {
    context.progress({ progress: 1 });
    return { ok: true, content: [{ type: "text", text: "x".repeat(1_000) }], structuredContent: {} };
  });
  for (const limits of [{ maxReplayCharacters: 3_500 }, { maxStreams: 3 }]) {
    let clientId = "quiet";
    const authenticate = () => ({ kind: "principal", principal: { ...principalWith([]), clientId } }) as const;
    const harness = createHarness({ tools: createToolRegistry([talking]), limits, authenticate });
    const talk = async (session: Record<string, string>) => {
      const answer = await harness.post(withMeta("talk", { progressToken: 1 }), session);
      const [first] = await readEvents(answer, legacyCall).rest();
      return first?.id ?? "";
    };
    const assertKept = async (session: Record<string, string>, id: string) => {
      const replayed = await (await openChannel(harness, session, id)).rest();
      assert.ok("result" in (replayed[0]?.message ?? {}));
    };
    const quiet = await harness.openSession("2025-06-18");
    const own = await talk(quiet);
    clientId = "busy";
    const busy = await harness.openSession("2025-06-18");
    const ids: string[] = [];
    for (let call = 0; call < 5; call += 1) ids.push(await talk(busy));
    await assertKept(busy, ids.at(-1) ?? "");
    const evicted = await get(harness, busy, ids[0]);
    assert.equal(evicted.status, 405);
    await evicted.body?.cancel();
    clientId = "quiet";
    await assertKept(quiet, own);
    await harness.mcp.close();
  }
});
