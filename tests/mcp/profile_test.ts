/** ServiceNow's habits, and who gets them. */
import assert from "node:assert/strict";
import { z } from "zod";
import { createProfiles, serviceNowProfile, specProfile } from "../../src/mcp/revision.ts";
import type { Profile, ProfileOptions } from "../../src/mcp/revision.ts";
import { defineTool } from "../../src/mcp/tool.ts";
import { createToolRegistry } from "../../src/mcp/registry.ts";
import { createHarness, principalWith, rpc, toolCall } from "./harness.ts";

const clients: Readonly<Record<string, { readonly redirectHosts: readonly string[] }>> = {
  gpt: { redirectHosts: ["chatgpt.com"] },
  likeGpt: { redirectHosts: ["notchatgpt.com", "chatgpt.com.example"] },
  plain: { redirectHosts: ["claude.ai"] },
  now: { redirectHosts: ["dev1.service-now.com"] },
  likeNow: { redirectHosts: ["not-service-now.com", "service-now.com.example"] },
};

function profilesWith(options: Partial<ProfileOptions> = {}): ReturnType<typeof createProfiles> {
  return createProfiles({
    compatibility: "auto",
    findClient: (clientId) => Promise.resolve(clients[clientId] ?? null),
    toolFailureIsProtocolError: false,
    maxClients: 10,
    ...options,
  });
}

const as = (clientId: string) => ({ ...principalWith([]), clientId });

Deno.test("a client's profile is COMPATIBILITY's, or follows from its redirect hosts and name", async () => {
  const auto = profilesWith();
  const spec = profilesWith({ compatibility: "spec" });
  const all = profilesWith({ compatibility: "servicenow" });
  const name = async (profile: Profile | Promise<Profile>): Promise<string> => (await profile).name;
  const cases: [string, string, string, string][] = [
    ["plain", "spec", "spec", "servicenow"],
    ["now", "servicenow", "spec", "servicenow"],
    ["likeNow", "spec", "spec", "servicenow"],
    ["unknown", "spec", "spec", "servicenow"],
    ["gpt", "chatgpt", "spec", "servicenow"],
    ["likeGpt", "spec", "spec", "servicenow"],
  ];
  for (const [clientId, ...names] of cases) {
    assert.deepEqual(await Promise.all([auto, spec, all].map((each) => name(each.of(as(clientId))))), names, clientId);
  }
  assert.deepEqual([auto, spec, all].map(({ publicProfile }) => publicProfile.name), [
    "servicenow",
    "spec",
    "servicenow",
  ]);
  auto.noteName(as("plain"), "ServiceNow Universal MCP Client");
  for (const profiles of [spec, all]) profiles.noteName(as("plain"), "ServiceNow");
  assert.equal(await name(auto.of(as("plain"))), "servicenow");
  assert.deepEqual([await name(spec.of(as("plain"))), await name(all.of(as("plain")))], ["spec", "servicenow"]);
});

Deno.test("clients are looked up once, and forgotten when there are too many", async () => {
  let asked = 0;
  const profiles = profilesWith({
    maxClients: 2,
    findClient: () => {
      asked += 1;
      return Promise.resolve(null);
    },
  });
  for (const clientId of ["a", "a", "b", "b", "c", "a"]) await profiles.of(as(clientId));
  assert.equal(asked, 4);
});

const picture = defineTool({
  name: "picture",
  title: "Picture",
  description: "Shows a picture, or fails.",
  scopes: [],
  annotations: {},
  input: z.object({ fail: z.boolean().optional().describe("Whether to fail") }),
  run: ({ fail }) =>
    fail
      ? { ok: false, code: "no", message: "No picture", partial: { content: [{ type: "text", text: "A frame" }] } }
      : { ok: true, content: [{ type: "image", data: "AA==", mimeType: "image/png" }] },
});

Deno.test("ServiceNow's answers: 200 for initialized, empty last cursor, media_type, no sessions, no streams", async () => {
  const tools = createToolRegistry([picture]);
  const harness = createHarness({ tools, profileOf: () => Promise.resolve(serviceNowProfile) });
  const initialized = await harness.post({ jsonrpc: "2.0", method: "notifications/initialized" });
  assert.equal(initialized.status, 200);
  assert.equal((await (await harness.post(rpc("tools/list"))).json()).result.nextCursor, "");
  const { result } = await (await harness.post(toolCall("picture"))).json();
  assert.deepEqual(result.content, [{ type: "image", data: "AA==", mimeType: "image/png", media_type: "image/png" }]);
  const get = new Request("http://host/mcp", {
    headers: { authorization: "Bearer all-scopes", accept: "text/event-stream" },
  });
  assert.equal((await harness.endpoint(get, { address: "" })).status, 405);
  const failed = (await (await harness.post(toolCall("picture", { fail: true }))).json()).result;
  assert.equal(failed.isError, true);
});

Deno.test("a client that calls itself ServiceNow has its habits from its handshake on", async () => {
  const profiles = profilesWith();
  const harness = createHarness({ profileOf: profiles.of, noteClient: profiles.noteName });
  const eventStream = { accept: "application/json, text/event-stream" };
  const params = { protocolVersion: "2025-06-18", clientInfo: { name: "Servicenow", version: "1" } };
  const response = await harness.post(rpc("initialize", params), eventStream);
  assert.equal(response.headers.get("mcp-session-id"), null);
  assert.equal((await response.json()).result.capabilities.tools.listChanged, false);
  assert.equal((await harness.post({ jsonrpc: "2.0", method: "notifications/initialized" })).status, 200);
});

Deno.test("a name changes the profile of its own token alone, and of no session that runs", async () => {
  const profiles = profilesWith();
  const tokenOf = (grantId: string) => ({ ...principalWith([]), clientId: "portcullis-cli", grantId });
  const [bridge, other] = [tokenOf("bridge"), tokenOf("other")];
  const name = async (profile: Profile | Promise<Profile>): Promise<string> => (await profile).name;
  assert.equal(profiles.noteName(other, "claude-code").name, "spec");
  assert.equal(profiles.noteName(bridge, "my servicenow bridge").name, "servicenow");
  assert.deepEqual([await name(profiles.of(bridge)), await name(profiles.of(other))], ["servicenow", "spec"]);
  assert.equal(await name(profiles.of(bridge, true)), "spec", "sessions have the specification's habits");
  assert.equal(profiles.noteName(bridge, "claude-code").name, "spec");
  assert.equal(await name(profiles.of(bridge)), "spec", "another program with the same token");
});

Deno.test("a session keeps its stream when another program with the same token calls itself ServiceNow", async () => {
  const profiles = profilesWith();
  const harness = createHarness({ profileOf: profiles.of, noteClient: profiles.noteName });
  const eventStream = { accept: "application/json, text/event-stream" };
  const initialize = (program: string) =>
    harness.post(
      rpc("initialize", { protocolVersion: "2025-06-18", clientInfo: { name: program, version: "1" } }),
      eventStream,
    );
  const session = (await initialize("claude-code")).headers.get("mcp-session-id") ?? assert.fail("no session");
  assert.equal((await initialize("my servicenow bridge")).headers.get("mcp-session-id"), null);
  const headers = { authorization: "Bearer all-scopes", accept: "text/event-stream", "mcp-session-id": session };
  const stream = await harness.endpoint(new Request("http://host/mcp", { headers }), { address: "" });
  assert.equal(stream.status, 200);
  await stream.body?.cancel();
  const list = await harness.post(rpc("tools/list"), { "mcp-session-id": session });
  assert.equal((await list.json()).result.nextCursor, undefined);
});

Deno.test("a program without a session keeps ServiceNow's habits while others with its token open sessions or speak 2026-07-28", async () => {
  const profiles = profilesWith();
  const tools = createToolRegistry([picture]);
  const harness = createHarness({ tools, profileOf: profiles.of, noteClient: profiles.noteName });
  const initialize = (program: string, accept: string) =>
    harness.post(rpc("initialize", { protocolVersion: "2025-06-18", clientInfo: { name: program, version: "1" } }), {
      accept,
    });
  const eventStream = "application/json, text/event-stream";
  const habitsOfBridge = async (): Promise<void> => {
    const { result } = await (await harness.post(rpc("tools/list"))).json();
    assert.equal(result.nextCursor, "");
    assert.equal((await harness.post({ jsonrpc: "2.0", method: "notifications/initialized" })).status, 200);
    const shown = await (await harness.post(toolCall("picture"))).json();
    assert.equal(shown.result.content[0].media_type, "image/png");
  };
  await initialize("my servicenow bridge", eventStream);
  for (const program of ["claude-code", "ChatGPT", "Copilot Studio"]) {
    assert.ok((await initialize(program, eventStream)).headers.get("mcp-session-id") !== null, program);
    await habitsOfBridge();
  }
  const modern = (await (await harness.modern("tools/call", { name: "picture", arguments: {} })).json()).result;
  assert.equal(modern.content[0].media_type, undefined, "a request of 2026-07-28 says itself whose it is");
  await habitsOfBridge();
  await initialize("scripts", "application/json");
  const { result } = await (await harness.post(rpc("tools/list"))).json();
  assert.equal(result.nextCursor, undefined, "two programs without sessions cannot be told apart");
});

Deno.test("each session keeps its own version and abilities, whatever others with the same token open", async () => {
  const harness = createHarness();
  const versions = ["2025-03-26", "2025-06-18", "2025-11-25"];
  const sessions = [];
  for (const version of versions) {
    const { "mcp-protocol-version": _named, ...headers } = await harness.openSession(version);
    sessions.push({ version, headers });
  }
  for (const { version, headers } of sessions.toReversed()) {
    const { result } = await (await harness.post(rpc("tools/list"), headers)).json();
    assert.equal(result.tools[0].title !== undefined, version !== "2025-03-26", version);
    const wrong = await (await harness.post(toolCall("echo", {}), headers)).json();
    assert.equal(wrong.error === undefined, version === "2025-11-25", version);
  }
});

Deno.test("a tool's failure as -32603 at HTTP 200 is opt-in", async () => {
  const profile = { ...serviceNowProfile, toolFailureIsProtocolError: true };
  const harness = createHarness({ tools: createToolRegistry([picture]), profileOf: () => profile });
  const response = await harness.post(toolCall("picture", { fail: true }, 3));
  assert.equal(response.status, 200);
  const error = { code: -32603, message: "Tool execution failed: No picture\n\nA frame" };
  assert.deepEqual(await response.json(), { jsonrpc: "2.0", id: 3, error });
  assert.deepEqual([harness.audit[0]?.outcome, harness.audit[0]?.code], ["tool_error", "no"]);
});

Deno.test("a tool is told when ServiceNow's client is about to give up, and never for a client of which that is not known", async () => {
  const patient = defineTool({
    name: "patient",
    title: "Patient",
    description: "Waits until its caller would give up.",
    scopes: [],
    annotations: {},
    input: z.object({ wait: z.boolean() }),
    async run({ wait }, { answerNow }) {
      if (wait) await new Promise((resolve) => answerNow.addEventListener("abort", resolve));
      return { ok: true, content: [{ type: "text", text: answerNow.aborted ? "in time" : "early" }] };
    },
  });
  const tools = createToolRegistry([patient]);
  const answerOf = async (profile: Profile, wait: boolean): Promise<string> => {
    const { post } = createHarness({ tools, profileOf: () => profile });
    return (await (await post(toolCall("patient", { wait }))).json()).result.content[0].text;
  };
  assert.equal(await answerOf({ ...serviceNowProfile, answerWithinMs: 10 }, true), "in time");
  assert.equal(await answerOf(serviceNowProfile, false), "early");
  assert.equal(await answerOf(specProfile, false), "early");
  assert.ok((serviceNowProfile.answerWithinMs ?? Infinity) < 30_000, "ServiceNow's client waits 30 s");
});
