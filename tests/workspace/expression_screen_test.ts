import assert from "node:assert/strict";
import fc from "fast-check";
import { RE2JS } from "re2js";
import { screenOf } from "../../src/files/text/line_pattern.ts";

Deno.test("a screen is what each match holds, without loops and choices, and the rarest of it", () => {
  const cases: readonly (readonly [string, string | null])[] = [
    ["[0-9]{3}x", "[0-9][0-9][0-9]x"],
    ["ne+dle\\s+in", "edle\\s"],
    ["\\w+\\s+[0-9]+\\w", "\\s[0-9]"],
    ["(foo|bar)baz?", "ba"],
    ["a{2,3}b{0}cde", "cde"],
    ["x{2,}yz", "xxyz"],
    ["[^x]yz?", "y"],
    ["\\bTODO\\b", "TODO"],
    ["foo|bar", null],
    ["\\Qa+b\\E", null],
    ["\\p{Greek}ab", null],
    ["(?i)abc", null],
    ["[a-y]", null],
    ["é+ab", null],
  ];
  for (const [expression, source] of cases) {
    assert.equal(screenOf(expression, false)?.source ?? null, source, expression);
  }
  assert.equal(screenOf("skate", true)?.source, "ate", "k and s stand for more than letters of ASCII");
});

const atoms = [
  "a",
  "b",
  "k",
  "\\d",
  "\\w",
  "\\s",
  "[a-c]",
  "[^a]",
  ".",
  "\\.",
  "(ab)",
  "(?:a|b)",
  "(a|)",
  "^",
  "$",
  "\\b",
];
const quantifiers = ["", "", "", "+", "*", "?", "{2}", "{1,2}", "{0}", "{2,}", "+?", "{0,1}?"];
const anExpression = fc.array(fc.tuple(fc.constantFrom(...atoms), fc.constantFrom(...quantifiers)), {
  minLength: 1,
  maxLength: 6,
}).map((parts) => parts.map(([atom, times]) => /^[\^$]$|^\\b$/.test(atom) ? atom : atom + times).join(""));

Deno.test("no text that an expression matches lacks its screen, in any case either", () => {
  const aText = fc.string({
    unit: fc.constantFrom("a", "b", "c", "k", "K", "\u212a", "1", " ", ".", "é", "_"),
    maxLength: 12,
  });
  fc.assert(
    fc.property(anExpression, aText, fc.boolean(), (expression, text, ignoreCase) => {
      const screen = screenOf(expression, ignoreCase);
      if (screen === null) return;
      if (!RE2JS.compile(expression, ignoreCase ? RE2JS.CASE_INSENSITIVE : 0).test(text)) return;
      const bytes = Array.from(new TextEncoder().encode(text), (byte) => String.fromCharCode(byte)).join("");
      assert.match(bytes, screen, expression);
    }),
    { numRuns: 20_000 },
  );
});
