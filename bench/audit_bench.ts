/**
 * `deno task bench audit`: what the stored audit costs. Recording a line (what a call pays), writing it in the background,
 * and the processor time of one page of a search among a million lines. BENCH_LINES and BENCH_LINES_OF_BATCH change the store.
 */
import process from "node:process";
import { createAuditRecorder, emptyLine, encodeLine, lineOfRequest, searchAudit } from "../src/audit/recorder.ts";
import type { AuditFilter } from "../src/audit/recorder.ts";
import { createChainWriter, readCallsOfDay, verifyAudit } from "../src/audit/chain.ts";
import { createSecretBox } from "../src/lib/secrets.ts";
import type { Storage } from "../src/storage/port.ts";
import { openSqliteStorage } from "../src/storage/sqlite_storage.ts";
import { print } from "./table.ts";

const lines = Number(process.env["BENCH_LINES"] ?? "1000000");
const linesOfBatch = Number(process.env["BENCH_LINES_OF_BATCH"] ?? "100");
const day = 86_400_000;
const begin = Date.now() - 10 * day;
const step = 10 * day / lines;

const directory = await Deno.makeTempDir({ prefix: "portcullis-audit-bench-" });
try {
  let now = begin;
  const log = { write: () => {}, flush() {} };
  const storage = openSqliteStorage({ path: `${directory}/audit.db`, clock: () => now });
  const secrets = createSecretBox(new Uint8Array(32).fill(1));
  const parts = { storage, secrets, clock: () => now, log };
  const stopped = { elapsed: () => 0, after: () => () => {}, every: () => () => {} }; // nothing is written
  const options = { ...parts, holder: "recording", maxWaitingLines: 2_000_000, timers: stopped };
  measureRecording(createAuditRecorder(options));

  const writer = createChainWriter(parts, "bench");
  let encoding = 0;
  let storing = 0;
  for (let at = 0; at < lines; at += linesOfBatch) {
    const encodingFrom = process.cpuUsage();
    let text = "";
    for (let line = at; line < at + linesOfBatch; line++) text += encodeLine(lineAt(line));
    encoding += spent(encodingFrom);
    now = begin + (at + linesOfBatch) * step;
    const storingFrom = process.cpuUsage();
    await writer.add({ from: begin + at * step, lines: text, count: linesOfBatch, calls: { ok: linesOfBatch } });
    storing += spent(storingFrom);
  }
  await writer.release();
  const { size } = await Deno.stat(`${directory}/audit.db`);
  print(`${lines} lines in batches of ${linesOfBatch}: ${Math.round(size / lines)} bytes a line in the database\n`);
  print(`in the background, a line: ${micro(encoding)} us to encode, ${micro(storing)} us to store\n\n`);

  print("one page of 50 lines           CPU ms: first  longest  pages  found\n");
  await search(storage, "newest", {});
  await search(storage, "one person of 200", { person: "person-17" });
  await search(storage, "one tool of 20", { tool: "tool_7" });
  await search(storage, "refused (1 %)", { outcome: "refused" });
  await search(storage, "one file of 100,000", { target: ["file-77777.md"] });
  await search(storage, "a file that is not there", { target: ["nowhere"] });
  await search(storage, "an hour, nine days ago", { since: begin + day, until: begin + day + 3_600_000 });
  await search(storage, "one file, a day five days ago", {
    target: ["file-501"],
    since: begin + 5 * day,
    until: begin + 6 * day,
  });
  const counting = process.cpuUsage();
  const hours = await readCallsOfDay(storage, now);
  print(`calls of the last day: ${(spent(counting) / 1_000).toFixed(1)} ms for ${hours.length} hours\n`);
  const verifying = process.cpuUsage();
  const { problems } = await verifyAudit(parts);
  print(`verify: ${(spent(verifying) / 1_000_000).toFixed(1)} s, ${problems.length} problems\n`);
  await storage.close();
} finally {
  await Deno.remove(directory, { recursive: true });
}

async function search(storage: Storage, name: string, filter: AuditFilter): Promise<void> {
  const page = async (cursor?: string) => {
    const from = process.cpuUsage();
    const found = await searchAudit(storage, filter, { limit: 50, cursor });
    return { ...found, milliseconds: spent(from) / 1_000 };
  };
  await page(); // warm
  const first = await page();
  let [longest, pages, found] = [first.milliseconds, 1, first.lines.length];
  for (let { cursor } = first; cursor !== null && pages < 100;) {
    const next = await page(cursor);
    longest = Math.max(longest, next.milliseconds);
    found += next.lines.length;
    pages += 1;
    cursor = next.cursor;
  }
  print(
    `${name.padEnd(36)}${first.milliseconds.toFixed(1).padStart(8)}${longest.toFixed(1).padStart(9)}` +
      `${String(pages).padStart(7)}${String(found).padStart(7)}\n`,
  );
}

function measureRecording(recorder: ReturnType<typeof createAuditRecorder>): void {
  const count = 300_000;
  const params = { name: "file_read", arguments: { filename: "notes/a.md" } };
  const entry = {
    requestId: crypto.randomUUID(),
    subject: "owner",
    clientId: "client",
    grantId: "grant",
    method: "tools/call",
    tool: "file_read",
    outcome: "ok" as const,
    code: null,
    durationMs: 0.123,
  };
  for (let round = 0; round < 3; round++) {
    const from = process.cpuUsage();
    for (let at = 0; at < count; at++) recorder.record(lineOfRequest({ ...entry, time: at }, params));
    print(`recording a line, what a call pays: ${(spent(from) / count).toFixed(3)} us\n`);
  }
}

function lineAt(at: number) {
  const isRefused = at % 100 === 99;
  return {
    ...emptyLine,
    time: Math.round(begin + at * step),
    event: "call",
    person: `person-${at % 200}`,
    client: `client-${at % 500}`,
    grant: `Grant${"x".repeat(17)}${at % 500}`,
    tool: `tool_${at % 20}`,
    target: `projects/area-${at % 1_000}/file-${(at * 7_919) % 100_000}.md`,
    outcome: isRefused ? "insufficient_scope" : "ok",
    code: isRefused ? "insufficient_scope" : null,
    durationMs: (at % 1_000) / 7,
    requestId: crypto.randomUUID(),
  };
}

function spent(from: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(from);
  return user + system;
}

function micro(microseconds: number): string {
  return (microseconds / lines).toFixed(2);
}
