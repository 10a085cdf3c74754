/** Whether a process that is worked holds more and more, by what it held at rest after equal parts of the work. */
import assert from "node:assert/strict";
import type { Vitals } from "./vitals.ts";

/** The heap breathes: less than this is no growth. */
const breathingMegabytes = 25;
/** Connections to the model stay open for a while, and a subscription brings a watch. */
const keptDescriptors = 8;

/** Throws when memory grew from the middle of the work to its end, or descriptors from its beginning. */
export function requireFlat(quiet: readonly Vitals[]): void {
  requireFlatDescriptors(quiet);
  const middle = quiet[Math.floor(quiet.length / 2)]?.residentMegabytes ?? 0; // by then everything has been used
  const grown = (quiet.at(-1)?.residentMegabytes ?? 0) - middle;
  assert.ok(grown < breathingMegabytes, `resident memory grew by ${grown.toFixed(0)} MB`);
}

/** Throws when descriptors grew. */
export function requireFlatDescriptors(quiet: readonly Vitals[]): void {
  const [first, last] = [quiet[0]?.descriptors ?? 0, quiet.at(-1)?.descriptors ?? 0];
  assert.ok(last - first <= keptDescriptors, `${first} descriptors became ${last}`);
}
