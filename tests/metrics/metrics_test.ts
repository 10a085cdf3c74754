import assert from "node:assert/strict";
import type { AuditEntry } from "../../src/mcp/runtime.ts";
import { createMetrics } from "../../src/audit/metrics.ts";

const entry: AuditEntry = {
  time: 0,
  requestId: "r",
  subject: "owner",
  clientId: "c",
  grantId: "g",
  method: "tools/call",
  tool: "file_read",
  outcome: "ok",
  code: null,
  durationMs: 3,
};
const gauges = {
  version: "1",
  openStreams: 2,
  cpuSeconds: 1.5,
  residentBytes: 3,
  heapUsedBytes: 4,
  startedAt: 6,
};

Deno.test("methods that do not exist count as one, so that no caller makes the label sets grow", () => {
  const metrics = createMetrics({ methods: ["tools/call"] });
  for (let number = 0; number < 1_000; number++) {
    metrics.countRequest({ ...entry, method: `made/up/${number}`, tool: null, outcome: "protocol_error" });
  }
  const text = metrics.expose(gauges);
  assert.match(text, /^portcullis_requests_total\{method="other",outcome="protocol_error"\} 1000$/m);
  assert.equal(text.match(/^portcullis_requests_total\{/gm)?.length, 1);
  assert.ok(!text.includes("made"));
});

Deno.test("a histogram's buckets hold what is at most their end, and the last holds all", () => {
  const metrics = createMetrics({ methods: ["tools/call"] });
  for (const durationMs of [0, 0.5, 0.75, 300_000, 600_000]) metrics.countRequest({ ...entry, durationMs });
  const text = metrics.expose(gauges);
  const buckets = [...text.matchAll(/_bucket\{tool="file_read",le="(.*?)"\} (\d+)$/gm)].map((
    [, le, count],
  ) => [le, count]);
  assert.deepEqual(buckets.slice(0, 3), [["0.0005", "2"], ["0.001", "3"], ["0.0025", "3"]]);
  assert.deepEqual(buckets.slice(-2), [["300", "4"], ["+Inf", "5"]]);
  assert.match(text, /_sum\{tool="file_read"\} 900\.00125$/m);
  assert.match(text, /_count\{tool="file_read"\} 5$/m);
});

Deno.test("the text follows format 0.0.4: each family once, with help and type before its samples, escaped labels", () => {
  const metrics = createMetrics({ methods: ["tools/call"] });
  metrics.countRequest(entry);
  metrics.countRequest({ ...entry, tool: 'odd"\\\n', outcome: "rate_limited" });
  const text = metrics.expose(gauges);
  assert.ok(text.endsWith("\n"));
  const described = new Set<string>();
  for (const line of text.trimEnd().split("\n")) {
    const type = /^# TYPE (\S+) (counter|gauge|histogram)$/.exec(line);
    if (type?.[1] !== undefined) {
      assert.ok(!described.has(type[1]), line);
      described.add(type[1]);
    } else if (!line.startsWith("# HELP ")) {
      const sample = /^([a-z_]+)(\{([a-z]+="([^"\\]|\\["\\n])*",?)+\})? (\d+(\.\d+)?|\+Inf)$/.exec(line);
      assert.ok(sample, line);
      const name = sample[1] ?? "";
      assert.ok(described.has(name) || described.has(name.replace(/_(bucket|sum|count)$/, "")), line);
    }
  }
  assert.match(text, /^portcullis_tool_calls_total\{tool="odd\\"\\\\\\n",outcome="rate_limited"\} 1$/m);
  assert.match(text, /^portcullis_rate_limited_total\{limit="tool_calls"\} 1$/m);
  assert.match(text, /^portcullis_tool_call_duration_seconds_bucket\{tool="file_read",le="0.0025"\} 0$/m);
  assert.match(text, /^portcullis_tool_call_duration_seconds_bucket\{tool="file_read",le="0.005"\} 1$/m);
  assert.match(text, /^portcullis_tool_call_duration_seconds_bucket\{tool="file_read",le="\+Inf"\} 1$/m);
});
