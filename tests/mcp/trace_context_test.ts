import assert from "node:assert/strict";
import { traceContextOf } from "../../src/lib/tracer.ts";
import { postMcp } from "../fixtures/mcp_call.ts";
import { makeServerPlace, runCommand, startServer } from "../fixtures/running_server.ts";

const traceId = "4bf92f3577b34da6a3ce929d0e0e4736";
const spanId = "00f067aa0ba902b7";

function contextOf(meta: object | undefined, headers: Record<string, string>) {
  return traceContextOf(meta && { ...meta }, (name) => headers[name] ?? null);
}

Deno.test("traceContextOf() takes what Trace Context §3.2.2 calls valid, and nothing else", () => {
  const cases: [string, string | undefined][] = [
    [`00-${traceId}-${spanId}-01`, traceId],
    [`cc-${traceId}-${spanId}-01-later`, traceId],
    [`00-${traceId}-${spanId}-01-more`, undefined],
    [`ff-${traceId}-${spanId}-01`, undefined],
    [`00-${"0".repeat(32)}-${spanId}-01`, undefined],
    [`00-${traceId}-${"0".repeat(16)}-01`, undefined],
    [`00-${traceId.toUpperCase()}-${spanId}-01`, undefined],
    [`00-${traceId}-${spanId}`, undefined],
    [`00-${traceId}-${spanId}-01, 00-${traceId}-${spanId}-01`, undefined],
    ["", undefined],
  ];
  for (const [value, expected] of cases) {
    assert.equal(contextOf(undefined, { traceparent: value })?.traceId, expected, value);
    assert.equal(contextOf({ traceparent: value }, {})?.traceId, expected, value);
  }
  assert.equal(contextOf({ traceparent: 7 }, { traceparent: `00-${traceId}-${spanId}-01` })?.traceId, traceId);
});

Deno.test("traceContextOf() prefers what came with the message", () => {
  const traceparent = `00-${traceId}-${spanId}-00`;
  const other = `00-${"a".repeat(32)}-${"b".repeat(16)}-01`;
  assert.deepEqual(contextOf({ traceparent }, { traceparent: other }), {
    traceId,
    spanId,
    flags: "00",
    traceparent,
  });
  assert.equal(contextOf({ traceparent: "no" }, { traceparent: other })?.traceparent, other);
});

Deno.test("traceContextOf() passes a later version on as it came, unless that could break out of its header", () => {
  const later = `cc-${traceId}-${spanId}-01-more`;
  assert.equal(contextOf({ traceparent: later }, {})?.traceparent, later);
  for (const bad of ["\r\nx: y", " ", "\u00e9", "x".repeat(500)]) {
    assert.equal(contextOf({ traceparent: `${later}${bad}` }, {}), undefined, JSON.stringify(bad));
  }
});

Deno.test("the audit line names the trace that a request belongs to, and no trace for a request without one", async () => {
  await using place = await makeServerPlace();
  const { stdout } = await runCommand(["token", "create", "--scope", "files:read", "--data-dir", place.dataDir]);
  await using server = await startServer(place);
  const token = stdout.trim();
  for (const headers of [{ traceparent: `00-${traceId}-${spanId}-01` }, { traceparent: "00-\u0022forged" }, {}]) {
    const response = await postMcp(server.url, { jsonrpc: "2.0", id: 1, method: "ping" }, { token, headers });
    assert.equal(response.status, 200);
    await response.body?.cancel();
  }
  await server.stop();
  const lines = server.stderr().split("\n").filter((line) => line.includes('"event":"request"'));
  assert.deepEqual(lines.map((line) => JSON.parse(line).traceId), [traceId, undefined, undefined]);
});
