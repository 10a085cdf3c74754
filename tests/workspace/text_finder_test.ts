import assert from "node:assert/strict";
import fc from "fast-check";
import { createTextFinder } from "../../src/files/text/finder.ts";

Deno.test("createTextFinder() finds what indexOf finds, in texts that repeat themselves", () => {
  const few = (minLength: number, maxLength: number) =>
    fc.array(fc.constantFrom("a", "a", "a", "b"), { minLength, maxLength }).map((parts) => parts.join(""));
  const repeated = fc.tuple(few(1, 4), fc.integer({ min: 8, max: 40 }), few(0, 4)).map(([unit, times, rest]) =>
    unit.repeat(times) + rest
  );
  fc.assert(
    fc.property(repeated, fc.array(repeated, { maxLength: 6 }), fc.nat(50), (wanted, parts, from) => {
      for (const text of [parts.join(""), parts.join(wanted), parts.join(wanted.slice(1))]) {
        assert.equal(createTextFinder(wanted)(text, from), text.indexOf(wanted, from));
      }
    }),
    { numRuns: 5_000 },
  );
});

Deno.test("createTextFinder() looks at each character a few times, where a plain comparison looks half a million", () => {
  const half = "a".repeat(250_000);
  assert.equal(createTextFinder(`${half}b${half}`)("a".repeat(1_000_000), 0), -1); // 10^11 comparisons one by one
});
