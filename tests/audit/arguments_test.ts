/** The arguments of past calls: where, which and how as they were, every other text as its size. */
import assert from "node:assert/strict";
import * as z from "zod";
import {
  decodeArguments,
  decodeLine,
  emptyLine,
  encodeLine,
  lineOfRequest,
  toldArguments,
} from "../../src/audit/recorder.ts";
import type { AuditEntry } from "../../src/mcp/mod.ts";
import { everyTool } from "../fixtures/every_tool.ts";
import { postMcp, toolCall } from "../fixtures/mcp_call.ts";
import { makeServerPlace, runCommand, startServer } from "../fixtures/running_server.ts";
import { until } from "../fixtures/until.ts";
import { start } from "./audit_place.ts";

const entry: AuditEntry = {
  ...{ time: start, requestId: "r", subject: "ada", clientId: "c", grantId: "g", method: "tools/call" },
  ...{ tool: "file_write", outcome: "ok", code: null, durationMs: 1.5 },
};
const traceId = "4bf92f3577b34da6a3ce929d0e0e4736";

function argumentsIn(input: unknown, more = {}) {
  const line = decodeLine(encodeLine(lineOfRequest({ ...entry, ...more }, { arguments: input })).slice(0, -1));
  return line.arguments === null ? null : decodeArguments(line.arguments);
}

Deno.test("a line keeps names, numbers and switches of a call, and of what was written the size", () => {
  const texts = { filename: "a|~%.md", query: "x", content: "s3cret\n", mode: "append" };
  assert.deepEqual(argumentsIn({ ...texts, copy: true, limit: 3, nothing: null, dry_run: false }), {
    ...{ filename: "a|~%.md", query: "1 character", content: "7 characters", mode: "append" },
    ...{ copy: "true", limit: "3", nothing: "null" },
  });
  const lists = { paths: ["a", "b"], edits: [{ old_text: "s3cret" }], options: { a: "s3cret" } };
  assert.deepEqual(argumentsIn({ ...lists, left_out: undefined }), {
    ...{ paths: "2 entries", edits: "1 entry", options: "1 entry" },
  });
  assert.deepEqual(argumentsIn({}), {});
  for (const input of [undefined, null, "s3cret", ["s3cret"], 7]) assert.equal(argumentsIn(input), null);
  assert.equal(argumentsIn({ filename: "a" }, { tool: null }), null);
  const line = decodeLine(encodeLine(lineOfRequest({ ...entry, traceId }, { arguments: { path: "a" } })).slice(0, -1));
  assert.deepEqual([line.trace, line.arguments, line.durationMs], [traceId, "path=a", 1.5]);
});

Deno.test("what a caller invents as an argument leaves neither name nor text, and is bounded", () => {
  const invented = argumentsIn({ "the password is s3cret": 1, "": 2, constructor: "s3cret" });
  assert.deepEqual(invented, { constructor: "6 characters" });
  const many = Object.fromEntries(Array.from({ length: 5_000 }, (_, at) => [`a${at}`, at]));
  const [path, filename, destination] = ["p", "語", "\u0000"].map((sign) => sign.repeat(100_000));
  const long = { path, filename, destination };
  for (const input of [many, long, { ...long, ...many }]) {
    const text = encodeLine(lineOfRequest(entry, { arguments: input }));
    const bare = encodeLine(lineOfRequest(entry, { arguments: {} }));
    const target = decodeLine(text.slice(0, -1)).target ?? "";
    assert.ok(text.length - bare.length - 3 * target.length < 1_300, String(text.length));
  }
  assert.deepEqual(Object.keys(argumentsIn({ text: "x", ...long }) ?? {}).length, 4, "nothing is left out");
  assert.match(Object.keys(argumentsIn(many) ?? {}).at(-1) ?? "", /^more$/);
});

Deno.test("a line that was stored before lines had arguments is read as it was", () => {
  const fields = { time: start, event: "call", durationMs: 1.25, requestId: "r" };
  const old = encodeLine({ ...emptyLine, ...fields }).slice(0, -1);
  assert.ok(old.endsWith("|r|1.25"));
  const { durationMs, trace, arguments: given } = decodeLine(old);
  assert.deepEqual([durationMs, trace, given], [1.25, null, null]);
});

/** Texts that someone wrote, or that may name a person: of a new argument it has to be said which kind it is. */
const written = new Set([
  ...["content", "old_text", "new_text", "query", "prompt", "system", "values", "text", "comment", "answers"],
  ...["words", "where", "cursor", "item"],
]);

Deno.test("each text argument of each tool either says where, which or how, or is kept as its size", () => {
  let seen = 0;
  for (const { name, input } of everyTool) {
    const { properties = {} } = z.toJSONSchema(input, { io: "input", unrepresentable: "any" });
    for (const [argument, schema] of Object.entries(properties)) {
      if (typeof schema === "boolean" || (schema.type ?? "string") !== "string") continue;
      seen += 1;
      assert.equal(toldArguments.has(argument), !written.has(argument), `${name}: ${argument}`);
    }
  }
  assert.ok(seen > 30);
});

Deno.test("neither contents, prompts, searches nor tokens of a call reach the stored audit", async () => {
  await using place = await makeServerPlace();
  const made = ["token", "create", "--scope", "files:read files:write llm:generate", "--data-dir", place.dataDir];
  const token = (await runCommand(made)).stdout.trim();
  const secret = "correct-horse-battery";
  const list = async () => (await runCommand(["audit", "list", "--json", "--data-dir", place.dataDir])).stdout;
  await using server = await startServer(place);
  const traceparent = `00-${traceId}-00f067aa0ba902b7-01`;
  const inputs: readonly (readonly [string, Record<string, unknown>])[] = [
    ["file_write", { filename: "a.md", content: `${secret} one\n`, files: [{ filename: "b.md", content: secret }] }],
    ["file_edit", { path: "a.md", old_text: `${secret} one`, new_text: `${secret} two` }],
    ["file_edit", { edits: [{ path: "a.md", old_text: secret, new_text: token }] }],
    ["file_search", { query: secret, regex: true }],
    ["file_write", { filename: "c.md", contents: token, [secret]: secret }], // a name that the tool does not have
    ["llm_generate", { prompt: secret, system: secret, messages: [{ role: "user", content: secret }] }],
    ["no_such_tool", { text: secret }],
    ["file_search", { pattern: secret, regex: 7 }], // what other servers call a query, and the call is refused
    ["file_read", { filename: "a.md" }],
  ];
  for (const [tool, input] of inputs) {
    await (await postMcp(server.url, toolCall(tool, input), { token, headers: { traceparent } })).text();
  }
  const found = await until("the last line is stored", async () => {
    const text = await list();
    return text.includes("file_read") ? text : null;
  });
  assert.ok(!found.includes("horse") && !found.includes(token), found);
  const lines: readonly Record<string, unknown>[] = found.trim().split("\n").map((line) => JSON.parse(line));
  const wrote = lines.findLast(({ tool }) => tool === "file_write");
  assert.deepEqual(wrote?.["arguments"], {
    ...{ filename: "a.md", content: `${secret.length + 5} characters`, mode: "overwrite", files: "1 entry" },
  });
  assert.ok(lines.filter(({ event }) => event === "call").every(({ trace }) => trace === traceId));
});
