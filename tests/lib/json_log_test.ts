import assert from "node:assert/strict";
import { createJsonLog } from "../../src/lib/log.ts";
import { until } from "../fixtures/until.ts";

const decoder = new TextDecoder();
const textOf = (lines: Uint8Array): string => decoder.decode(lines);

Deno.test("the log writes one JSON line an event, keeps audit lines at every level, and drops what is below it", () => {
  const written: string[] = [];
  const log = createJsonLog({
    write: (lines) => void written.push(textOf(lines)),
    level: "error",
    clock: () => 1_700_000_000_042,
  });
  log.write("info", "not_kept");
  log.write("audit", "tool_call", { tool: "file_read", note: 'line\nbreak "quoted"' });
  log.write("error", "broken", { absent: undefined });
  log.flush();
  const lines = written.join("").trimEnd().split("\n").map((line) => JSON.parse(line));
  assert.deepEqual(lines, [
    {
      time: "2023-11-14T22:13:20.042Z",
      level: "audit",
      event: "tool_call",
      tool: "file_read",
      note: 'line\nbreak "quoted"',
    },
    { time: "2023-11-14T22:13:20.042Z", level: "error", event: "broken" },
  ]);
});

Deno.test("the log gathers lines and writes them by itself", async () => {
  const written: string[] = [];
  const log = createJsonLog({ write: (lines) => void written.push(textOf(lines)), level: "info", clock: () => 0 });
  log.write("info", "one");
  log.write("info", "two");
  assert.equal(written.length, 0);
  await until("the lines", () => written.length > 0);
  assert.equal(written.length, 1);
  assert.equal(written[0]?.split("\n").length, 3);
});

Deno.test("LOG_FORMAT=text writes time, level, event, key=value and the ids last on one line, whatever a value holds", () => {
  const written: string[] = [];
  const clock = (): number => 1_700_000_000_042;
  const log = createJsonLog({
    write: (lines) => void written.push(textOf(lines)),
    level: "info",
    clock,
    format: "text",
  });
  log.write("audit", "request", {
    requestId: "0a1b",
    subject: "owner",
    clientId: "pcc_2",
    tool: "file_read",
    code: null,
    durationMs: 1.23456,
    absent: undefined,
  });
  log.write("info", "said", { what: "two words", empty: "", list: ["a", "b"], when: "12:30", yes: true });
  log.write("error", "hostile", { name: 'x\n2023 INFO forged a="b"', terminal: "\u001b[2J\u009b2J\u202e" });
  log.flush();
  assert.deepEqual(written.join("").split("\n"), [
    "2023-11-14 22:13:20Z AUDIT request subject=owner tool=file_read durationMs=1.235 requestId=0a1b clientId=pcc_2",
    '2023-11-14 22:13:20Z INFO  said what="two words" empty="" list=["a","b"] when=12:30 yes=true',
    '2023-11-14 22:13:20Z ERROR hostile name="x\\n2023 INFO forged a=\\"b\\"" ' +
    'terminal="\\u001b[2J\\u009b2J\\u202e"',
    "",
  ]);
});

Deno.test("a log that is read slowly drops what is over its bound, counts it, and says so once it can write again", async () => {
  const written: string[] = [];
  let release = Promise.withResolvers<boolean>();
  const log = createJsonLog({
    write: (lines) => {
      written.push(textOf(lines));
      return release.promise;
    },
    level: "info",
    clock: () => 0,
  });
  const line = "x".repeat(1_000);
  const count = 5_000;
  for (let index = 0; index < count; index++) log.write("info", "line", { line });
  const bytesWaiting = written.join("").length;
  assert.ok(bytesWaiting < 380_000, "one batch is being written, the others wait");
  release.resolve(true);
  release = Promise.withResolvers<boolean>();
  release.resolve(true);
  await log.flush();
  const lines = written.join("").trimEnd().split("\n").map((text) => JSON.parse(text));
  const kept = lines.filter(({ event }) => event === "line").length;
  const dropped = lines.filter(({ event }) => event === "log_lines_dropped");
  assert.ok(kept < 1_600, "no more than a bounded queue is kept");
  assert.deepEqual(dropped.map((each) => each.lines), [count - kept]);
});

Deno.test("lines that came while others were written wait for their own time, or for a flush", async () => {
  const written: string[] = [];
  const releases: ((isWritten: boolean) => void)[] = [];
  const log = createJsonLog({
    write: (lines) => {
      written.push(textOf(lines));
      return new Promise((resolve) => releases.push(resolve));
    },
    level: "info",
    clock: () => 0,
  });
  log.write("info", "first");
  await until("the first line", () => written.length === 1);
  log.write("info", "second");
  releases[0]?.(true);
  for (let turn = 0; turn < 10; turn++) await Promise.resolve();
  assert.equal(written.length, 1);
  await until("the second line", () => written.length === 2);
  log.write("info", "third");
  const flushed = log.flush();
  log.write("info", "fourth");
  for (const release of releases) release(true);
  await until("the fourth line", () => written.length === 4);
  releases[3]?.(true);
  await flushed;
  assert.match(written.join(""), /first.*\n.*second.*\n.*third.*\n.*fourth/);
});

Deno.test("lines that could not be written are counted too, in whichever way the writing failed", async () => {
  const written: string[] = [];
  let fails = true;
  const log = createJsonLog({
    write: (lines) => {
      if (!fails) written.push(textOf(lines));
      return Promise.resolve(!fails);
    },
    level: "info",
    clock: () => 0,
  });
  log.write("info", "lost");
  log.write("info", "lost");
  await log.flush();
  log.write("info", "lost");
  await log.flush();
  fails = false;
  log.write("info", "kept");
  await log.flush();
  assert.deepEqual(written.join("").trimEnd().split("\n").map((text) => JSON.parse(text)), [
    { time: "1970-01-01T00:00:00.000Z", level: "info", event: "kept" },
    { time: "1970-01-01T00:00:00.000Z", level: "warn", event: "log_lines_dropped", lines: 3 },
  ]);
});

Deno.test("no reader of lines sees one JSON line as two, and no terminal obeys one: what is not printable is escaped", () => {
  const written: string[] = [];
  const log = createJsonLog({ write: (lines) => void written.push(textOf(lines)), level: "info", clock: () => 0 });
  const hostile = "a\u2028b\u2029c\u0085d\u009b2Je\u202ef\u007f";
  log.write("info", "hostile", { hostile, plain: "Grüße 漢字" });
  void log.flush();
  assert.doesNotMatch(written.join(""), /[\u007f-\u009f\u2028-\u202e]/);
  assert.match(written.join(""), /Grüße 漢字/);
  assert.equal(JSON.parse(written.join("")).hostile, hostile);
});
