/** Messages of MCP in every method: batches, long names, deep values, subscriptions, tasks, sessions, streams. */
import { modernRequest } from "../fixtures/mcp_call.ts";
import type { Random } from "../soak/random.ts";
import { type Attack, type Attacks, type HostileRequest, rpc } from "./attack.ts";
import { fileAttacks } from "./file_attacks.ts";
import { hostileText, nested, sizeAround, wide } from "./hostile_values.ts";

const methods = [
  "initialize",
  "ping",
  "tools/list",
  "resources/list",
  "resources/templates/list",
  "prompts/list",
  "logging/setLevel",
  "completion/complete",
  "no/such",
];
const longUri = (random: Random): string =>
  `workspace:///${"n/".repeat(random.pick([1, 500, 2_000]))}${random.int(500)}`;
const modern = (method: string, params: Readonly<Record<string, unknown>>): HostileRequest => {
  const { message, headers } = modernRequest(method, params, { extensions: { "io.modelcontextprotocol/tasks": {} } });
  const isPlain = Object.values(headers).every((value) => value.length < 4_000 && /^[\x20-\x7e]*$/.test(value));
  return { path: "/mcp", body: message, headers: isPlain ? headers : {} };
};
const batchOf = (attack: Attack): Attack => (random) => {
  const body = Array.from({ length: sizeAround(random, 50, 60) }, () => attack(random).body);
  return { path: "/mcp", body: fit(body), headers: { "mcp-protocol-version": "2025-03-26" } };
};

/** As many of the messages as a body holds. */
function fit(messages: readonly unknown[]): readonly unknown[] {
  let room = 2_000_000;
  return messages.filter((message) => (room -= JSON.stringify(message).length) > 0);
}

/** By kind of message. */
export const protocolAttacks: Attacks = {
  batch_of_reads: batchOf(fileAttacks["file_read"] as Attack),
  batch_of_searches: batchOf(fileAttacks["file_search"] as Attack),
  batch_of_edits: batchOf(fileAttacks["file_edit_that_multiplies"] as Attack),
  batch_of_pings: batchOf(() => ({ path: "/mcp", body: rpc("ping") })),
  any_method: (random) => ({
    path: "/mcp",
    body: rpc(random.pick(methods), random.pick([undefined, {}, wide(random, 50_000), nested(random, 5_000)])),
  }),
  long_id: (random) => ({ path: "/mcp", body: rpc("ping", undefined, hostileText(random, 1_000_000)) }),
  long_method: (random) => ({ path: "/mcp", body: rpc(hostileText(random, 500_000)) }),
  long_tool: (random) => ({ path: "/mcp", body: rpc("tools/call", { name: hostileText(random, 500_000) }) }),
  odd_arguments: (random) => ({
    path: "/mcp",
    body: rpc("tools/call", {
      name: random.pick(Object.keys(fileAttacks)),
      arguments: random.pick([wide(random, 80_000), nested(random, 50_000), [], null, "x"]),
    }),
  }),
  broken_json: (random) => ({ path: "/mcp", body: `{"jsonrpc":"2.0",${hostileText(random, 1_000_000)}` }),
  complete: (random) => ({
    path: "/mcp",
    body: rpc("completion/complete", {
      ref: { type: "ref/resource", uri: "workspace:///{+path}" },
      argument: { name: "path", value: hostileText(random, sizeAround(random, 4096, 500_000)) },
    }),
  }),
  resources_read: (random) => ({
    path: "/mcp",
    body: rpc("resources/read", {
      uri: random.pick([longUri(random), `workspace:///hostile/${random.int(12)}.txt`, hostileText(random, 500_000)]),
    }),
  }),
  resources_list_made_up: (random) => ({
    path: "/mcp",
    body: rpc("resources/list", { cursor: hostileText(random, random.pick([10, 500_000])) }),
  }),
  prompts_get: (random) => ({
    path: "/mcp",
    body: rpc("prompts/get", { name: "x", arguments: { a: hostileText(random, 500_000) } }),
  }),
  cancelled: (random) => ({
    path: "/mcp",
    body: { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: hostileText(random, 100_000) } },
  }),
  response: (random) => ({ path: "/mcp", body: { jsonrpc: "2.0", id: hostileText(random, 100_000), result: {} } }),
  listen: (random) => ({
    ...modern("subscriptions/listen", {
      notifications: {
        resourcesListChanged: true,
        resourceSubscriptions: Array.from({ length: 200 }, () => longUri(random)),
        taskIds: Array.from({ length: 200 }, () => hostileText(random, 100)),
      },
    }),
    leaveAfterMilliseconds: 500,
  }),
  task_begun: (random) =>
    modern("tools/call", {
      name: "llm_generate",
      arguments: { prompt: hostileText(random, 1_000), max_tokens: 2_000, timeout_ms: 1_000 },
    }),
  tasks: (random) =>
    modern(random.pick(["tasks/get", "tasks/cancel", "tasks/update"]), {
      taskId: hostileText(random, random.pick([24, 100_000])),
      inputResponses: wide(random, 10_000),
    }),
  long_progress_token: (random) => ({
    path: "/mcp",
    body: rpc("tools/call", {
      name: "llm_generate",
      arguments: { prompt: "x", max_tokens: 50 },
      _meta: { progressToken: hostileText(random, random.pick([10, 500_000])) },
    }),
  }),
  stream: () => ({ path: "/mcp", method: "GET", leaveAfterMilliseconds: 300 }),
  headers: (random) => ({
    path: "/mcp",
    body: rpc("tools/list"),
    headers: {
      accept: Array(3_000).fill("a/b;q=0").join(","),
      cookie: Array(2_000).fill("a=b").join("; "),
      "x-forwarded-for": Array(1_000).fill("10.0.0.1").join(", "),
      forwarded: Array(500).fill("for=10.0.0.1").join(","),
      "mcp-session-id": "s".repeat(random.pick([1, 8_000])),
      traceparent: "0".repeat(2_000),
    },
  }),
};
