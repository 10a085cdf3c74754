import assert from "node:assert/strict";
import { durationWords } from "../../src/lib/time.ts";

const expected: [number, string][] = [
  [1, "1 second"],
  [59, "59 seconds"],
  [60, "1 minute"],
  [90, "90 seconds"],
  [150, "3 minutes"],
  [3_600, "1 hour"],
  [5_400, "90 minutes"],
  [86_400, "1 day"],
  [129_600, "36 hours"],
  [1_209_600, "14 days"],
  [2_592_000, "30 days"],
  [2_592_001, "30 days"],
];

for (const [seconds, words] of expected) {
  Deno.test(`durationWords() calls ${seconds} seconds ${words}`, () => assert.equal(durationWords(seconds), words));
}
