/** What instances do, and do not do, for each other. Two protocol servers on one storage; tests/fleet has real ones. */
import assert from "node:assert/strict";
import { z } from "zod";
import { createIssuedIds, createSecretBox } from "../../src/lib/secrets.ts";
import type { Storage } from "../../src/storage/port.ts";
import type { Question } from "../../src/mcp/question.ts";
import { defineTool, type ToolContext, type ToolOutcome } from "../../src/mcp/tool.ts";
import { createToolRegistry } from "../../src/mcp/registry.ts";
import { readEvents } from "./event_reader.ts";
import { createHarness, type Harness, toolCall } from "./harness.ts";
import { createMemoryStorage } from "./memory_storage.ts";

const legacyCall = { method: "tools/call", isModern: false };
const done: ToolOutcome = { ok: true, content: [{ type: "text", text: "done" }] };

function tool(run: (context: ToolContext) => Promise<ToolOutcome>) {
  return defineTool({
    name: "run",
    title: "Run",
    description: "Does what a test wants.",
    scopes: [],
    annotations: {},
    input: z.object({}),
    run: (_input, context) => run(context),
  });
}

const who: Question = {
  method: "elicitation/create",
  params: { message: "Who?", requestedSchema: { type: "object", properties: { name: { type: "string" } } } },
};

/** The storage, and how often it was written. */
function countedStorage(): { readonly storage: Storage; readonly writes: () => number } {
  const storage = createMemoryStorage();
  let writes = 0;
  return {
    storage: {
      ...storage,
      commit(batch) {
        writes += 1;
        return storage.commit(batch);
      },
    },
    writes: () => writes,
  };
}

function pair(storage: Storage, run: (context: ToolContext) => Promise<ToolOutcome>, limits = {}) {
  const make = (): Harness => createHarness({ storage, tools: createToolRegistry([tool(run)]), limits });
  return [make(), make()] as const;
}

const withProgress = (id: number) => ({
  ...toolCall("run", {}, id),
  params: { name: "run", arguments: {}, _meta: { progressToken: id } },
});

async function resume(
  harness: Harness,
  session: Record<string, string>,
  lastEventId: string,
  token = "all-scopes",
): Promise<Response> {
  const headers = { authorization: `Bearer ${token}`, ...session, "last-event-id": lastEventId };
  return await harness.endpoint(new Request("http://host/mcp", { headers }), { address: "" });
}

async function openStream(harness: Harness, session: Record<string, string>, lastEventId: string) {
  return readEvents(await resume(harness, session, lastEventId), legacyCall);
}

async function close(...harnesses: readonly Harness[]): Promise<void> {
  for (const harness of harnesses) await harness.mcp.close();
}

Deno.test("calls, streams and their resumption on the same instance write nothing to the storage", async () => {
  const { storage, writes } = countedStorage();
  const [harness] = pair(storage, (context) => {
    context.progress({ progress: 1 });
    return Promise.resolve(done);
  });
  const session = await harness.openSession("2025-11-25");
  const events = await readEvents(await harness.post(withProgress(1), session), legacyCall).rest();
  assert.equal((await (await openStream(harness, session, events[0]?.id ?? "")).rest()).length, events.length - 1);
  await (await harness.post(toolCall("run", {}, 2), session)).body?.cancel();
  assert.equal(writes(), 0);
  await close(harness);
});

Deno.test("answers to questions that nobody asked, cancellations that count as too many, and made-up streams write nothing", async () => {
  const { storage, writes } = countedStorage();
  let isAdmitted = true;
  const admit = () => isAdmitted ? { ok: true } as const : { ok: false, retryAfterSeconds: 1 } as const;
  const harness = createHarness({ storage, admit });
  const session = await harness.openSession("2025-06-18");
  isAdmitted = false;
  const foreign = createIssuedIds(createSecretBox(new Uint8Array(32)), "mcp-question").issue("another session");
  const answered = async (expected: number): Promise<void> => {
    for (const id of [foreign, "x".repeat(28), "", 7, `${foreign}x`, "ü".repeat(28)]) {
      const response = await harness.post({ jsonrpc: "2.0", id, result: {} }, session);
      assert.equal(response.status, expected);
      await response.body?.cancel();
    }
  };
  await answered(429);
  const cancelled = { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 99 } };
  assert.equal((await harness.post(cancelled, session)).status, 429);
  isAdmitted = true;
  await answered(202);
  for (const id of [`${foreign}.1`, "a.b.c", ".", `${"x".repeat(28)}.0`, "x.99999999999999999999"]) {
    const fresh = await openStream(harness, session, id);
    await fresh.cancel();
  }
  assert.equal(writes(), 0);
  await close(harness);
});

Deno.test("an answer that is posted again and again is passed on like calls, and refused when there are too many", async () => {
  const { storage, writes } = countedStorage();
  let admitted = 0;
  const admit = () => admitted++ < 3 ? { ok: true } as const : { ok: false, retryAfterSeconds: 7 } as const;
  const harness = createHarness({
    storage,
    admit,
    tools: createToolRegistry([tool(async (context) => {
      await context.ask({ who });
      return done;
    })]),
  });
  const session = await harness.openSession("2025-06-18", { elicitation: {} });
  const stream = readEvents(await harness.post(toolCall("run", {}), session), legacyCall);
  const asked = await stream.next();
  const answer = { jsonrpc: "2.0", id: asked?.message?.["id"], result: { action: "decline" } };
  assert.equal((await harness.post(answer, session)).status, 202, "the tool waits for it here");
  await stream.rest();
  for (let repeated = 0; repeated < 3; repeated++) {
    const refused = await harness.post(answer, session);
    assert.equal(refused.status, 429);
    await refused.body?.cancel();
  }
  assert.equal(writes(), 0);
  await close(harness);
});

Deno.test("an issued id is known by any instance with the key, for its own session and purpose only", () => {
  const box = createSecretBox(new Uint8Array(32));
  const [ids, same] = [createIssuedIds(box, "a"), createIssuedIds(createSecretBox(new Uint8Array(32)), "a")];
  const id = ids.issue("session");
  assert.match(id, /^[\w-]{28}$/);
  assert.ok(same.isIssued(id, "session"));
  assert.ok(!ids.isIssued(id, "other"));
  assert.ok(!createIssuedIds(box, "b").isIssued(id, "session"));
  assert.ok(!createIssuedIds(createSecretBox(new Uint8Array(32).fill(1)), "a").isIssued(id, "session"));
  assert.notEqual(ids.issue("session"), id);
});

Deno.test("a client that comes back for an answer of an instance that is gone gets an error for its request", async () => {
  for (const id of [1, "a request", "ü".repeat(20)]) {
    const storage = createMemoryStorage();
    const [gone, left] = pair(storage, (context) => {
      context.progress({ progress: 1 });
      return Promise.resolve(done);
    });
    const session = await gone.openSession("2025-11-25");
    const [primed] = await readEvents(await gone.post({ ...withProgress(1), id }, session), legacyCall).rest();
    await close(gone);
    const events = await readEvents(await resume(left, session, primed?.id ?? ""), legacyCall).rest();
    const [message, ...more] = events.map((event) => event.message);
    assert.deepEqual([message?.["id"], more], [id, []]);
    assert.equal((message?.["error"] as { code: number }).code, -32603);
    assert.equal(left.mcp.openStreams, 0);
    await close(left);
  }
});

Deno.test("an answer that is gone is 405 where its id does not say which request it answers, as of an earlier version", async () => {
  const [gone, left] = pair(createMemoryStorage(), (context) => {
    context.progress({ progress: 1 });
    return Promise.resolve(done);
  });
  const session = await gone.openSession("2025-11-25");
  const id = "x".repeat(100);
  const [primed] = await readEvents(await gone.post({ ...withProgress(1), id }, session), legacyCall).rest();
  await close(gone);
  const refused = await resume(left, session, primed?.id ?? "");
  assert.equal(refused.status, 405);
  assert.equal((await refused.json()).error.message, "Nothing is left to resume");
  await close(left);
});

Deno.test("a token with fewer scopes takes up no stream of its session's wider token, on this instance or another", async () => {
  const [origin, other] = pair(createMemoryStorage(), (context) => {
    context.progress({ progress: 1 });
    return Promise.resolve(done);
  });
  const session = await origin.openSession("2025-11-25");
  const [primed] = await readEvents(await origin.post(withProgress(1), session), legacyCall).rest();
  const refused = await resume(origin, session, primed?.id ?? "", "read-only");
  assert.equal(refused.status, 405);
  await refused.body?.cancel();
  const [lost] = await readEvents(await resume(other, session, primed?.id ?? "", "read-only"), legacyCall).rest();
  assert.ok("error" in (lost?.message ?? {}));
  const whole = await openStream(origin, session, primed?.id ?? "");
  assert.ok("result" in ((await whole.rest()).at(-1)?.message ?? {}));
  await close(origin, other);
});

Deno.test("two instances that change a session at the same moment lose neither change", async () => {
  const storage = createMemoryStorage();
  const [one, two] = pair(storage, () => Promise.resolve(done));
  const session = await one.openSession("2025-06-18");
  const setLevel = { jsonrpc: "2.0", id: 1, method: "logging/setLevel", params: { level: "info" } };
  for (const harness of [one, two]) await (await harness.post(setLevel, session)).body?.cancel(); // both know the session
  const end = two.endpoint(
    new Request("http://host/mcp", { method: "DELETE", headers: { authorization: "Bearer all-scopes", ...session } }),
    { address: "" },
  );
  const [changed, ended] = await Promise.all([
    one.post({ ...setLevel, params: { level: "debug" } }, session),
    end,
  ]);
  await changed.body?.cancel();
  assert.equal(ended.status, 204);
  for (const harness of [one, two]) assert.equal((await harness.post(setLevel, session)).status, 404);
  await close(one, two);
});
