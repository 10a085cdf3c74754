import assert from "node:assert/strict";
import fc from "fast-check";
import { type AuditLine, createBatchEncoder, decodeLines, emptyLine, encodeLine } from "../../src/audit/line.ts";
import { lineCountOf } from "../../src/audit/chain.ts";
import { createMemoryStorage } from "../mcp/memory_storage.ts";
import { auditPlace, start } from "./audit_place.ts";

function textOf(lines: readonly AuditLine[]): string {
  const encoder = createBatchEncoder();
  return lines.map(encoder.encode).join("");
}

Deno.test("a batch is read as it was written, whoever called what, and whatever a caller put into it", () => {
  const few = fc.constantFrom(null, "a", "b", "%25", "%%1", "|%%0", "1");
  const any = fc.option(fc.string({ unit: "binary", minLength: 1, maxLength: 50 }), { nil: null });
  const line = fc.record({
    time: fc.integer({ min: 0, max: start }),
    event: fc.constantFrom("", "call", "sign_in"),
    ...{ person: few, client: few, grant: few, tool: few, address: few, outcome: few, code: few },
    ...{ target: any, change: any, requestId: fc.oneof(any, few) },
    durationMs: fc.constantFrom(null, 0, 1.25),
  });
  fc.assert(fc.property(fc.array(line, { maxLength: 60 }), (fields) => {
    const lines = fields.map((each): AuditLine => ({ ...emptyLine, ...each }));
    const text = textOf(lines);
    assert.equal(JSON.stringify(text), `"${text}"`);
    assert.equal(lineCountOf({ from: 0, prev: "", lines: text }), lines.length);
    const wellFormed = (value: unknown): unknown => typeof value === "string" ? value.toWellFormed() : value;
    const expected = lines.map((each) =>
      Object.fromEntries(Object.entries(each).map(([name, value]) => [name, wellFormed(value)]))
    );
    assert.deepEqual(decodeLines(text), expected);
  }));
});

Deno.test("a batch names who called only once, for as many callers as it keeps in mind", () => {
  const lines = Array.from({ length: 3_000 }, (_, at): AuditLine => ({
    ...emptyLine,
    time: start + at,
    event: "call",
    person: `person-${at % 1_000}`,
    grant: `grant-${at % 1_000}`,
    outcome: "ok",
  }));
  const text = textOf(lines);
  assert.deepEqual(decodeLines(text), lines);
  assert.equal(text.split("person-7|").length, 2);
  assert.equal(text.split("person-999|").length, 4);
  const tools = lines.map((line, at) => ({ ...line, person: "owner", grant: "one", tool: `tool-${at % 100}` }));
  assert.deepEqual(decodeLines(textOf(tools)), tools);
});

Deno.test("lines that each spell everything, as they were stored before, are read beside those that do not", () => {
  const line: AuditLine = { ...emptyLine, time: start, event: "call", person: "owner", tool: "echo", requestId: "1" };
  const before = [`${encodeLine(line)}~`, `${encodeLine({ ...line, target: "100%" })}~`].join("");
  assert.deepEqual(decodeLines(before), [line, { ...line, target: "100%" }]);
});

Deno.test("a search finds the same lines in a batch of many callers as one that looks at each line", async () => {
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
