/** Texts from elsewhere: what is too deep is refused before it is parsed, what only looks deep is not. */
import assert from "node:assert/strict";
import { maxDepth, parseJson } from "../../src/lib/json.ts";

const long = " ".repeat(70_000);
const nested = (open: string, levels: number, close: string): string =>
  `${open.repeat(levels)}0${close.repeat(levels)}`;

Deno.test("a long text that is too deep is not parsed, of arrays and of objects", () => {
  for (const [open, close] of [["[", "]"], ['{"":', "}"], ['[{"a":', "}]"]] as const) {
    const levels = maxDepth / (open.length === 6 ? 2 : 1);
    assert.notEqual(parseJson(nested(open, levels, close) + long), undefined);
    assert.equal(parseJson(nested(open, levels + 1, close) + long), undefined);
  }
});

Deno.test("brackets in strings, and side by side, make no text deep", () => {
  const brackets = "[{".repeat(50_000);
  const values = [brackets, `\\"${brackets}`, `${brackets}\\`, { [brackets]: '"' }, Array(50_000).fill([{}])];
  for (const value of values) assert.deepEqual(parseJson(JSON.stringify([value, value])), [value, value]);
  assert.equal(parseJson(`${long}"${brackets}`), undefined, "a string that does not end");
});
