/** Log records on their way to a collector that works, fails, hangs, floods, or is not there. */
import assert from "node:assert/strict";
import { freePort } from "../fixtures/free_port.ts";
import { type CollectorFault, type OtlpCollector, startCollector } from "../fixtures/otlp_collector.ts";
import { until } from "../fixtures/until.ts";
import type { LogFields } from "../../src/lib/log.ts";
import { systemTimers } from "../../src/lib/time.ts";
import { createLogExport, type exportLimits, type LogExport, type LogRecord } from "../../src/audit/log_export.ts";

interface Line extends LogFields {
  readonly event: string;
}

const key = "KEY-TEXT";
const short = { firstPauseMs: 1, maxPauseMs: 10, maxAttempts: 3, maxRecordsAtOnce: 10, closeMs: 200 };

function exportTo(
  address: string | OtlpCollector,
  { limits = {}, timeoutMs = 60_000 }: { limits?: Partial<typeof exportLimits>; timeoutMs?: number } = {},
) {
  const origin = typeof address === "string" ? address : address.env["OTEL_EXPORTER_OTLP_ENDPOINT"];
  const lines: Line[] = [];
  const exporter = createLogExport({
    target: { url: `${origin}/v1/logs?key=${key}`, headers: [["x-key", key]], serviceName: "mine", timeoutMs },
    version: "1",
    instance: "i",
    fetch,
    timers: systemTimers,
    log: { write: (_, event, fields) => void lines.push({ ...fields, event }), flush() {} },
    limits: { ...short, ...limits },
  });
  return { exporter, lines, said: (event: string) => lines.filter((line) => line.event === event) };
}

function records(count: number, first = 0): LogRecord[] {
  return Array.from({ length: count }, (_, index) => ({
    time: 1_700_000_000_000 + index,
    body: `line ${first + index}`,
    attributes: { "a.text": 'with "quotes" \u2028 and \ud800', "a.number": 1.5, "a.none": null },
  }));
}

const settled = (exporter: LogExport) => until("all was sent or lost", () => exporter.state.waiting === 0);

Deno.test("records arrive whole and in order, with the service, the headers and nothing of what is absent", async () => {
  await using collector = startCollector();
  const { exporter, lines } = exportTo(collector);
  exporter.add(records(25));
  exporter.add(records(5, 25));
  await settled(exporter);
  assert.deepEqual(collector.logs.map(({ body }) => body), Array.from({ length: 30 }, (_, index) => `line ${index}`));
  const [first = assert.fail()] = collector.logs;
  assert.equal(first.service, "mine");
  assert.equal(first.time, 1_700_000_000_000);
  assert.deepEqual(first.attributes, { "a.text": 'with "quotes" \u2028 and \ufffd', "a.number": 1.5 });
  assert.equal(collector.logHeaders().get("x-key"), key);
  assert.equal(collector.logHeaders().get("content-type"), "application/json");
  assert.equal(exporter.state.sent, 30);
  assert.deepEqual(lines, []);
  await exporter.close();
});

const faults: readonly (readonly [CollectorFault, string, { readonly tries: number }])[] = [
  [{ kind: "status", status: 503 }, "it answers with status 503", { tries: 3 }],
  [{ kind: "status", status: 429, retryAfter: "86400" }, "it answers with status 429", { tries: 3 }],
  [{ kind: "status", status: 502, retryAfter: "Wed, 21 Oct 2099 07:28:00 GMT" }, "it answers with status 502", {
    tries: 3,
  }],
  [{ kind: "status", status: 500 }, "it answers with status 500", { tries: 1 }],
  [{ kind: "status", status: 401 }, "it answers with status 401", { tries: 1 }],
  [{ kind: "redirects", to: "http://127.0.0.1:1/elsewhere" }, "it answers with status 307", { tries: 1 }],
  [{ kind: "hangs" }, "it does not answer in time", { tries: 3 }],
];
for (const [fault, problem, { tries }] of faults) {
  const { kind } = fault;
  Deno.test(`a collector that ${JSON.stringify(fault)}: lines are counted as lost, and the next ones arrive`, async () => {
    await using collector = startCollector();
    const { exporter, lines, said } = exportTo(collector, kind === "hangs" ? { timeoutMs: 50 } : {});
    collector.fail(fault);
    exporter.add(records(3));
    await settled(exporter);
    assert.equal(collector.logRequests(), tries);
    assert.deepEqual([exporter.state.lost, exporter.state.problem], [3, problem]);
    assert.deepEqual(said("audit_export_failed").map((line) => line["problem"]), [problem]);
    assert.deepEqual(said("audit_export_lost").map((line) => line["lines"]), [3]);
    collector.fail(null);
    exporter.add(records(2));
    await settled(exporter);
    assert.deepEqual([exporter.state.sent, exporter.state.lost, exporter.state.problem], [2, 3, null]);
    assert.equal(said("audit_export_works").length, 1);
    assert.ok(!JSON.stringify(lines).includes(key));
    await exporter.close();
  });
}

Deno.test("what a collector says that it did not take counts as lost, however wrong the number is", async () => {
  await using collector = startCollector();
  const { exporter } = exportTo(collector);
  collector.fail({ kind: "rejects", count: 2 });
  exporter.add(records(5));
  await settled(exporter);
  assert.deepEqual([exporter.state.sent, exporter.state.lost], [3, 2]);
  collector.fail({ kind: "rejects", count: 1e9 });
  exporter.add(records(5));
  await settled(exporter);
  assert.deepEqual([exporter.state.sent, exporter.state.lost], [3, 7]);
  await exporter.close();
});

Deno.test("an answer without an end is not read to its end", async () => {
  await using collector = startCollector();
  const { exporter } = exportTo(collector);
  collector.fail({ kind: "floods" });
  exporter.add(records(5));
  await settled(exporter);
  assert.equal(exporter.state.sent, 5);
  await exporter.close();
});

Deno.test("a collector that is not there: the queue is bounded, and no address with its key is logged", async () => {
  const { exporter, lines, said } = exportTo(`http://127.0.0.1:${freePort()}`, { limits: { maxWaitingRecords: 40 } });
  exporter.add(records(100));
  assert.equal(exporter.state.waiting, 40);
  assert.equal(exporter.state.lost, 60);
  await settled(exporter);
  assert.deepEqual([exporter.state.lost, exporter.state.problem], [100, "it cannot be reached"]);
  await exporter.close();
  assert.equal(said("audit_export_lost").reduce((sum, line) => sum + Number(line["lines"]), 0), 100);
  assert.ok(!JSON.stringify(lines).includes(key));
});

Deno.test("the end of the server waits for a bounded time, and says what was lost", async () => {
  await using collector = startCollector();
  const { exporter, said } = exportTo(collector);
  collector.fail({ kind: "hangs" });
  exporter.add(records(35));
  await exporter.close();
  assert.deepEqual([exporter.state.lost, exporter.state.waiting], [35, 0]);
  assert.equal(said("audit_export_lost").reduce((sum, line) => sum + Number(line["lines"]), 0), 35);
});
