/** Lists show what a token may use, and clients are told when step-up has made theirs longer. */
import assert from "node:assert/strict";
import {
  createPromptRegistry,
  createResourceRegistry,
  type Prompt,
  type ResourceFamily,
} from "../../src/mcp/resource.ts";
import { readEvents } from "./event_reader.ts";
import { createHarness, type Harness, principalWith, rpc, toolCall } from "./harness.ts";

const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
const noHint = { ttlMs: 0, cacheScope: "private" } as const;

function prompt(name: string, scopes: readonly string[]): Prompt {
  const render = () => ({ ok: true, messages: [] } as const);
  return { name, title: name, description: `Is ${name}.`, scopes, arguments: [], render };
}

function family(name: string, scopes: readonly string[]): ResourceFamily {
  return {
    name,
    scopes,
    owns: (uri) => uri.startsWith(`${name}://`),
    list: () => [{ uri: `${name}://one`, name }],
    templates: [{ uriTemplate: `${name}://{id}`, name, description: `A ${name}.` }],
    read: () => null,
    cacheHint: noHint,
  };
}

/** A server with something on offer for each scope. Tokens are `SUBJECT SCOPE SCOPE...`. */
function createScopedHarness(): Harness {
  return createHarness({
    prompts: createPromptRegistry([prompt("reading", ["files:read"]), prompt("writing", ["files:write"])]),
    resources: createResourceRegistry([family("read", ["files:read"]), family("write", ["files:write"])]),
    authenticate: (request) => {
      const [, subject = "", ...scopes] = (request.headers.get("authorization") ?? "").split(" ");
      return { kind: "principal", principal: { ...principalWith(scopes), subject } };
    },
  });
}

async function names(harness: Harness, method: string, token: string): Promise<string[]> {
  const { result } = await (await harness.post(rpc(method), bearer(token))).json();
  const [entries = []] = Object.values(result).filter(Array.isArray);
  return entries.map(({ name }: { name: string }) => name);
}

Deno.test("each list shows what the token may use, and nothing for want of a scope is unknown when it is named", async () => {
  const harness = createScopedHarness();
  for (let round = 0; round < 2; round++) { // the second is answered from what was kept
    const free = ["crash", "break_promise", "wait"];
    assert.deepEqual(await names(harness, "tools/list", "ann"), free);
    assert.deepEqual(await names(harness, "tools/list", "ann files:read"), ["echo", "measure", ...free]);
    assert.deepEqual(await names(harness, "tools/list", "ann files:write"), free);
    const all = "ann other:scope files:write files:read";
    assert.deepEqual(await names(harness, "tools/list", all), ["echo", "measure", "store", ...free]);
    for (const [method, listed] of [["prompts/list", "reading"], ["resources/list", "read"]] as const) {
      assert.deepEqual(await names(harness, method, "ann files:read"), [listed]);
      assert.deepEqual(await names(harness, method, "ann"), []);
      assert.equal((await names(harness, method, all)).length, 2);
    }
    assert.deepEqual(await names(harness, "resources/templates/list", "ann files:write"), ["write"]);
  }
  const refused = await harness.post(toolCall("store", {}), bearer("ann files:read"));
  assert.equal(refused.status, 403); // the challenge starts step-up
  await refused.body?.cancel();
  await harness.mcp.close();
});

Deno.test("pages of a list follow the scopes, and a cursor is good for the list that it came from", async () => {
  const harness = createHarness({ limits: { pageSize: 3 } });
  const page = async (token: string, cursor?: string) => {
    const response = await harness.post(rpc("tools/list", cursor === undefined ? {} : { cursor }), bearer(token));
    const { result, error } = await response.json();
    return { names: result?.tools.map(({ name }: { name: string }) => name), cursor: result?.nextCursor, error };
  };
  const all = await page("all-scopes");
  assert.deepEqual(all.names, ["echo", "measure", "store"]);
  const some = await page("read-only");
  assert.deepEqual(some.names, ["echo", "measure", "crash"]);
  assert.deepEqual((await page("read-only", some.cursor)).names, ["break_promise", "wait"]);
  assert.equal((await page("read-only", all.cursor)).error?.code, -32602); // behind a tool that it does not show
});

/** A legacy session with its own stream, and a subscription of the modern era. */
async function openBoth(harness: Harness, token: string) {
  const initialize = rpc("initialize", { protocolVersion: "2025-06-18", capabilities: {} });
  const accept = "application/json, text/event-stream";
  const opened = await harness.post(initialize, { ...bearer(token), accept });
  await opened.body?.cancel();
  const session = {
    ...bearer(token),
    accept,
    "mcp-session-id": opened.headers.get("mcp-session-id") ?? "",
    "mcp-protocol-version": "2025-06-18",
  };
  const get = await harness.endpoint(new Request("http://host/mcp", { headers: session }), { address: "" });
  const notifications = { toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true };
  const listening = await harness.modern("subscriptions/listen", { notifications }, { headers: bearer(token) });
  const modern = readEvents(listening, { method: "subscriptions/listen", isModern: true });
  await modern.next(); // the acknowledgement
  return [readEvents(get, { method: "tools/call", isModern: false }), modern];
}

Deno.test("after step-up the client's open streams are told once that its lists changed, and no other client's", async () => {
  const harness = createScopedHarness();
  const [own, others] = [await openBoth(harness, "ann files:read"), await openBoth(harness, "bob files:read")];
  for (const token of ["ann files:read", "ann", "ann files:write", "ann files:write llm:generate", "bob files:read"]) {
    await names(harness, "tools/list", token); // nothing more
  }
  for (let round = 0; round < 2; round++) await names(harness, "tools/list", "ann files:read files:write");
  await names(harness, "tools/list", "ann files:read"); // the earlier token still counts
  harness.tools.remove("wait"); // which all are told: the end of what is read below
  const told = ["tools", "prompts", "resources"].map((list) => `notifications/${list}/list_changed`);
  for (const [streams, expected] of [[own, [...told, told[0]]], [others, [told[0]]]] as const) {
    for (const stream of streams) {
      const methods: unknown[] = [];
      while (methods.length < expected.length) methods.push((await stream.next())?.message?.["method"]);
      assert.deepEqual(methods, expected);
    }
  }
  harness.mcp.drain();
  for (const stream of [...own, ...others]) {
    assert.ok((await stream.rest()).every(({ message }) => message?.["method"] === undefined));
  }
  await harness.mcp.close();
});
