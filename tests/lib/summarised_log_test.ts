import assert from "node:assert/strict";
import { type Log, type LogFields, summariseStrangers } from "../../src/lib/log.ts";

interface Line {
  readonly event: string;
  readonly fields: LogFields | undefined;
}

function record(): { lines: Line[]; log: Log } {
  const lines: Line[] = [];
  return { lines, log: { write: (_level, event, fields) => void lines.push({ event, fields }), flush() {} } };
}

const refusal = (address: string, reason = "expired_token") => ({ address, reason });

Deno.test("of a stranger's lines the first of each kind is written, the others are counted", () => {
  const { lines, log } = record();
  const summarised = summariseStrangers(log, { windowMs: 60_000, maxKinds: 100, maxLines: 1 });
  for (let request = 0; request < 1_000; request++) summarised.write("warn", "token_refused", refusal("192.0.2.1"));
  summarised.write("warn", "token_refused", refusal("192.0.2.1", "bad_signature"));
  summarised.write("warn", "token_refused", refusal("2001:db8::1"));
  summarised.write("warn", "token_refused", refusal("2001:db8::2")); // the same network: one host fills it at will
  assert.deepEqual(lines.map(({ fields }) => fields), [
    refusal("192.0.2.1"),
    refusal("192.0.2.1", "bad_signature"),
    refusal("2001:db8::1"),
  ]);
  summarised.close();
  assert.deepEqual(lines.slice(3).map(({ fields }) => [fields?.["address"], fields?.["repeated"]]), [
    ["192.0.2.1", 999],
    ["2001:db8::1", 1],
  ]);
  summarised.write("warn", "token_refused", refusal("192.0.2.1"));
  assert.deepEqual(lines.at(-1)?.fields, refusal("192.0.2.1")); // a window later it is new again
  summarised.close();
});

Deno.test("the first few of a kind are written whole, so that each refusal of an honest mistake can be read", () => {
  const { lines, log } = record();
  const summarised = summariseStrangers(log, { windowMs: 60_000, maxKinds: 100, maxLines: 3 });
  for (let id = 1; id <= 5; id++) {
    summarised.write("audit", "token", { outcome: "refused", requestId: `r${id}`, ...refusal("192.0.2.1") });
  }
  summarised.close();
  assert.deepEqual(lines.map(({ fields }) => fields?.["requestId"] ?? fields?.["repeated"]), ["r1", "r2", "r3", 2]);
});

Deno.test("a stranger with a million addresses costs bounded memory and lines, and is counted whole", () => {
  const { lines, log } = record();
  const summarised = summariseStrangers(log, { windowMs: 60_000, maxKinds: 50, maxLines: 1 });
  for (let host = 0; host < 10_000; host++) {
    summarised.write("audit", "token", { outcome: "refused", ...refusal(`10.0.${host >> 8}.${host & 255}`) });
  }
  summarised.close();
  assert.equal(lines.length, 51);
  assert.deepEqual(lines.at(-1)?.fields, {
    outcome: "refused",
    reason: "several",
    address: "several",
    repeated: 9_950,
  });
});

Deno.test("what a person did, and every error, is written each time", () => {
  const { lines, log } = record();
  const summarised = summariseStrangers(log, { windowMs: 60_000, maxKinds: 100, maxLines: 1 });
  const lists: Parameters<Log["write"]>[] = [
    ["audit", "sign_in", { outcome: "signed_in", user: "owner", address: "192.0.2.1" }],
    ["audit", "token", { outcome: "issued", grant: "g", address: "192.0.2.1" }],
    ["audit", "request", { subject: "owner", method: "tools/call", outcome: "ok" }],
    ["error", "request_failed", { error: "lost" }],
    ["info", "stopping", undefined],
  ];
  for (const line of [...lists, ...lists]) summarised.write(...line);
  assert.equal(lines.length, 2 * lists.length);
  for (let call = 0; call < 3; call++) {
    summarised.write("audit", "request", { subject: null, method: "initialize", outcome: "ok" });
  }
  assert.equal(lines.length, 2 * lists.length + 1); // a handshake without a token is anybody's
  summarised.close();
});

Deno.test("refused sign-ins are a stranger's, whatever name was typed: guessing does not fill the log", () => {
  const { lines, log } = record();
  const summarised = summariseStrangers(log, { windowMs: 60_000, maxKinds: 100, maxLines: 3 });
  for (let attempt = 0; attempt < 70; attempt++) {
    const user = attempt % 2 === 0 ? "owner" : `(5 characters, ${attempt})`;
    summarised.write("audit", "sign_in", { outcome: "refused", reason: "wrong", user, address: "192.0.2.1" });
  }
  summarised.close();
  assert.equal(lines.length, 4);
  assert.equal(lines.at(-1)?.fields?.["repeated"], 67);
});

Deno.test("the counts are written when the window ends, though nothing more happens; a window of 0 counts nothing", async () => {
  const counted = Promise.withResolvers<LogFields>();
  const log: Log = {
    write: (_level, _event, fields) => void (fields?.["repeated"] !== undefined && counted.resolve(fields)),
    flush() {},
  };
  const summarised = summariseStrangers(log, { windowMs: 10, maxKinds: 100, maxLines: 1 });
  const alive = setInterval(() => {}, 1_000); // the window keeps no process alive
  summarised.write("warn", "token_refused", refusal("192.0.2.1"));
  summarised.write("warn", "token_refused", refusal("192.0.2.1"));
  assert.equal((await counted.promise)["repeated"], 1);
  clearInterval(alive);
  const plain = record();
  const every = summariseStrangers(plain.log, { windowMs: 0, maxKinds: 100, maxLines: 1 });
  for (let line = 0; line < 3; line++) every.write("warn", "token_refused", refusal("192.0.2.1"));
  assert.equal(plain.lines.length, 3);
});
