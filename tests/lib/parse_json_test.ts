/** Texts from elsewhere: what is too deep or has too many values is refused before it is parsed, what only looks so is not. */
import assert from "node:assert/strict";
import { hasMoreParts, parseJson, whyTooMuch } from "../../src/lib/json.ts";

const maxDepth = 5_000;
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

Deno.test("a long text of too many values is not parsed: of items, of names, at any depth", () => {
  const many = Array.from({ length: 500 }, (_, at) => at);
  const values = {
    items: many.map(() => []),
    objects: many.map((at) => ({ [at]: ["a,b", [{}, '",'], at] })),
    names: Object.fromEntries(many.map((at) => [`[${at},`, null])),
    inside: { a: [{ b: many }, [], {}] },
  };
  for (const [what, value] of Object.entries(values)) {
    const text = JSON.stringify(value) + long;
    const limit = Array.from({ length: 5_000 }, (_, at) => at).findIndex((limit) => !hasMoreParts(value, limit));
    assert.deepEqual(parseJson(text, limit), value, what);
    assert.equal(parseJson(text, limit - 1), undefined, what);
    assert.equal(whyTooMuch(text, limit - 1), `has more than ${limit - 1} values`);
  }
});
