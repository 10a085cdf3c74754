import assert from "node:assert/strict";
import type { AuditEntry } from "../../src/mcp/call.ts";
import { createMetrics, expose } from "../../src/audit/metrics.ts";
import { observeStorage } from "../../src/audit/observed_storage.ts";
import { openSqliteStorage } from "../../src/storage/sqlite_storage.ts";
import { createRecordingTracer } from "../fixtures/recording_tracer.ts";
import { makeServerPlace } from "../fixtures/running_server.ts";
import type { Storage } from "../../src/storage/port.ts";

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
  heapTotalBytes: 5,
  startedAt: 6,
};

Deno.test("methods that do not exist count as one, so that no caller makes the label sets grow", () => {
  const metrics = createMetrics({ methods: ["tools/call"] });
  for (let number = 0; number < 1_000; number++) {
    metrics.countRequest({ ...entry, method: `made/up/${number}`, tool: null, outcome: "protocol_error" });
  }
  const text = expose(metrics, gauges);
  assert.match(text, /^portcullis_requests_total\{method="other",outcome="protocol_error"\} 1000$/m);
  assert.equal(text.match(/^portcullis_requests_total\{/gm)?.length, 1);
  assert.ok(!text.includes("made"));
});

Deno.test("a histogram's buckets hold what is at most their end, and the last holds all", () => {
  const metrics = createMetrics({ methods: ["tools/call"] });
  for (const durationMs of [0, 0.5, 0.75, 300_000, 600_000]) metrics.countRequest({ ...entry, durationMs });
  const text = expose(metrics, gauges);
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
  const text = expose(metrics, gauges);
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

Deno.test("a lost database counts as a storage error, a caller's mistake does not, and both still reject", async () => {
  let errors = 0;
  const failing = (error: Error): Storage => {
    const reject = () => Promise.reject(error);
    const changeCount = () => {
      throw error;
    };
    const watch = () => () => {};
    return {
      get: reject,
      list: reject,
      commit: reject,
      consume: reject,
      sweep: reject,
      close: reject,
      changeCount,
      watch,
    };
  };
  const lost = observeStorage(failing(new Error("connection lost")), { onError: () => errors++ });
  const operations: (() => unknown)[] = [
    () => lost.get(["a"]),
    () => lost.list(["a"], { limit: 1 }),
    () => lost.commit({}),
    () => lost.consume(["a"]),
    () => lost.sweep(0),
    () => lost.changeCount(),
  ];
  for (const operation of operations) await assert.rejects(async () => await operation(), /connection lost/);
  assert.equal(errors, operations.length);
  await assert.rejects(observeStorage(failing(new RangeError("too large")), { onError: () => errors++ }).commit({}));
  assert.equal(errors, operations.length);
});

Deno.test("a storage's spans name operation, family and failure, never a key or a value; a version check is no span", async () => {
  const { tracer, spans } = createRecordingTracer();
  await using place = await makeServerPlace();
  await Deno.mkdir(place.dataDir, { recursive: true });
  const base = openSqliteStorage({ path: `${place.dataDir}/a.db`, clock: Date.now });
  const storage = observeStorage(base, { tracer });
  await storage.commit({ puts: [{ key: ["grant", "SECRET"], value: "SECRET" }, { key: ["grant", "b"], value: 1 }] });
  await storage.commit({ puts: [{ key: ["grant", "c"], value: 1 }], deletes: [["code", "SECRET"]] });
  await storage.commit({ checks: [{ key: ["grant", "c"], version: null }], deletes: [["grant", "c"]] });
  await storage.get(["grant", "SECRET"]);
  await storage.list(["grant"], { limit: 1 });
  await storage.consume(["grant", "SECRET"]);
  await storage.changeCount();
  await storage.sweep(0);
  await assert.rejects(storage.commit({ puts: [{ key: ["grant", "\ud800"], value: 1 }] }), TypeError);
  await storage.close();
  assert.deepEqual(spans.map(({ name, failure }) => [name, failure]), [
    ["commit grant", undefined],
    ["commit", undefined],
    ["commit grant", undefined],
    ["get grant", undefined],
    ["list grant", undefined],
    ["consume grant", undefined],
    ["sweep", undefined],
    ["commit grant", "TypeError"],
  ]);
  assert.deepEqual(spans[0]?.attributes, {
    "db.system.name": "sqlite",
    "db.operation.name": "commit",
    "db.collection.name": "grant",
    "db.operation.batch.size": 2,
  });
  assert.ok(spans.every(({ isOver, kind }) => isOver && kind === "client"));
  assert.ok(!JSON.stringify(spans).includes("SECRET"));
});
