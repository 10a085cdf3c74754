/** Calls as models and hosts send them, to the started program: understood, or refused with what works. */
import assert from "node:assert/strict";
import { makeServerPlace, runCommand, startServer } from "../fixtures/running_server.ts";
import { postMcp } from "../fixtures/mcp_call.ts";

Deno.test("the started program takes calls as models, hosts and other servers' users send them, each text once", async () => {
  await using place = await makeServerPlace();
  const env = { DATA_DIR: place.dataDir };
  const created = await runCommand(["token", "create", "--scope", "files:read", "--scope", "files:write"], { env });
  const token = created.stdout.trim();
  await using server = await startServer(place, { env: { ...env, COMPATIBILITY: "auto" } });
  const root = place.workspaceDir;
  Deno.mkdirSync(`${root}/src`, { recursive: true });
  Deno.writeTextFileSync(`${root}/src/a.py`, "one\ntwo\nthree\n");
  Deno.writeTextFileSync(`${root}/long.txt`, "a line of a long text\n".repeat(30_000));
  const ask = async (method: string, params: unknown): Promise<string> => {
    const response = await postMcp(server.url, { jsonrpc: "2.0", id: 1, method, params }, { token });
    return JSON.stringify(await response.json()); // a slow answer is a stream
  };
  const call = async (name: string, args: unknown): Promise<string> => {
    const { result, error } = JSON.parse(await ask("tools/call", { name, arguments: args }));
    if (error !== undefined) return `error ${error.code}: ${error.message}`;
    assert.ok(!("structuredContent" in result));
    return result.content.map(({ text }: { text: string }) => text).join("\n");
  };
  const grep = { pattern: "t[wh]", path: "src", glob: "*.py", output_mode: "content", "-n": true, head_limit: 5 };
  const cases: readonly [string, unknown, RegExp][] = [
    ["file_search", grep, /two[^]*three/],
    ["file_read", { file_path: `${root}/src/a.py`, offset: 2, limit: 1, files: null, cursor: "" }, /two/],
    ["file_read", { path: "src\\a.py", view_range: [2, 2] }, /two/],
    ["file_read", { filename: "src/a.py#L2-L2" }, /two/],
    ["file_read", { filename: "src/a.py:L2-L2" }, /two/],
    ["file_read", { filename: "src/a.py:2,2" }, /two/],
    [
      "file_read",
      { files: ["src/a.py"], toolCallId: "c", sessionId: "s", action: "sendMessage", chatInput: "x" },
      /one/,
    ],
    ["file_list", { path: "src", depth: 100 }, /a\.py[^]*\(depth: 64 instead of 100, which is above the limit\)/],
    ["read_file", { path: "src/a.py" }, /^error -32602: Unknown tool: read_file; did you mean file_read\?$/],
    ["grep", {}, /^error -32602: Unknown tool: grep; did you mean file_search\?$/],
    ["no_such_tool", {}, /^error -32602: Unknown tool: no_such_tool$/],
    ["file_read", { filename: "/etc/passwd" }, /Invalid filename - path traversal not allowed/],
    ["file_read", { filename: `${root}/../x` }, /Invalid filename - path traversal not allowed/],
    ["file_read", {}, /filename parameter is required/],
    ["file_write", { path: "n.json", content: { a: 1 } }, /Created n\.json/],
    ["file_edit", '{"file_path":"n.json","edits":"[{\\"oldText\\":\\"1\\",\\"newText\\":\\"2\\"}]"}', /1 replacement/],
    ["file_edit", { path: "n.json", old_text: "2", new_text: "3", if_version: "" }, /that of n\.json is [0-9a-f]{12}/],
  ];
  for (const [name, args, expected] of cases) {
    assert.match(await call(name, args), expected, `${name} ${JSON.stringify(args)}`);
  }
  assert.equal(Deno.readTextFileSync(`${root}/n.json`), '{\n  "a": 2\n}\n');
  const lists = await Promise.all([{}, { cursor: null, _meta: null }, null].map((params) => ask("tools/list", params)));
  assert.deepEqual(lists, [lists[0], lists[0], lists[0]]);
  const long = await ask("tools/call", {
    name: "file_read",
    arguments: { filename: "long.txt", max_bytes: 1_000_000 },
  });
  assert.ok(long.length < 750_000, String(long.length));
});
