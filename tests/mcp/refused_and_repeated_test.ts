/** Each remedy that a refusal of a protocol method names works when the request is repeated with it. */
import assert from "node:assert/strict";
import { z } from "zod";
import { createPromptRegistry, createResourceRegistry } from "../../src/mcp/resource.ts";
import { defineTool, otherNames } from "../../src/mcp/tool.ts";
import { createToolRegistry } from "../../src/mcp/registry.ts";
import { createHarness, type Harness, harnessTools, rpc } from "./harness.ts";
import { type Asked, refusedCalls } from "./refused_calls.ts";

const prompts = createPromptRegistry([{
  name: "greeting",
  title: "Greeting",
  description: "Greets.",
  scopes: [],
  arguments: [{ name: "who", description: "Whom", required: true }],
  render: ({ who = "" }) => ({ ok: true, messages: [{ role: "user", content: { type: "text", text: who } }] }),
}]);

const resources = createResourceRegistry([{
  name: "notes",
  scopes: [],
  owns: (uri) => uri.startsWith("notes://"),
  list: () => [{ uri: "notes://today", name: "today" }],
  templates: [{ uriTemplate: "notes://{name}", name: "note", description: "A note" }],
  read: (uri) => ({ contents: [{ uri, text: "a" }] }),
  cacheHint: { ttlMs: 0, cacheScope: "private" },
  stamp: () => Promise.resolve(""),
}]);

/** Asks a question first. */
const who = defineTool({
  name: "who",
  title: "Who",
  description: "Asks who it is.",
  scopes: [],
  annotations: {},
  input: z.object({}),
  async run(_input, context) {
    const form = { message: "Who?", requestedSchema: { type: "object" as const, properties: {} } };
    await context.ask({ who: { method: "elicitation/create", params: form } });
    return { ok: true, content: [] };
  },
});

/** Knows its parameter by two other names. */
const greet = defineTool({
  name: "greet",
  title: "Greet",
  description: "Greets.",
  scopes: [],
  annotations: {},
  aliases: otherNames({ name: "who person" }),
  input: z.object({ name: z.string() }),
  run: ({ name }) => ({ ok: true, content: [{ type: "text", text: name }] }),
});

async function send(harness: Harness, { method, params = {}, era = "legacy", headers = {}, body, meta = {} }: Asked) {
  if (era === "modern" && body === undefined) {
    return await harness.modern(method, params, { headers, meta, capabilities: modernCapabilities });
  }
  const version = { "mcp-protocol-version": era === "modern" ? "2026-07-28" : "2025-11-25" };
  const session = era === "legacy" && method !== "initialize" ? await harness.openSession() : {};
  return await harness.post(body ?? rpc(method, params), { ...version, ...session, ...headers });
}

const modernCapabilities = { elicitation: {}, extensions: { "io.modelcontextprotocol/tasks": {} } };

/** The words of a refusal, with its data; `null` for a success. */
async function refusalOf(response: Response): Promise<string | null> {
  if (response.headers.get("content-type") === "text/event-stream") {
    await response.body?.cancel();
    return null;
  }
  const { error, result } = await response.json();
  if (error !== undefined) return `${error.message}${error.data === undefined ? "" : JSON.stringify(error.data)}`;
  return result.isError === true ? result.content[0].text : null;
}

Deno.test("the remedy that a refusal of a protocol method names works at the first repeat", async () => {
  const tools = createToolRegistry([...harnessTools(), who, greet]);
  const harness = createHarness({ tools, prompts, resources });
  for (const [asked, says, repeat] of refusedCalls) {
    const title = JSON.stringify(asked);
    const refusal = await refusalOf(await send(harness, asked));
    const found = says.exec(refusal ?? "(none)") ?? assert.fail(`${title}: ${refusal}`);
    const again = repeat(found, asked);
    assert.equal(await refusalOf(await send(harness, again)), null, `${title}: ${refusal} -> ${JSON.stringify(again)}`);
  }
  await harness.mcp.close();
});

Deno.test("a prompt's arguments may be JSON text, null or empty, like a call's", async () => {
  const harness = createHarness({ prompts });
  const get = async (given: unknown) => {
    const answer = await harness.post(rpc("prompts/get", { name: "greeting", arguments: given }));
    const { result, error } = await answer.json();
    return error?.message ?? result.messages[0].content.text;
  };
  for (const given of [{ who: "a" }, '{"who":"a"}', { who: "a", title: null }]) assert.equal(await get(given), "a");
  for (const given of [null, {}, [], "", "{}", { who: "" }, { who: null }]) {
    assert.equal(await get(given), "who parameter is required", JSON.stringify(given));
  }
  for (const given of [["a"], "a", 3]) assert.equal(await get(given), "params.arguments must be an object of strings");
});
