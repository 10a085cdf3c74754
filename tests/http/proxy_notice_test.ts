import assert from "node:assert/strict";
import { createProxyNotice } from "../../src/http/forwarded.ts";
import type { LogFields } from "../../src/lib/log.ts";

function record() {
  const lines: (LogFields | undefined)[] = [];
  const notice = createProxyNotice({ write: (_level, _event, fields) => void lines.push(fields), flush() {} });
  const ask = (peer: string, headers: Record<string, string>): void => notice(peer, new Headers(headers));
  return { lines, ask };
}

Deno.test("several clients through one peer are noticed, once, by either header", () => {
  for (const name of ["x-forwarded-for", "forwarded"]) {
    const { lines, ask } = record();
    const value = (client: string): string => name === "forwarded" ? `for=${client}` : `6.6.6.6, ${client}:4711`;
    for (let request = 0; request < 100; request++) ask("10.0.0.2", { [name]: value("203.0.113.1") });
    assert.equal(lines.length, 0, "one client is no proxy's doing");
    for (let client = 1; client < 200; client++) ask("10.0.0.2", { [name]: value(`203.0.113.${client}`) });
    assert.equal(lines.length, 1);
    assert.equal(lines[0]?.["peer"], "10.0.0.2");
    assert.match(String(lines[0]?.["remedy"]), /TRUST_PROXY/);
  }
});

Deno.test("what is no address counts for nothing and is never said, and peers are counted up to a bound", () => {
  const { lines, ask } = record();
  for (const text of ["unknown", "tr0ub4dor", "", "_hidden", ",", "x".repeat(10_000)]) {
    for (let peer = 0; peer < 5; peer++) ask(`10.0.1.${peer}`, { "x-forwarded-for": text });
  }
  ask("10.0.0.1", {});
  for (let peer = 0; peer < 1_000; peer++) {
    for (const client of ["203.0.113.1", "203.0.113.2"]) {
      ask(`10.1.${peer >> 8}.${peer & 255}`, { "x-forwarded-for": client });
    }
  }
  assert.equal(lines.length, 0);
  ask("10.1.0.0", { "x-forwarded-for": "203.0.113.3" });
  assert.equal(lines.length, 1);
});
