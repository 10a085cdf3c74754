/** Prometheus metrics of a server as it is started. */
import assert from "node:assert/strict";
import { needing } from "../fixtures/forms/chosen_form.ts";
import { postMcp } from "../fixtures/mcp_call.ts";
import { makeServerPlace, runCommand, type RunningServer, startServer } from "../fixtures/running_server.ts";
import { until } from "../fixtures/until.ts";

const inOneProcess = needing("one process");

/** Where the server said that its metrics are. */
async function metricsUrl(server: RunningServer): Promise<string> {
  const line = await until(
    "the line about metrics",
    () => server.stderr().split("\n").slice(0, -1).find((text) => text.includes('"metrics_listening"')),
  );
  return `http://127.0.0.1:${JSON.parse(line).port}/metrics`;
}

async function scrape(url: string): Promise<Map<string, number>> {
  const response = await fetch(url);
  assert.equal(response.status, 200);
  assert.equal(response.headers.get("content-type"), "text/plain; version=0.0.4; charset=utf-8");
  const lines = (await response.text()).split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  return new Map(lines.map((line) => {
    const at = line.lastIndexOf(" ");
    return [line.slice(0, at), Number(line.slice(at + 1))];
  }));
}

inOneProcess.test("METRICS_PORT serves counts of requests, tools, refusals, streams and memory, on its own address behind the wall", async () => {
  await using place = await makeServerPlace();
  const { stdout } = await runCommand(["token", "create", "--scope", "files:read", "--data-dir", place.dataDir]);
  const token = stdout.trim();
  await using server = await startServer(place, {
    env: { METRICS_PORT: "0", MCP_RATE_LIMIT: "8", ALLOWED_HOSTS: "prometheus.example:9464" },
    bounds: { healthChecksPerMinute: 1 },
  });
  const url = await metricsUrl(server);
  assert.equal((await scrape(url)).get("portcullis_open_streams"), 0);

  const session = await sessionStream(server.url, token);
  const stream = await fetch(`${server.url}/mcp`, session);
  assert.equal(stream.status, 200);
  assert.equal((await scrape(url)).get("portcullis_open_streams"), 1);
  await stream.body?.cancel();
  await Deno.writeTextFile(`${place.workspaceDir}/a.txt`, "a");
  const call = async (name: string, input: object): Promise<number> => {
    const message = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name, arguments: input } };
    const response = await postMcp(server.url, message, { token });
    await response.body?.cancel();
    return response.status;
  };
  await call("file_read", { filename: "a.txt" });
  await call("file_read", { filename: "gone.txt" });
  await call("file_write", { filename: "b.txt", content: "b" }); // not in scope
  await (await postMcp(server.url, { jsonrpc: "2.0", id: 1, method: "made/up" }, { token })).body?.cancel();
  await call("no_such_tool_7", {});
  await call("file_list", {});
  assert.equal(await call("file_list", {}), 429);
  await (await postMcp(server.url, { jsonrpc: "2.0", id: 1, method: "ping" }, { token: "wrong" })).body?.cancel();
  for (let times = 0; times < 3; times++) await (await fetch(`${server.url}/health`)).body?.cancel();

  await (await fetch(`${server.url}/oauth/token`, { method: "POST", body: new URLSearchParams() })).body?.cancel();
  await (await fetch(`${server.url}/made-up`)).body?.cancel();

  const counts = await scrape(url);
  const expected: [string, number][] = [
    ['portcullis_tool_calls_total{tool="file_read",outcome="ok"}', 1],
    ['portcullis_tool_calls_total{tool="file_read",outcome="tool_error"}', 1],
    ['portcullis_tool_calls_total{tool="file_write",outcome="insufficient_scope"}', 1],
    ['portcullis_tool_calls_total{tool="file_list",outcome="ok"}', 1],
    ['portcullis_tool_calls_total{tool="file_list",outcome="rate_limited"}', 1],
    ['portcullis_tool_call_duration_seconds_count{tool="file_read"}', 2],
    ['portcullis_tool_call_duration_seconds_bucket{tool="file_read",le="+Inf"}', 2],
    ['portcullis_requests_total{method="tools/call",outcome="ok"}', 2],
    ['portcullis_requests_total{method="tools/call",outcome="protocol_error"}', 1],
    ['portcullis_requests_total{method="other",outcome="protocol_error"}', 1],
    ['portcullis_rate_limited_total{limit="tool_calls"}', 1],
    ['portcullis_rate_limited_total{limit="health"}', 2],
    ["portcullis_refused_tokens_total", 1],
  ];
  for (const [name, count] of expected) assert.equal(counts.get(name), count, name);
  assert.ok((counts.get("process_resident_memory_bytes") ?? 0) > 10_000_000);
  assert.ok(Math.abs((counts.get("process_start_time_seconds") ?? 0) - Date.now() / 1_000) < 60);
  assert.ok((counts.get("process_cpu_seconds_total") ?? 0) > 0);
  assert.deepEqual(Array.from(counts.keys()).filter((name) => /no_such_tool|made/.test(name)), []);

  const other = await fetch(new URL("/", url));
  assert.deepEqual([other.status, await other.text()], [404, "See /metrics\n"]);
  const posted = await fetch(url, { method: "POST" });
  await posted.body?.cancel();
  assert.equal(posted.status, 405);
  assert.equal(await statusWithHost(url, "rebound.example"), 403);
  assert.equal(await statusWithHost(url, "prometheus.example:9464"), 200);
  const onMain = await fetch(`${server.url}/metrics`);
  await onMain.body?.cancel();
  assert.equal(onMain.status, 404);
  assert.equal((await server.stop()).code, 0);
});

/** The request for a session's stream of notices. */
async function sessionStream(url: string, token: string): Promise<RequestInit> {
  const opened = await postMcp(url, {
    jsonrpc: "2.0",
    id: 1,
    method: "initialize",
    params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "test", version: "1" } },
  }, { token });
  await opened.body?.cancel();
  return {
    headers: {
      accept: "text/event-stream",
      authorization: `Bearer ${token}`,
      "mcp-session-id": opened.headers.get("mcp-session-id") ?? "",
      "mcp-protocol-version": "2025-11-25",
    },
  };
}

/** The status of a request under another Host, which fetch would not send. */
async function statusWithHost(url: string, host: string): Promise<number> {
  using connection = await Deno.connect({ hostname: "127.0.0.1", port: Number(new URL(url).port) });
  const request = `GET /metrics HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`;
  await connection.write(new TextEncoder().encode(request));
  const buffer = new Uint8Array(1_024);
  const count = await connection.read(buffer) ?? 0;
  return Number(new TextDecoder().decode(buffer.subarray(0, count)).split(" ")[1]);
}

needing("flags").test(
  "without METRICS_PORT nothing listens for metrics, and a taken port stops the start with what to do",
  async () => {
    await using place = await makeServerPlace();
    await using server = await startServer(place);
    assert.ok(!server.stderr().includes("metrics_listening"));
    const { port } = new URL(server.url);
    await using elsewhere = await makeServerPlace();
    const { code, stderr } = await runCommand(["serve", "--port", "0"], {
      env: { DATA_DIR: elsewhere.dataDir, WORKSPACE_DIR: elsewhere.workspaceDir, METRICS_PORT: port },
    });
    assert.equal(code, 1);
    assert.match(
      stderr,
      /cannot listen on 127\.0\.0\.1 port \d+ for metrics: .*\nhint: choose another with METRICS_PORT/,
    );
  },
);
