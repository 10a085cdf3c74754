/**
 * The dearest calls that the bounds allow, for every tool and each of its parameters, and for every other method. A tool
 * or a method that has no rows here, or a parameter that no call gives, fails the test.
 */
import { methodNames } from "../../../src/mcp/mod.ts";
import { modernRequest } from "../../fixtures/mcp_call.ts";
import { deepPath, nearPath, undone } from "./planted_files.ts";

/** Arguments of one call; of `times` that are sent at once each may be another. */
type Arguments = (time: number) => Readonly<Record<string, unknown>>;

const mebibyte = 1_048_576;
const odd = (characters: number): string => `${"a".repeat(characters / 2)}b${"a".repeat(characters / 2)}`;
const braces = `${"{a,b}".repeat(5)}${"*a".repeat(120)}b`;
const excludes = Array.from({ length: 20 }, (_, index) => `${"{a,b}".repeat(5)}*${"a".repeat(100 + index)}b`);
const smaller = Array.from({ length: 20 }, () => `${"*?a".repeat(100)}b`);
const many = (count: number, each: (index: number) => unknown): unknown[] =>
  Array.from({ length: count }, (_, i) => each(i));
/** Files that no other call takes: a call's hundred of them. */
const hundredOf = (call: number): unknown[] => many(100, (index) => `files/${call * 100 + index}.txt`);
const nested = (depth: number): unknown => JSON.parse(`${"[".repeat(depth)}${"]".repeat(depth)}`);

/** What ServiceNow's tools take at most: characters of a query, and values, here of fields that are nearly there. */
const longest = many(20, (index) => `short_description=${"a".repeat(170)}${index}`).join("\n");
const nearFields = many(60, (index) => `short_descriptio${index}=${"é".repeat(200)}`).join("\n");

/** By tool: its dear calls by name. */
export const dearCalls: Readonly<Record<string, Readonly<Record<string, Arguments>>>> = {
  file_read: {
    "50 names of binary files": (time) => ({
      filename: `binary/${time % 6}.bin`,
      files: many(49, (index) => `binary/${index % 6}.bin`),
    }),
    "50 names of files of control characters": () => ({
      filename: "binary/0.txt",
      files: many(49, (index) => `binary/${index % 6}.txt`),
      max_bytes: mebibyte,
    }),
    "a file of escapes": () => ({ filename: "controls.txt", max_bytes: mebibyte }),
    "a file that JSON doubles": () => ({ filename: "quotes.txt", max_bytes: mebibyte }),
    "UTF-16": () => ({ filename: "wide.txt:2-600000", max_bytes: mebibyte }),
    "many files": (time) => ({ files: hundredOf(time).slice(50) }),
    "50 deep names": () => ({ filename: deepPath, files: many(49, (index) => `${deepPath}${index}`) }),
    "50 near names": (time) => ({ filename: nearPath(time), files: many(49, nearPath) }),
    "50 absolute names": () => ({
      filename: `/${"é/".repeat(31)}x`,
      files: many(49, (index) => `/${"é/".repeat(31)}${index}`),
    }),
    "the end of a line of megabytes": (time) => ({ filename: `${time % 2 === 0 ? "line" : "older"}.txt:1:7000000` }),
    "the last lines of many": () => ({ filename: "large.txt:-690000", max_bytes: mebibyte }),
    "a cursor, and a link": () => ({ filename: "letters.txt", cursor: "a".repeat(4_000), link: true }),
  },
  file_write: {
    "many large files": (time) => ({
      files: many(9, (index) => ({ path: `written/${time}-${index}`, content: "é".repeat(50_000) })),
    }),
    "many files": (time) => ({
      ...{ filename: `files/${time}`, content: "a" },
      files: many(49, (index) => ({ path: `files/${time}-${index}`, content: "a" })),
    }),
    "one large file": (time) => ({ filename: `written/${time}`, content: "a".repeat(mebibyte - 1), mode: "overwrite" }),
    "a version, and a link": (time) => ({
      filename: `written/${time}`,
      content: "a",
      if_version: "0".repeat(64),
      link: true,
    }),
  },
  file_list: {
    "20 excludes of nested braces": () => ({ path: "globs", exclude: excludes, depth: 64, sort: "size" }),
    "20 excludes on nested names": () => ({ path: "ignored", exclude: smaller, depth: 64, include_ignored: true }),
    "a pattern that may mean another": () => ({ path: ".", depth: 64, pattern: `*${"?a".repeat(118)},%(x)\\;` }),
    "a pattern of braces": () => ({ path: ".", pattern: `**/${braces}`, depth: 64, modified_after: "2020-01-01" }),
    "nested rules": () => ({ path: ".", depth: 64, limit: 10_000, show: "details" }),
    "a summary": () => ({ path: ".", show: "summary", include_ignored: true }),
    "equal files": () => ({ path: ".", show: "duplicates", include_ignored: true }),
    "the newest": () => ({ path: ".", sort: "modified", include_ignored: true, cursor: "x" }),
    "a near name": (time) => ({ path: nearPath(time) }),
  },
  file_edit: {
    "100 edits of deep names": () => ({
      edits: many(100, (index) => ({ path: `${deepPath}${index}`, old_text: "a", new_text: "b" })),
    }),
    "50 near names": () => ({ edits: many(50, (index) => ({ path: nearPath(index), old_text: "a", new_text: "b" })) }),
    "a failed edit of capitals": () => ({ path: "capitals.txt", old_text: `${"A B".repeat(100_000)}z`, new_text: "b" }),
    "100 failed edits": () => ({
      edits: many(100, (index) => ({ path: "capitals.txt", old_text: `A BA B${index}z`, new_text: "b" })),
      dry_run: true,
    }),
    "every letter, in whole words": () => ({
      path: "lines.txt",
      ...{ old_text: "a", new_text: "b", replace_all: true, whole_word: true, dry_run: true },
    }),
    "places in many lines": () => ({
      path: "lines.txt",
      edits: many(
        90,
        (index) => ({ old_text: "a\n".repeat(2_000 + index), new_text: `${"b\n".repeat(index)}`, replace_all: true }),
      ),
      dry_run: true,
    }),
    "what nearly fits everywhere": () => ({
      path: "letters.txt",
      old_text: odd(400_000),
      new_text: "x",
      if_version: "0",
    }),
    "many files": (time) => ({
      edits: hundredOf(time).slice(50).map((path) => ({ path, old_text: "file", new_text: `file ${time}` })),
    }),
    "mixed line ends": () => ({
      path: "mixed.txt",
      old_text: "a\nb\n".repeat(50_000),
      new_text: "x",
      whole_word: true,
    }),
    "all lines of a file": () => ({
      path: "lines.txt",
      old_text: "a\n",
      new_text: "b\n",
      replace_all: true,
      dry_run: true,
    }),
    "edits of a large file": () => ({
      path: "large.txt",
      old_text: "words",
      new_text: "w",
      replace_all: true,
      dry_run: true,
    }),
    "every letter of a large file": () => ({
      path: "more_letters.txt",
      ...{ old_text: "a", new_text: "b", replace_all: true, dry_run: true },
    }),
    "what nearly fits everywhere in a large file": () => ({
      path: "more_letters.txt",
      old_text: odd(400_000),
      new_text: "x",
      dry_run: true,
    }),
    "lines of a large file, with other line ends": () => ({
      path: "more_mixed.txt",
      old_text: "b\n",
      new_text: "c\nd\n",
      replace_all: true,
      dry_run: true,
    }),
  },
  file_move: {
    "many copies": (time) => ({
      paths: many(50, (index) => `many/${index}.txt`),
      destination: `copies/${time}`,
      copy: true,
      overwrite: true,
    }),
    "a tree": (time) => ({ path: "many", destination: `trees/${time}`, copy: true }),
    "deep names": () => ({ path: deepPath, destination: `${deepPath}x` }),
    "many files": (time) => ({ paths: hundredOf(time), destination: `moved/${time}` }),
  },
  file_search: {
    "excludes of nested braces": () => ({ query: "a", path: "globs", exclude: excludes, include_ignored: true }),
    "an expression": () => ({
      query: `${"a?".repeat(100)}${"a".repeat(40)}z`,
      ...{ regex: true, ignore_case: true, whole_word: true, context: 10, limit: 1_000 },
    }),
    "lines that are short": () => ({ query: "b", path: "short.txt", regex: true, show: "count" }),
    "lines that are empty": () => ({ query: "^$", path: "short.txt", regex: true, show: "count" }),
    "a line of megabytes": () => ({ query: "b$", path: "older.txt", regex: true }),
    "what nearly fits everywhere": () => ({ query: odd(900), show: "lines", last: true }),
    "nested rules": () => ({ query: "b", path: "ignored", pattern: braces, cursor: "x" }),
    "every line": () => ({ query: "a", limit: 1_000, context: 10, last: true }),
  },
  file_undo: {
    "an edit of what nearly fits everywhere": () => ({ change: undone.change }),
    "the last of many changes": () => ({ change: "last" }),
    "a list of many changes": () => ({}),
  },
  file_delete: {
    "deep and near names": () => ({
      paths: many(50, (index) => index % 2 === 0 ? `${deepPath}${index}` : nearPath(index)),
      recursive: true,
    }),
    "a path": () => ({ path: nearPath(1) }),
    "many files": (time) => ({ paths: hundredOf(time + 60) }),
  },
  llm_generate: {
    "a long conversation": () => ({
      prompt: "a".repeat(100_000),
      system: "b".repeat(10_000),
      model: "c".repeat(10_000),
      messages: many(100, () => ({ role: "user", content: "é".repeat(500) })),
      max_tokens: 1,
      options: { seed: 1 },
    }),
    "a schema": () => ({ prompt: "x", json_schema: { anyOf: many(9_500, () => ({ items: [] })) } }),
    "files": () => ({ prompt: "x", files: many(16, (index) => `binary/${index % 6}.txt`), max_tokens: 1 }),
    "a nested schema": () => ({ prompt: "x", json_schema: { allOf: nested(4_000) } }),
    "the largest schema": () => ({
      prompt: "x",
      json_schema: { anyOf: many(4_900, () => ({ items: [] })) },
      max_tokens: 1,
    }),
  },
  llm_models: { "all": () => ({}) },
  servicenow_search: {
    "a long query": () => ({ table: "incident", where: "short_description=a\n".repeat(20_000), limit: 1_000 }),
    "the longest query": () => ({ table: "incident", where: longest, limit: 1_000 }),
    "all fields of the most records": () => ({ table: "incident", where: "active=true or active=false", limit: 1_000 }),
  },
  servicenow_count: {
    "a long query": () => ({ table: "incident", where: "a=b or c=d\n".repeat(20_000) }),
    "the longest query": () => ({ table: "incident", where: longest }),
  },
  servicenow_get_record: {
    "a long name": () => ({ id: "INC0010001,".repeat(50_000) }),
    "a record": () => ({ id: "INC0010001" }),
  },
  servicenow_describe: {
    "a long name": () => ({ table: "a".repeat(500_000) }),
    "a table": () => ({ table: "incident" }),
  },
  servicenow_create: {
    "many values": () => ({ table: "incident", values: "a=b\n".repeat(100_000), dry_run: true }),
    "as many as may be": () => ({ table: "incident", values: nearFields, dry_run: true }),
  },
  servicenow_update: {
    "many values": () => ({ id: "INC0010001", values: "a=b\n".repeat(100_000), dry_run: true }),
    "as many as may be": () => ({ id: "INC0010001", values: nearFields, dry_run: true }),
  },
  servicenow_add_note: {
    "a long text": () => ({ id: "INC0010001", audience: "team", text: "é\n".repeat(200_000), dry_run: true }),
    "the longest": () => ({ id: "INC0010001", audience: "team", text: "é\n".repeat(9_999), dry_run: true }),
  },
  servicenow_order: {
    "many answers": () => ({ item: "laptop", answers: "a=b\n".repeat(100_000), dry_run: true }),
    "as many as may be": () => ({ item: "Standard Laptop", answers: nearFields, dry_run: true }),
  },
  servicenow_approve: {
    "a long comment": () => ({ id: "INC0010001", decision: "reject", comment: "é".repeat(300_000) }),
    "the longest": () => ({ id: "INC0010001", decision: "reject", comment: "é".repeat(19_999) }),
  },
  servicenow_attach: {
    "the largest file": () => ({ id: "INC0010001", filename: "attached.bin" }),
    "the largest file, tried": () => ({ id: "INC0010001", filename: "attached.bin", dry_run: true }),
  },
  servicenow_fetch_attachment: { "a long name": () => ({ id: "INC0010001", name: "a".repeat(500_000) }) },
};

/** A message, and the headers that go with it. */
export interface DearRequest {
  readonly method: string;
  readonly params?: unknown;
  /** Of the revision whose messages name their client's capabilities. */
  readonly isModern?: boolean;
  /** The caller reads no answer: it leaves after this many milliseconds. */
  readonly unreadMs?: number;
}

const uris = (count: number): unknown[] => many(count, (index) => `workspace:///${"é/".repeat(400)}${index}`);
const taskId = "t".repeat(500_000);
const file = (path: string, others: object = {}) => ({ name: "file_read", arguments: { filename: path, ...others } });

/** What other methods are asked for, and calls whose answer is not read. */
export const dearRequests: Readonly<Record<string, DearRequest>> = {
  "initialize by a long name": {
    method: "initialize",
    params: {
      protocolVersion: "2025-06-18",
      capabilities: { experimental: nested(4_000) },
      clientInfo: { name: "é".repeat(200_000), version: "1".repeat(200_000) },
    },
  },
  "server/discover": { method: "server/discover", params: { a: "é".repeat(400_000) }, isModern: true },
  "tools/list": { method: "tools/list", params: { cursor: "a".repeat(500_000) } },
  "tools/list, whole": { method: "tools/list" },
  "a tool of a long name": { method: "tools/call", params: { name: "file_".repeat(100_000) } },
  "logging/setLevel": { method: "logging/setLevel", params: { level: "a".repeat(500_000) } },
  "subscriptions/listen": {
    method: "subscriptions/listen",
    params: {
      notifications: {
        resourcesListChanged: true,
        resourceSubscriptions: uris(200),
        taskIds: many(200, (index) => `${"t".repeat(200)}${index}`),
      },
    },
    isModern: true,
    unreadMs: 1_000,
  },
  "tasks/get": { method: "tasks/get", params: { taskId }, isModern: true },
  "tasks/update": {
    method: "tasks/update",
    params: {
      taskId,
      inputResponses: Object.fromEntries(many(19_000, (index) => [`k${index}`, []]) as [string, []][]),
    },
    isModern: true,
  },
  "tasks/cancel": { method: "tasks/cancel", params: { taskId }, isModern: true },
  "prompts/list": { method: "prompts/list", params: { cursor: "a".repeat(500_000) } },
  "prompts/get": {
    method: "prompts/get",
    params: { name: "summarize_incident", arguments: { number: "INC0010001,".repeat(40_000) } },
  },
  "resources/templates/list": { method: "resources/templates/list", params: { cursor: "a".repeat(500_000) } },
  "resources/list of a made-up place": { method: "resources/list", params: { cursor: "a".repeat(500_000) } },
  "resources/read of a deep address": { method: "resources/read", params: { uri: `workspace:///${deepPath}` } },
  "resources/subscribe": { method: "resources/subscribe", params: { uri: `workspace:///${"é/".repeat(100_000)}` } },
  "resources/unsubscribe": { method: "resources/unsubscribe", params: { uri: `workspace:///${deepPath}` } },
  "large answers that nobody reads": {
    method: "tools/call",
    params: file("quotes.txt", { max_bytes: mebibyte }),
    unreadMs: 3_000,
  },
  "late answers that nobody reads": {
    method: "tools/call",
    params: file("line.txt:1:7000000-7000500", { files: many(3, () => "quotes.txt"), max_bytes: mebibyte }),
    unreadMs: 3_000,
  },
  "a batch of reads": {
    method: "a batch", // is sent as it is
    params: many(50, (id) => ({ jsonrpc: "2.0", id, method: "tools/call", params: file("quotes.txt") })),
  },
  "completion of a deep path": {
    method: "completion/complete",
    params: {
      ref: { type: "ref/resource", uri: "workspace:///{+path}" },
      argument: { name: "path", value: `names/${"é".repeat(100)}` },
    },
  },
  "resources/list": { method: "resources/list" },
  "resources/read": { method: "resources/read", params: { uri: "workspace:///controls.txt" } },
  "deep JSON": { method: "tools/call", params: { name: "file_read", arguments: { filename: nested(200_000) } } },
  "deep JSON that no method reads": { method: "ping", params: { a: nested(450_000) } },
  // as many values as a body may have, and more
  ...Object.fromEntries([19_000, 100_000].map((count) => [`${count} unknown arguments`, {
    method: "tools/call",
    params: {
      name: "file_read",
      arguments: Object.fromEntries(many(count, (index) => [`k${index}`, []]) as [string, unknown][]),
    },
  }])),
};

/** Methods for which there is no request here. */
export function untriedMethods(): readonly string[] {
  const tried = new Set(Object.values(dearRequests).map(({ method }) => method));
  return [...methodNames].filter((method) => !tried.has(method) && !method.startsWith("notifications/"));
}

/** The body and the headers of a request. */
export function encodeRequest({ method, params, isModern = false }: DearRequest): {
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
} {
  if (method === "a batch") {
    return { body: JSON.stringify(params), headers: { "mcp-protocol-version": "2025-03-26" } };
  }
  if (!isModern) return { body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }), headers: {} };
  const capabilities = method === "tools/call" ? {} : { extensions: { "io.modelcontextprotocol/tasks": {} } };
  const { message, headers } = modernRequest(method, params as Readonly<Record<string, unknown>>, capabilities);
  const isSent = Object.values(headers).every((value) => value.length < 4_000);
  return { body: JSON.stringify(message), headers: isSent ? headers : { "mcp-protocol-version": "2026-07-28" } };
}

/** A value of each kind that a parameter's schema may allow, as large as a body: for parameters of every tool. */
export function dearValue(schema: Readonly<Record<string, unknown>>): unknown {
  switch (schema["type"]) {
    case "string":
      return "é,a=b\n".repeat(30_000);
    case "array":
      return many(19_000, () => "a");
    case "object":
      return Object.fromEntries(many(19_000, (index) => [`k${index}`, "a"]) as [string, unknown][]);
    case "boolean":
      return true;
    default:
      return 1_000_000;
  }
}
