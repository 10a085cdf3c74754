import assert from "node:assert/strict";
import fc from "fast-check";
import { compileName } from "../../src/files/workspace/path.ts";
import { parseGlob, parseGlobs } from "../../src/files/workspace/walk.ts";

const cases: readonly (readonly [pattern: string, path: string, matches: boolean])[] = [
  ["*.txt", "a.txt", true],
  ["*.txt", "d/e/a.txt", true],
  ["*.txt", "a.txt.gz", false],
  ["a?c", "abc", true],
  ["a?c", "ac", false],
  ["src/*.ts", "src/a.ts", true],
  ["src/*.ts", "src/d/a.ts", false],
  ["src/*.ts", "other/src/a.ts", false],
  ["src/**/*.ts", "src/a.ts", true],
  ["src/**/*.ts", "src/d/e/a.ts", true],
  ["**/a", "a", true],
  ["**/a", "d/e/a", true],
  ["**", "d/e/a", true],
  ["a/**", "a/b/c", true],
  ["a/**/b/**/c", "a/x/b/b/y/c", true],
  ["a/**/b/**/c", "a/x/c", false],
  ["*.{ts,js}", "a.js", true],
  ["*.{ts,js}", "a.css", false],
  ["{a,b}/{c,d}", "b/c", true],
  ["{a,{b,c}}", "c", true],
  ["[x](y)", "[x](y)", true],
  ["a.c", "abc", false],
  ["{a", "{a", true],
  ["./a/b", "a/b", true],
];

for (const [pattern, path, matches] of cases) {
  Deno.test(`parseGlob() ${pattern} ${matches ? "matches" : "does not match"} ${path}`, () => {
    assert.equal(parseGlob(pattern)?.(path.split("/")), matches);
  });
}

Deno.test("parseGlob() refuses patterns that are empty, too long or have too many alternatives", () => {
  for (const pattern of ["", "/", ".", "a".repeat(301), "{a,b}".repeat(6)]) assert.equal(parseGlob(pattern), null);
});

Deno.test("parseGlob() agrees with the definition on random patterns and paths", () => {
  const name = fc.string({ unit: fc.constantFrom("a", "b", ".", "*", "?"), minLength: 1, maxLength: 5 });
  const paths = fc.array(fc.string({ unit: fc.constantFrom("a", "b", "."), minLength: 1, maxLength: 4 }), {
    minLength: 1,
    maxLength: 4,
  });
  const patterns = fc.array(fc.oneof(name, fc.constant("**")), { minLength: 2, maxLength: 5 });
  fc.assert(
    fc.property(patterns, paths, (names, segments) => {
      fc.pre(names.every((each) => each !== "." && (each === "**" || !each.includes("**"))));
      assert.equal(parseGlob(names.join("/"))?.(segments), matchesByDefinition(names, segments));
    }),
    { numRuns: 3000 },
  );
});

Deno.test("parseGlobs() refuses patterns that are too large together once their braces are written out", () => {
  const large = `{${"a,".repeat(31)}b}${"c".repeat(200)}`;
  assert.notEqual(parseGlob(large), null);
  assert.equal(parseGlobs([large, large]), null);
  assert.notEqual(parseGlobs(Array(20).fill("**/node_modules/**/*.{js,ts,map}")), null);
});

Deno.test("compileName() agrees with regular expressions, for patterns longer than 32 characters too", () => {
  const part = fc.constantFrom("a", "b", "*", "?", "[ab]", "[!a]", "[a-c]", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab", "\\*");
  const names = fc.string({ unit: fc.constantFrom("a", "b", "c", "*", "aaaaaaaaaaaaaaa"), maxLength: 12 });
  fc.assert(
    fc.property(fc.array(part, { maxLength: 12 }), names, (parts, name) => {
      const source = parts.map((each) =>
        each === "*" ? "[^]*" : each === "?" ? "[^]" : each.startsWith("[") ? each.replace("!", "^") : each
      );
      const expected = new RegExp(`^${source.join("")}$`).test(name);
      assert.equal(compileName(parts.join(""), { hasClasses: true })(name), expected);
    }),
    { numRuns: 3000 },
  );
});

function matchesByDefinition(names: readonly string[], segments: readonly string[]): boolean {
  const [first, ...rest] = names;
  if (first === undefined) return segments.length === 0;
  if (first === "**") {
    return segments.some((_, index) => matchesByDefinition(rest, segments.slice(index))) ||
      matchesByDefinition(rest, []);
  }
  const [segment, ...others] = segments;
  const pattern = new RegExp(`^${first.replaceAll(".", "\\.").replaceAll("*", ".*").replaceAll("?", ".")}$`);
  return segment !== undefined && pattern.test(segment) && matchesByDefinition(rest, others);
}
