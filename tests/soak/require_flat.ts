/** Whether a process that was worked for a while holds as much as before. */
import assert from "node:assert/strict";
import type { Vitals } from "./vitals.ts";

/** The heap breathes: less than this is no growth. */
const breathingMegabytes = 25;
/** Connections to the model stay open for a while, and a subscription brings a watch. */
const keptDescriptors = 8;

/** Throws when memory or descriptors grew between two looks. */
export function requireFlat([first, last]: readonly [Vitals, Vitals]): void {
  requireFlatDescriptors([first, last]);
  const grown = (last.residentMegabytes ?? 0) - (first.residentMegabytes ?? 0);
  assert.ok(grown < breathingMegabytes, `resident memory grew by ${grown.toFixed(0)} MB`);
}

/** Throws when descriptors grew between two looks. */
export function requireFlatDescriptors([first, last]: readonly [Vitals, Vitals]): void {
  const grown = (last.descriptors ?? 0) - (first.descriptors ?? 0);
  assert.ok(grown <= keptDescriptors, `${first.descriptors} descriptors became ${last.descriptors}`);
}
