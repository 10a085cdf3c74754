import assert from "node:assert/strict";
import { type AuditLine, emptyLine, searchAudit } from "../../src/audit/recorder.ts";
import { createMemoryStorage } from "../mcp/memory_storage.ts";
import { auditPlace, start } from "./audit_place.ts";

Deno.test("a search finds the same lines in a large batch as one that looks at each line", async () => {
  const place = auditPlace(createMemoryStorage());
  const recorder = place.recorder();
  const lines = Array.from({ length: 2_000 }, (_, at): AuditLine => ({
    ...emptyLine,
    time: start + at,
    event: "call",
    person: `person-${at % 3}`,
    client: `client-${at % 5}`,
    grant: `grant-${at % 15}`,
    tool: `tool-${at % 7}`,
    target: `file-${at % 11}.md`,
    outcome: at % 13 === 0 ? "tool_error" : "ok",
    requestId: String(at),
  }));
  for (const line of lines) recorder.record(line);
  await recorder.close();
  const tried = [
    [{}, () => true],
    [{ person: "person-1" }, ({ person }: AuditLine) => person === "person-1"],
    [
      { client: "client-4", tool: "tool-6" },
      ({ client, tool }: AuditLine) => client === "client-4" && tool === "tool-6",
    ],
    [
      { outcome: "failed", person: "person-2" },
      (line: AuditLine) => line.outcome === "tool_error" && line.person === "person-2",
    ],
    [
      { target: ["file-1"], tool: "tool-0" },
      ({ target, tool }: AuditLine) => target?.includes("file-1") && tool === "tool-0",
    ],
    [{ since: start + 500, until: start + 510 }, ({ time }: AuditLine) => time >= start + 500 && time <= start + 510],
    [{ target: ["person-1"] }, () => false],
  ] as const;
  for (const [filter, fits] of tried) {
    const found = (await place.search(filter, 37)).map(({ instance: _, batch: __, ...line }) => line);
    assert.deepEqual(found, lines.filter(fits).reverse(), JSON.stringify(filter));
  }
});

Deno.test("a search up to a time begins near it, however many newer batches there are", async () => {
  const storage = createMemoryStorage();
  const place = auditPlace(storage);
  const recorder = place.recorder();
  await place.write(recorder, Array.from({ length: 1_000 }, (_, at) => ({ target: `${at}` })));
  await recorder.close();
  let reads = 0;
  const counting = {
    ...storage,
    get: (key: Parameters<typeof storage.get>[0]) => (reads++, storage.get(key)),
    list: (...given: Parameters<typeof storage.list>) => (reads++, storage.list(...given)),
  };
  for (const at of [0, 1, 499, 998, 999]) {
    reads = 0;
    const found = await searchAudit(counting, { until: start + (at + 1) * 1_000 }, { limit: 1 });
    assert.deepEqual(found.lines.map(({ target }) => target), [`${at}`]);
    assert.ok(reads < 20, `${reads} reads`);
  }
  assert.deepEqual((await searchAudit(counting, { until: start }, { limit: 1 })).lines, []);
});

Deno.test("a search up to a time finds every line until then, also of hours that a clock lived twice", async () => {
  const place = auditPlace(createMemoryStorage());
  const recorder = place.recorder();
  const times = [0, 60, 61, 5, 6, 61, 62, 3, 120, 121].map((minutes) => start + minutes * 60_000);
  for (const [at, time] of times.entries()) {
    recorder.record({ ...emptyLine, time, event: "call", target: `${at}` });
    await recorder.flush();
  }
  for (const until of [...times, start + 59 * 60_000, start + 119 * 60_000]) {
    const found = (await place.search({ until }, 3)).map(({ target }) => target).sort();
    assert.deepEqual(found, times.flatMap((time, at) => time <= until ? `${at}` : []), `${(until - start) / 60_000}`);
    const since = (await place.search({ since: until }, 3)).map(({ target }) => target).sort();
    assert.deepEqual(since, times.flatMap((time, at) => time >= until ? `${at}` : []), `${(until - start) / 60_000}`);
  }
  await recorder.close();
});

Deno.test("a cursor that is none of ours begins anew or ends, and never rejects", async () => {
  const place = auditPlace(createMemoryStorage());
  await place.write(place.recorder(), [{ target: "a" }, { target: "b" }]);
  for (
    const value of [[1e300, 0], [-1, 0], [0.5, 0], [1, 1e300], ["1", 0], [Number.MAX_SAFE_INTEGER, 0], null, [0, 0]]
  ) {
    const cursor = Buffer.from(JSON.stringify({ 1: value })).toString("base64url");
    const { lines } = await searchAudit(place.parts.storage, {}, { limit: 10, cursor });
    assert.ok(lines.length <= 2, JSON.stringify(value));
  }
});
