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

Deno.test("traceContextOf() prefers what came with the message, and takes tracestate from where traceparent came from", () => {
  const traceparent = `00-${traceId}-${spanId}-00`;
  const other = `00-${"a".repeat(32)}-${"b".repeat(16)}-01`;
  assert.deepEqual(contextOf({ traceparent }, { traceparent: other, tracestate: "a=1" }), {
    traceId,
    spanId,
    flags: "00",
    traceparent,
  });
  const fromHeader = contextOf({ traceparent: "no", tracestate: "b=2" }, { traceparent: other, tracestate: "a=1" });
  assert.deepEqual([fromHeader?.traceparent, fromHeader?.tracestate], [other, "a=1"]);
  assert.equal(contextOf({ tracestate: "a=1" }, { tracestate: "a=1" }), undefined);
});

Deno.test("traceContextOf() drops a tracestate that is not well-formed and keeps the traceparent (Trace Context §3.3)", () => {
  const members = (count: number): string => Array.from({ length: count }, (_, index) => `k${index}=v`).join(",");
  const cases: [string, boolean][] = [
    ["rojo=00f067aa0ba902b7,congo=t61rcWkgMzE", true],
    ["a=1, b=2\t,,c=3", true],
    ["tenant@system=x y!", true],
    ["1st=level 2", true],
    [members(32), true],
    [members(33), false],
    ["", false],
    ["A=1", false],
    ["a", false],
    ["a=", false],
    ["a=b=c", false],
    ["a=caf\u00e9", false],
    ["a=1\r\nx-forged: 1", false],
    [`${"k".repeat(257)}=1`, false],
    [`a=${"v".repeat(257)}`, false],
  ];
  for (const [tracestate, isKept] of cases) {
    const found = contextOf({ traceparent: `00-${traceId}-${spanId}-01`, tracestate }, {});
    assert.equal(found?.traceId, traceId);
    assert.equal(found?.tracestate, isKept ? tracestate : undefined, JSON.stringify(tracestate));
  }
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
