import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import fc from "fast-check";
import {
  type AuditLine,
  decodeLine,
  emptyLine,
  encodeLine,
  limitStrangers,
  lineOfLog,
  splitLines,
  touchedBy,
} from "../../src/audit/recorder.ts";
import { auditLineEnd, batchesKey, verifyAudit } from "../../src/audit/chain.ts";
import { type Storage, storageLimits } from "../../src/storage/port.ts";
import { until } from "../fixtures/until.ts";
import { createMemoryStorage } from "../mcp/memory_storage.ts";
import { auditPlace, secrets, start } from "./audit_place.ts";

Deno.test("a line is read as it was written, whatever a caller put into it", () => {
  const text = fc.option(fc.string({ unit: "binary", minLength: 1, maxLength: 150 }), { nil: null });
  const lines = fc.record({ person: text, client: text, tool: text, target: text, code: text, change: text });
  fc.assert(fc.property(lines, (fields) => {
    const line: AuditLine = { ...emptyLine, time: start, event: "call", durationMs: 1.25, ...fields };
    const encoded = encodeLine(line);
    assert.ok(encoded.indexOf(auditLineEnd) === encoded.length - 1 && JSON.stringify(encoded) === `"${encoded}"`);
    const expected = Object.fromEntries(
      Object.entries(line).map(([name, value]) => [name, typeof value === "string" ? value.toWellFormed() : value]),
    );
    assert.deepEqual(splitLines(encoded + encoded).map(decodeLine), [expected, expected]);
  }));
});

Deno.test("what a caller chose is cut, and holds no contents", () => {
  const long = "x".repeat(1_000_000);
  const line = encodeLine({ ...emptyLine, target: long, code: long });
  assert.ok(line.length < 500);
  for (
    const [input, touched] of [
      [{ path: "a.md" }, "a.md"],
      [{ filename: "a.md", content: "private" }, "a.md"],
      [{ path: "a.md", destination: "b.md" }, "a.md > b.md"],
      [{ destination: "new" }, "new"],
      [{ filename: "a", files: ["b", "c"] }, "a, b, c"],
      [{ files: [{ filename: "a", content: "private" }, { filename: "b", content: "" }] }, "a, b"],
      [{ edits: [{ path: "a", old_text: "private" }], path: "z" }, "z, a"],
      [{ files: ["a", "b", "c", "d", "e"] }, "a, b, c, and 2 more"],
      [{ filename: "a", edits: Array.from({ length: 20 }, () => ({ old_text: "x" })) }, "a"],
      [{ edits: Array.from({ length: 20 }, () => ({ path: "a", old_text: "x" })) }, "a"],
      [{ path: "a", edits: [{ path: "a" }, { path: "b" }, { path: "b" }] }, "a, b"],
      [{ table: "incident", id: "INC0010001", text: "private" }, "incident INC0010001"],
      [{ table: "incident", number: "INC1" }, "incident INC1"],
      [{ prompt: "private", model: "llama" }, "llama"],
      [{ prompt: "private", secret: "private" }, null],
      [{ path: 7, files: "x", edits: [null, 3] }, null],
      [[], null],
      ["private", null],
      [{ paths: ["a", "b"] }, "a, b"],
      [{ filename: "a", against: "b" }, "a, b"],
      [{ paths: ["a", "b"], destination: "d" }, "a, b > d"],
    ] as const
  ) assert.equal(touchedBy({ arguments: input }), touched);
  assert.equal(touchedBy({ uri: "file:///a.md" }), "file:///a.md");
  assert.equal(touchedBy(undefined), null);
  assert.ok((touchedBy({ arguments: { path: long } }) ?? "").length <= 200);
});

/** A storage whose commits can be made to fail. */
function losableStorage(): Storage & { isLost: boolean } {
  const storage = createMemoryStorage();
  const losable = {
    ...storage,
    isLost: false,
    commit: (batch: Parameters<Storage["commit"]>[0]) =>
      losable.isLost ? Promise.reject(new Error("the disk is full")) : storage.commit(batch),
  };
  return losable;
}

Deno.test("a batch fits into a stored value whatever characters its lines are of", async () => {
  const storage = createMemoryStorage();
  const place = auditPlace(storage);
  const recorder = place.recorder();
  for (const letter of ["a", "語", "é"]) {
    const target = letter.repeat(200);
    for (let at = 0; at < 2_500; at++) recorder.record({ ...emptyLine, time: start + at, event: "call", target });
    await recorder.flush();
  }
  await recorder.close();
  assert.deepEqual(place.logged, []);
  const { lines, problems } = await verifyAudit(place.parts);
  assert.deepEqual([lines, problems], [7_500, []]);
  const entries = await storage.list(batchesKey("1"), { limit: 100 });
  const sizes = entries.map(({ value }) => Buffer.byteLength(JSON.stringify(value)));
  assert.ok(sizes.length > 0 && Math.max(...sizes) < storageLimits.valueBytes, String(sizes));
});

Deno.test("lines wait for a storage that is lost, those over the bound are counted in a line", async () => {
  const storage = losableStorage();
  const place = auditPlace(storage);
  const recorder = place.recorder("first", 100);
  storage.isLost = true;
  for (let at = 0; at < 250; at++) recorder.record({ ...emptyLine, time: start + at, event: "call", target: `${at}` });
  const flushed = recorder.flush();
  await until("the failure to be logged", () => place.logged.some(({ event }) => event === "audit_not_stored"));
  storage.isLost = false;
  await flushed;
  const found = await place.search();
  assert.equal(found.length, 101);
  assert.deepEqual([found[0]?.event, found[0]?.code], ["audit_lines_lost", "150"]);
  assert.equal(found[1]?.target, "99");
  assert.deepEqual(place.logged.filter(({ event }) => event === "audit_lines_lost").map(({ fields }) => fields), [
    { lines: 150 },
  ]);
  await recorder.close();
  assert.deepEqual((await verifyAudit({ storage, secrets })).problems, []);
});

Deno.test("a close with a storage that is lost ends, and says how many lines are lost", async () => {
  const storage = losableStorage();
  const place = auditPlace(storage);
  const recorder = place.recorder();
  storage.isLost = true;
  recorder.record({ ...emptyLine, time: start, event: "call" });
  await recorder.close();
  assert.deepEqual(place.logged.map(({ event }) => event), ["audit_not_stored", "audit_lines_lost"]);
});

Deno.test("lines are stored by themselves after a second", async () => {
  const place = auditPlace(createMemoryStorage());
  const recorder = place.recorder();
  recorder.record({ ...emptyLine, time: start, event: "call" });
  await until("the line to be stored", async () => (await place.search()).length === 1);
  await recorder.close();
});

Deno.test("many lines at once become batches that one commit can hold", async () => {
  const place = auditPlace(createMemoryStorage());
  const recorder = place.recorder();
  for (let at = 0; at < 20_000; at++) {
    recorder.record({ ...emptyLine, time: start, event: "call", target: `ä${at} ${"z".repeat(150)}` });
  }
  await recorder.close();
  assert.equal((await place.search({}, 500)).length, 20_000);
  assert.deepEqual((await verifyAudit(place.parts)).problems, []);
});

Deno.test("what an administrator did is their line, also where it is about nobody", () => {
  const lines: AuditLine[] = [];
  const { record } = limitStrangers((line) => lines.push(line), () => start);
  for (let at = 0; at < 1_000; at++) record({ ...emptyLine, time: start, event: "sign_in", outcome: "refused" });
  const before = lines.length;
  for (const event of ["client_created", "client_approved", "client_removed", "invitation_withdrawn"]) {
    record(lineOfLog(start, event, { by: "owner", client: "c", outcome: "ok" }));
  }
  assert.deepEqual(lines.slice(before).map(({ person, target }) => [person, target]), Array(4).fill(["owner", null]));
  const { person, target } = lineOfLog(start, "user_changed", { by: "owner", user: "ada" });
  assert.deepEqual([person, target], ["ada", "by owner"]);
});

Deno.test("strangers fill little of the audit, and what is left out is counted", () => {
  const lines: AuditLine[] = [];
  let now = start;
  const { record, close } = limitStrangers((line) => lines.push(line), () => now);
  const refusal: AuditLine = { ...emptyLine, time: now, event: "sign_in", person: "ada", outcome: "refused" };
  for (let at = 0; at < 10_000; at++) record({ ...refusal, person: at % 2 === 0 ? null : "ada" });
  assert.equal(lines.length, 300);
  record({ ...refusal, outcome: "signed_in" });
  assert.equal(lines.length, 301);
  now += 12_000;
  record(refusal);
  assert.deepEqual(lines.slice(301).map(({ event, code }) => [event, code]), [
    ["audit_lines_skipped", "9700"],
    ["sign_in", null],
  ]);
  now += 3_600_000;
  for (let at = 0; at < 10_000; at++) record(refusal);
  assert.equal(lines.length, 303 + 300);
  for (let times = 0; times < 2; times++) close();
  assert.deepEqual(lines.slice(603).map(({ event, code }) => [event, code]), [["audit_lines_skipped", "9700"]]);
});
