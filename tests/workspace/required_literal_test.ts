import assert from "node:assert/strict";
import fc from "fast-check";
import { RE2JS, RE2JSException } from "re2js";
import { requiredLiteral } from "../../src/workspace/text/required_literal.ts";

const cases: readonly (readonly [expression: string, literal: string | null])[] = [
  ["needle", "needle"],
  ["ne+d[a-m]e$", "ne"],
  ["foo\\.bar\\(", "foo.bar("],
  ["abc*def", "def"],
  ["ab{2,3}cde", "cde"],
  ["ab{2,3cde", "2,3cde"],
  ["(optional)?must", "must"],
  ["one|two", null],
  ["(one|two)xy", "xy"],
  ["\\x41bcd", null],
  ["\\Qa|b\\E", null],
  ["(?i)needle", null],
  ["(?:a)bc", "bc"],
  ["[]x]yz", "yz"],
  ["[[:alpha:]]yz", null],
  ["\\d+ms", "ms"],
  ["a\ud83d\ude00?", "a"],
  ["a?", null],
];

for (const [expression, literal] of cases) {
  Deno.test(`requiredLiteral() of ${expression} is ${literal}`, () => {
    assert.equal(requiredLiteral(expression), literal);
    RE2JS.compile(expression);
  });
}

Deno.test("whatever a random expression matches holds its required literal", () => {
  const piece = fc.constantFrom(
    ..."abc|()[]{}*+?^$.-,12\\".split(""),
    ...[
      "a",
      "b",
      "ab",
      "(a",
      "(?:b",
      ")?",
      ")*",
      "a{2}",
      "b{0,1}",
      "[^a]",
      "[ab-]",
      "\\.",
      "\\d",
      "\\x61",
      "\\pL",
      "\\Qa",
    ],
    ...["(?i)", "(?P<n>a)", "\\b", "??", "+?"],
  );
  const expressions = fc.array(piece, { minLength: 1, maxLength: 8 }).map((pieces) => pieces.join(""));
  const texts = fc.string({ unit: fc.constantFrom(..."abcABC.12{}-,"), maxLength: 8 });
  let matched = 0;
  fc.assert(
    fc.property(expressions, fc.array(texts, { minLength: 10, maxLength: 10 }), (expression, subjects) => {
      const literal = requiredLiteral(expression);
      if (literal === null) return;
      let compiled: RE2JS;
      try {
        compiled = RE2JS.compile(expression);
      } catch (error) {
        if (error instanceof RE2JSException) return;
        throw error;
      }
      for (const subject of [...subjects, literal]) {
        const matcher = compiled.matcher(subject);
        if (!matcher.find()) continue;
        matched++;
        assert.ok(matcher.group()?.includes(literal), `${expression} matches ${subject} without ${literal}`);
      }
    }),
    { numRuns: 3000 },
  );
  assert.ok(matched > 500);
});
