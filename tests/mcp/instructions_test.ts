/** What a model is told at the handshake: short, what matters first, and only what its token may do. */
import assert from "node:assert/strict";
import { countTokens } from "gpt-tokenizer/encoding/o200k_base";
import { instructionsFor } from "../../src/app/protocol_server.ts";
import { systemClock } from "../../src/lib/time.ts";
import { createToolRegistry } from "../../src/mcp/registry.ts";
import type { Tool } from "../../src/mcp/tool.ts";
import { fileEditTool } from "../../src/files/tools/file_edit.ts";
import { fileListTool } from "../../src/files/tools/file_list.ts";
import { fileReadTool } from "../../src/files/tools/file_read.ts";
import { fileSearchTool } from "../../src/files/tools/file_search.ts";
import { llmTools } from "../../src/llm/llm_tools.ts";
import { servicenowTools } from "../../src/servicenow/servicenow_offer.ts";
import { createHarness, principalWith, rpc } from "./harness.ts";

const maxTokens = 300;

const unused = {} as never; // no tool is called
const files: readonly Tool[] = [fileReadTool, fileListTool, fileSearchTool, fileEditTool].map((make) => make(unused));
const llm = llmTools({ model: unused, models: ["tiny"], workspace: unused, clock: systemClock });
const servicenow = servicenowTools(unused, { workspace: unused, writing: true });
const everything = [...files, ...llm, ...servicenow];

Deno.test("instructions are under 300 tokens and name only tools that there are", () => {
  const text = instructionsFor(everything, null);
  assert.ok(countTokens(text) < maxTokens, `${countTokens(text)} tokens`);
  const known = new Set(everything.map(({ name }) => name));
  const named = Array.from(text.matchAll(/\b(?:file|llm|servicenow)_[a-z_]+/g), ([name]) => name);
  for (const name of named) assert.ok(known.has(name) || name === "servicenow_", name);
  assert.match(text, /^Files live in one workspace/);
});

Deno.test("instructions follow the token's scopes and what is configured", () => {
  const told = (tools: readonly Tool[], scopes: readonly string[]): Record<string, boolean> => {
    const text = instructionsFor(tools, principalWith(scopes));
    return {
      read: text.includes("file_search"),
      edit: text.includes("if_version"),
      readOnly: text.includes("not change them"),
      llm: text.includes("llm_generate"),
      servicenow: text.includes("servicenow_search"),
      comment: text.includes("cannot be undone"),
    };
  };
  const none = { read: false, edit: false, readOnly: false, llm: false, servicenow: false, comment: false };
  const cases: [readonly Tool[], string[], Partial<typeof none>][] = [
    [everything, [], {}],
    [everything, ["files:read"], { read: true, readOnly: true }],
    [everything, ["files:read", "files:write"], { read: true, edit: true }],
    [everything, ["llm:generate"], { llm: true }],
    [everything, ["servicenow:read"], { servicenow: true }],
    [everything, ["servicenow:read", "servicenow:write"], { servicenow: true, comment: true }],
    [files, ["files:read", "files:write", "llm:generate", "servicenow:read"], { read: true, edit: true }],
  ];
  for (const [tools, scopes, expected] of cases) assert.deepEqual(told(tools, scopes), { ...none, ...expected });
});

Deno.test("initialize and server/discover tell each token its own instructions", async () => {
  const harness = createHarness({
    tools: createToolRegistry(files),
    instructions: (principal) => instructionsFor(files, principal),
    authenticate: (request) => ({
      kind: "principal",
      principal: principalWith((request.headers.get("authorization") ?? "").split(" ").slice(1)),
    }),
  });
  const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "t", version: "1" } };
  for (const scopes of ["files:read", "files:read files:write"]) {
    const headers = { authorization: `Bearer ${scopes}` };
    const expected = instructionsFor(files, principalWith(scopes.split(" ")));
    const opened = (await (await harness.post(rpc("initialize", params), headers)).json()).result;
    const discovered = (await (await harness.modern("server/discover", {}, { headers })).json()).result;
    assert.deepEqual([opened.instructions, discovered.instructions], [expected, expected]);
    assert.equal(discovered.cacheScope, "private");
  }
});
