import assert from "node:assert/strict";
import { createJsonLog } from "../../src/lib/json_log.ts";
import { until } from "../fixtures/until.ts";

Deno.test("the log writes one JSON line an event, keeps audit lines at every level, and drops what is below it", () => {
  const written: string[] = [];
  const log = createJsonLog({ write: (lines) => written.push(lines), level: "error", clock: () => 1_700_000_000_042 });
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
  const log = createJsonLog({ write: (lines) => written.push(lines), level: "info", clock: () => 0 });
  log.write("info", "one");
  log.write("info", "two");
  assert.equal(written.length, 0);
  await until("the lines", () => written.length > 0);
  assert.equal(written.length, 1);
  assert.equal(written[0]?.split("\n").length, 3);
});

Deno.test("LOG_FORMAT=text writes time, level, event and key=value on one line, whatever a value holds", () => {
  const written: string[] = [];
  const clock = (): number => 1_700_000_000_042;
  const log = createJsonLog({ write: (lines) => written.push(lines), level: "info", clock, format: "text" });
  log.write("audit", "request", { tool: "file_read", subject: null, durationMs: 1.23456, absent: undefined });
  log.write("info", "said", { what: "two words", empty: "", list: ["a", "b"], when: "12:30", yes: true });
  log.write("error", "hostile", { name: 'x\n2023 INFO forged a="b"', terminal: "\u001b[2J\u009b2J\u202e" });
  log.flush();
  assert.deepEqual(written.join("").split("\n"), [
    "2023-11-14T22:13:20.042Z AUDIT request tool=file_read subject=null durationMs=1.235",
    '2023-11-14T22:13:20.042Z INFO  said what="two words" empty="" list=["a","b"] when=12:30 yes=true',
    '2023-11-14T22:13:20.042Z ERROR hostile name="x\\n2023 INFO forged a=\\"b\\"" ' +
    'terminal="\\u001b[2J\\u009b2J\\u202e"',
    "",
  ]);
});
