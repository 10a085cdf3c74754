import assert from "node:assert/strict";
import fc from "fast-check";
import { createLineSplitter } from "../../src/llm/answer_stream.ts";

const encoder = new TextEncoder();

function linesOf(chunks: readonly Uint8Array[], maxLineBytes = 1000): string[] | string {
  const splitter = createLineSplitter(maxLineBytes);
  const lines: string[] = [];
  for (const chunk of chunks) {
    const pushed = splitter.push(chunk);
    if (pushed.fault !== null) return pushed.fault;
    lines.push(...pushed.lines);
  }
  const rest = splitter.end();
  return rest.fault ?? [...lines, ...rest.lines];
}

Deno.test("createLineSplitter() returns the same lines however the bytes are cut", () => {
  const line = fc.string({ unit: "binary" }).map((text) => text.replaceAll("\n", "")).filter((text) =>
    text.trim() !== ""
  );
  fc.assert(fc.property(fc.array(line), fc.array(fc.nat(), { maxLength: 8 }), fc.boolean(), (lines, cuts, newline) => {
    const bytes = encoder.encode(lines.join("\n") + (newline && lines.length > 0 ? "\n" : ""));
    const at = [...cuts.map((cut) => cut % (bytes.byteLength + 1)), 0, bytes.byteLength].sort((a, b) => a - b);
    const chunks = at.slice(1).map((end, index) => bytes.subarray(at[index], end));
    const expected = lines.map((text, index) => index === 0 && text.startsWith("\ufeff") ? text.slice(1) : text)
      .filter((text) => text.trim() !== "");
    assert.deepEqual(linesOf(chunks, 10_000), expected.map((text) => text.toWellFormed()));
  }));
});

Deno.test("createLineSplitter() leaves out empty lines", () => {
  assert.deepEqual(linesOf([encoder.encode("\n\r\na\n\nb\r\n \n")]), ["a", "b\r"]);
});

Deno.test("createLineSplitter() refuses a line over the limit, in one chunk, in many, in the middle, and unfinished", () => {
  const long = encoder.encode("x".repeat(11));
  const newline = encoder.encode("\n");
  assert.equal(linesOf([long], 10), "line_too_long");
  assert.equal(linesOf([long.subarray(0, 6), long.subarray(0, 6)], 10), "line_too_long");
  assert.equal(linesOf([encoder.encode(`a\n${"x".repeat(11)}\nb\n`)], 10), "line_too_long");
  assert.equal(linesOf([encoder.encode("a\n"), long, newline], 10), "line_too_long");
  assert.deepEqual(linesOf([long.subarray(0, 10), newline, long.subarray(0, 10), newline], 10), [
    "x".repeat(10),
    "x".repeat(10),
  ]);
});

Deno.test("createLineSplitter() refuses bytes that are not UTF-8, in the middle and at the end", () => {
  assert.equal(linesOf([new Uint8Array([0x61, 0xff, 0x0a])]), "invalid_utf8");
  assert.equal(linesOf([new Uint8Array([0x61, 0xe2, 0x82])]), "invalid_utf8");
});

Deno.test("createLineSplitter() returns the lines before a fault, even from the same chunk", () => {
  const splitter = createLineSplitter(10);
  assert.deepEqual(splitter.push(encoder.encode(`a\nb\n${"x".repeat(11)}\nc\n`)), {
    lines: ["a", "b"],
    fault: "line_too_long",
  });
  const other = createLineSplitter(10);
  const bytes = new Uint8Array([0x61, 0x0a, 0xe2, 0x82, 0x0a, 0x62, 0x0a]);
  assert.deepEqual(other.push(bytes), { lines: ["a"], fault: "invalid_utf8" });
});
