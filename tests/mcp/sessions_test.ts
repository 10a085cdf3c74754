/** Legacy sessions: sealed into their ids, bound to their principal, ended for good. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { systemClock } from "../../src/lib/time.ts";
import { createSecretBox } from "../../src/lib/secrets.ts";
import type { AuthOutcome } from "../../src/lib/principal.ts";
import { legacyRevisions, serviceNowProfile } from "../../src/mcp/revision.ts";
import { createResourceRegistry } from "../../src/mcp/resource.ts";
import type { Storage } from "../../src/storage/port.ts";
import { openSqliteStorage } from "../../src/storage/sqlite_storage.ts";
import { answerFirstCommitLate } from "../fixtures/late_answer.ts";
import { readEvents } from "./event_reader.ts";
import { createHarness, type Harness, principalWith, rpc, toolCall } from "./harness.ts";
import { createMemoryStorage } from "./memory_storage.ts";

const eventStream = { accept: "application/json, text/event-stream" };

function asClient(clientId: string): () => AuthOutcome {
  return () => ({ kind: "principal", principal: { ...principalWith(["files:read"]), clientId } });
}

async function end(harness: Harness, session: Record<string, string>): Promise<number> {
  const headers = { authorization: "Bearer all-scopes", ...session };
  const response = await harness.endpoint(new Request("http://host/mcp", { method: "DELETE", headers }), {
    address: "",
  });
  await response.body?.cancel();
  return response.status;
}

Deno.test("initialize begins a session for clients that read streams, and for no other", async () => {
  const harness = createHarness();
  const session = await harness.openSession();
  assert.match(session["mcp-session-id"] ?? "", /^[\x21-\x7e]+$/); // MCP 2025-03-26, basic/transports: visible ASCII
  assert.equal((await harness.post(rpc("ping"), session)).status, 200);
  const json = await harness.post(rpc("initialize", { protocolVersion: "2025-11-25" }));
  assert.equal(json.headers.get("mcp-session-id"), null);
  const open = createHarness({ publicInitialize: "always" });
  const publicly = await open.post(rpc("initialize", {}), { authorization: null, ...eventStream });
  assert.equal(publicly.headers.get("mcp-session-id"), null);
  const serviceNow = createHarness({ profileOf: () => serviceNowProfile });
  const quirky = await serviceNow.post(rpc("initialize", {}), eventStream);
  assert.equal(quirky.headers.get("mcp-session-id"), null);
  assert.equal((await quirky.json()).result.capabilities.tools.listChanged, false);
});

Deno.test("requests without a session are served, those of an unknown, altered or foreign one are 404", async () => {
  const harness = createHarness();
  const session = await harness.openSession();
  const id = session["mcp-session-id"] ?? "";
  assert.equal((await harness.post(rpc("ping"))).status, 200);
  for (const bad of ["nonsense", `${id}x`, id.slice(0, -2)]) {
    assert.equal((await harness.post(rpc("ping"), { ...session, "mcp-session-id": bad })).status, 404, bad);
  }
  const other = createHarness({ authenticate: asClient("another-client") });
  assert.equal((await other.post(rpc("ping"), session)).status, 404);
});

Deno.test("a session that ends stays ended where the answer of an earlier change comes late", async () => {
  const { storage, committed, answer } = answerFirstCommitLate(createMemoryStorage());
  const harness = createHarness({ storage });
  const session = await harness.openSession();
  const level = harness.post(rpc("logging/setLevel", { level: "debug" }), session);
  await committed;
  assert.equal(await end(harness, session), 204);
  assert.equal((await harness.post(rpc("ping"), session)).status, 404);
  answer();
  assert.equal((await level).status, 200);
  assert.equal((await harness.post(rpc("ping"), session)).status, 404);
});

Deno.test("a session ends by DELETE, for good, and only once", async () => {
  const harness = createHarness();
  const session = await harness.openSession();
  assert.equal(await end(harness, session), 204);
  assert.equal((await harness.post(rpc("ping"), session)).status, 404);
  assert.equal(await end(harness, session), 404);
  assert.equal(await end(harness, {}), 405);
});

Deno.test("a session outlives the server, and so does its end", async () => {
  const directory = await Deno.makeTempDir();
  const path = join(directory, "portcullis.db");
  const clock = systemClock;
  const secretBox = createSecretBox(new Uint8Array(32).fill(7));
  const session = await (async () => {
    const storage = openSqliteStorage({ path, clock });
    const begun = await createHarness({ storage, secretBox }).openSession("2025-06-18");
    await storage.close();
    return begun;
  })();
  {
    const storage = openSqliteStorage({ path, clock });
    const restarted = createHarness({ storage, secretBox });
    assert.equal((await restarted.post(rpc("ping"), session)).status, 200);
    assert.equal(await end(restarted, session), 204);
    await storage.close();
  }
  const storage = openSqliteStorage({ path, clock });
  const again = createHarness({ storage, secretBox });
  assert.equal((await again.post(rpc("ping"), session)).status, 404);
  const elsewhere = createHarness({ storage, secretBox: createSecretBox(new Uint8Array(32).fill(8)) });
  assert.equal((await elsewhere.post(rpc("ping"), session)).status, 404);
  await storage.close();
  await Deno.remove(directory, { recursive: true });
});

Deno.test("a session that another instance ended is noticed at the next request", async () => {
  const directory = await Deno.makeTempDir();
  const path = join(directory, "portcullis.db");
  const [one, two] = [1, 2].map(() => openSqliteStorage({ path, clock: systemClock }));
  assert.ok(one && two);
  const [first, second] = [createHarness({ storage: one }), createHarness({ storage: two })];
  const session = await first.openSession();
  assert.equal((await second.post(rpc("ping"), session)).status, 200);
  assert.equal(await end(first, session), 204);
  assert.equal((await second.post(rpc("ping"), session)).status, 404);
  await one.close();
  await two.close();
  await Deno.remove(directory, { recursive: true });
});

Deno.test("a session that ended stays so by a clock that jumps past its end while it is looked up", async () => {
  const directory = await Deno.makeTempDir();
  const [started, lifetime] = [systemClock(), 60_000];
  let now = started;
  let isJumping = false;
  const storage = openSqliteStorage({ path: join(directory, "portcullis.db"), clock: () => now });
  const jumping: Storage = {
    ...storage,
    get(key) {
      if (isJumping) now = started + 2 * lifetime;
      return storage.get(key);
    },
  };
  const options = { clock: () => now, limits: { sessionLifetimeMs: lifetime } };
  const [one, other] = [createHarness({ ...options, storage }), createHarness({ ...options, storage: jumping })];
  const session = await one.openSession();
  assert.equal(await end(one, session), 204);
  isJumping = true;
  assert.equal((await other.post(rpc("ping"), session)).status, 404);
  [now, isJumping] = [started, false];
  assert.equal((await other.post(rpc("ping"), session)).status, 404);
  await storage.close();
  await Deno.remove(directory, { recursive: true });
});

Deno.test("a session expires, and its version stands in for an absent header", async () => {
  let now = 1_000_000;
  const harness = createHarness({ clock: () => now, limits: { sessionLifetimeMs: 60_000 } });
  const session = await harness.openSession("2025-11-25");
  const { "mcp-protocol-version": _, ...withoutVersion } = session;
  const call = rpc("tools/call", { name: "echo", arguments: {} });
  assert.equal((await (await harness.post(call, withoutVersion)).json()).result.isError, true); // as 2025-11-25 has it
  now += 61_000;
  assert.equal((await harness.post(rpc("ping"), session)).status, 404);
});

Deno.test("streams that last end with the token that opened them", async () => {
  const authenticate = (): AuthOutcome => ({
    kind: "principal",
    principal: { ...principalWith([]), expiresAt: Date.now() + 60 },
  });
  const harness = createHarness({ authenticate });
  const session = await harness.openSession("2025-06-18");
  const get = await harness.endpoint(new Request("http://host/mcp", { headers: session }), { address: "" });
  assert.deepEqual(await readEvents(get, { isModern: false }).rest(), []);
  const listen = await harness.modern("subscriptions/listen", { notifications: {} });
  const events = await readEvents(listen, { method: "subscriptions/listen", isModern: true }).rest();
  assert.equal(events.length, 2); // the acknowledgement and a graceful end
  await harness.mcp.close();
});

Deno.test("logging/setLevel takes the levels of RFC 5424 and nothing else", async () => {
  const harness = createHarness();
  const session = await harness.openSession();
  assert.deepEqual(
    (await (await harness.post(rpc("logging/setLevel", { level: "notice" }), session)).json()).result,
    {},
  );
  for (const params of [undefined, {}, { level: "loud" }, { level: 3 }]) {
    const { error } = await (await harness.post(rpc("logging/setLevel", params), session)).json();
    assert.equal(error.code, -32602);
  }
});

Deno.test("what a session stores counts like a call: its subscriptions, its log level and its end", async () => {
  const resources = createResourceRegistry([{
    name: "any",
    scopes: [],
    owns: () => true,
    list: () => [],
    templates: [],
    read: () => null,
    cacheHint: { ttlMs: 0, cacheScope: "private" },
    stamp: () => Promise.resolve(""),
  }]);
  let isAdmitted = true;
  const admit = () => isAdmitted ? { ok: true } as const : { ok: false, retryAfterSeconds: 7 } as const;
  const harness = createHarness({ resources, admit });
  const session = await harness.openSession();
  const writes: (() => Promise<number>)[] = [
    ...["resources/subscribe", "resources/unsubscribe"].map((method) => async () =>
      (await harness.post(rpc(method, { uri: "any:1" }), session)).status
    ),
    async () => (await harness.post(rpc("logging/setLevel", { level: "info" }), session)).status,
    () => end(harness, session),
  ];
  isAdmitted = false;
  for (const write of writes) assert.equal(await write(), 429);
  isAdmitted = true;
  assert.deepEqual(await Promise.all(writes.slice(0, 3).map((write) => write())), [200, 200, 200]);
  assert.equal(await end(harness, session), 204);
  await harness.mcp.close();
});

Deno.test("whatever is answered to a caller takes one from its limit, and is refused where nothing is left", async () => {
  let [isAdmitted, asked] = [true, 0];
  const admit = () => {
    asked++;
    return isAdmitted ? { ok: true } as const : { ok: false, retryAfterSeconds: 7 } as const;
  };
  const harness = createHarness({ resources: anyResource(), admit });
  const session = await harness.openSession();
  const lesser = { authorization: "Bearer read-only" };
  const raw = (method: string, headers: Record<string, string> = {}) =>
    harness.endpoint(
      new Request("http://127.0.0.1/mcp", { method, headers: { authorization: "Bearer all-scopes", ...headers } }),
      { address: "" },
    );
  const cancel = { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 99 } };
  const initialized = { jsonrpc: "2.0", method: "notifications/initialized" };
  const codeOf = ({ error }: { readonly error?: { readonly code: number } }) => error?.code;
  const answers: readonly [string, () => Response | Promise<Response>, counts?: number][] = [
    ["a call", () => harness.post(toolCall("echo", { text: "x" }))],
    ["a call without scopes", () => harness.post(toolCall("store"), lesser)],
    ["a call with a wrong name", () => harness.post(rpc("tools/call", { name: 7 }), session)],
    ["a call without params", () => harness.post(rpc("tools/call"), session)],
    ["a call of no tool", () => harness.post(toolCall("ehco"), session)],
    ["a wrong address", () => harness.post(rpc("resources/read", { uri: 7 }), session)],
    ["a watch of a wrong address", () => harness.post(rpc("resources/subscribe", { uri: 7 }), session)],
    ["a watch without a session", () => harness.post(rpc("resources/subscribe", { uri: "any:1" }))],
    ["no method", () => harness.post(rpc("made/up"), session)],
    ["initialized", () => harness.post(initialized, session)],
    ["a notice of progress", () => harness.post({ jsonrpc: "2.0", method: "notifications/progress" }, session)],
    ["a cancellation of nothing", () => harness.post(cancel)],
    ["a cancellation elsewhere", () => harness.post(cancel, session)],
    ["an answer to nothing", () => harness.post({ jsonrpc: "2.0", id: "x", result: {} }, session)],
    ["an answer without a session", () => harness.post({ jsonrpc: "2.0", id: "x", result: {} })],
    ["no message", () => harness.post({ id: 1 })],
    ["a wrong id", () => harness.post({ jsonrpc: "2.0", id: [], method: "ping" })],
    ["no JSON", () => harness.post("{")],
    ["too much", () => harness.post(`"${"x".repeat(20_000)}"`)],
    ["another type", () => harness.post(rpc("ping"), { "content-type": "text/plain" })],
    ["no such version", () => harness.post(rpc("ping"), { "mcp-protocol-version": "2001-01-01" })],
    ["headers that differ", () => harness.modern("ping", {}, { headers: { "mcp-method": "other" } })],
    ["no such session", () => harness.post(rpc("ping"), { ...session, "mcp-session-id": "made-up" })],
    ["a batch", () => harness.post([rpc("ping"), initialized, toolCall("echo", { text: "x" }), 7]), 4],
    ["an empty batch", () => harness.post([])],
    ["a batch without scopes", () => harness.post([toolCall("store"), toolCall("store")], lesser)],
    ["a stream of nothing", () => raw("GET", { ...session, "mcp-session-id": "made-up" })],
    ["no stream", () => raw("GET")],
    ["another verb", () => raw("PUT")],
    ["the end of nothing", () => raw("DELETE")],
  ];
  for (const [what, ask, counts = 1] of answers) {
    const before = asked;
    const given = await ask();
    await given.body?.cancel();
    assert.deepEqual([given.status === 429, asked - before], [false, counts], what);
    isAdmitted = false;
    const refused = await ask();
    const codes = refused.status === 200 ? (await refused.json()).map(codeOf) : [refused.status];
    assert.deepEqual(codes, Array(counts === 1 ? 1 : 3).fill(429), what);
    if (!refused.bodyUsed) await refused.body?.cancel();
    isAdmitted = true;
  }
  await harness.mcp.close();
});

Deno.test("a caller over its limit still cancels its own call", async () => {
  let left = 1;
  const admit = () => left-- > 0 ? { ok: true } as const : { ok: false, retryAfterSeconds: 7 } as const;
  const harness = createHarness({ admit });
  const waiting = harness.post(toolCall("wait", {}, 5));
  await new Promise((resolve) => setTimeout(resolve, 5));
  const cancel = { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 5 } };
  assert.equal((await harness.post(cancel)).status, 202);
  assert.equal((await (await waiting).json()).error.code, 499);
});

Deno.test("every method of every revision counts like a call, the handshake, ping and unknown ones too", async () => {
  let [isAdmitted, asked] = [true, 0];
  const admit = () => {
    asked++;
    return isAdmitted ? { ok: true } as const : { ok: false, retryAfterSeconds: 7 } as const;
  };
  const harness = createHarness({ resources: anyResource(), admit });
  const session = await harness.openSession();
  assert.equal(asked, 1, "the handshake");
  const params = { name: "echo", uri: "any:1", level: "info", ref: { type: "ref/resource", uri: "any:1" } };
  isAdmitted = false;
  for (const [version, { methods }] of legacyRevisions) {
    for (const method of [...methods, "made/up"]) {
      if (method.startsWith("prompts/")) continue; // this server has none
      const headers = { ...session, "mcp-protocol-version": version };
      const response = await harness.post(rpc(method, params), headers);
      assert.equal(response.status, 429, `${version} ${method}`);
      assert.equal(response.headers.get("retry-after"), "7");
    }
    assert.equal((await harness.post(rpc("tools/call", { name: "ehco" }), session)).status, 429);
  }
  for (const method of ["server/discover", "tools/list", "resources/list", "made/up"]) {
    assert.equal((await harness.modern(method)).status, 429, method);
  }
  isAdmitted = true;
  await harness.openSession();
  await harness.mcp.close();
});

function anyResource() {
  return createResourceRegistry([{
    name: "any",
    scopes: [],
    owns: () => true,
    list: () => [],
    templates: [],
    read: () => null,
    cacheHint: { ttlMs: 0, cacheScope: "private" },
    stamp: () => Promise.resolve(""),
  }]);
}

Deno.test("a session takes many subscriptions at once", async () => {
  const harness = createHarness({ storage: createMemoryStorage(), resources: anyResource() });
  const session = await harness.openSession();
  const subscribe = async (index: number): Promise<unknown> =>
    (await (await harness.post(rpc("resources/subscribe", { uri: `any:${index}` }), session)).json()).result;
  const answers = await Promise.all(Array.from({ length: 60 }, (_, index) => subscribe(index)));
  assert.deepEqual(answers, answers.map(() => ({})));
  await harness.mcp.close();
});

Deno.test("subscriptions to long addresses are refused before they are more than a stored value holds", async () => {
  const directory = await Deno.makeTempDir();
  const storage = openSqliteStorage({ path: join(directory, "sessions.db"), clock: systemClock });
  try {
    const harness = createHarness({ storage, resources: anyResource(), maxBodyBytes: 100_000 });
    const session = await harness.openSession();
    const subscribe = async (index: number): Promise<string | undefined> => {
      const uri = `any:${index}:${"x".repeat(12_000)}`;
      const response = await harness.post(rpc("resources/subscribe", { uri }), session);
      assert.equal(response.status, 200);
      return (await response.json()).error?.message;
    };
    const answers = await Promise.all(Array.from({ length: 60 }, (_, index) => subscribe(index)));
    const refusals = answers.filter((message) => message !== undefined);
    assert.equal(answers.length - refusals.length, 16);
    assert.deepEqual([...new Set(refusals)], ["At most 100 resources can be watched, and fewer with long addresses"]);
    await harness.mcp.close();
  } finally {
    await storage.close();
    await Deno.remove(directory, { recursive: true });
  }
});
