/** What {@link RangeOptions} mean, the same for every driver. */
import { encodeKey, encodeKeyToRead, endOfRange } from "./key_text.ts";
import type { RangeOptions, StorageKey } from "./port.ts";

/** Where a listing runs: both ends are left out. */
interface ListRange {
  readonly startKey: StorageKey;
  readonly start: string;
  readonly end: string;
}

/** The range of a listing, or `null` when nothing can lie in it. Throws `RangeError` for a limit below 1. */
export function listRange(prefix: StorageKey, { limit, after }: RangeOptions): ListRange | null {
  if (!Number.isSafeInteger(limit) || limit < 1) throw new RangeError("A listing takes at least one entry");
  const below = encodeKeyToRead(prefix);
  if (below === null) return null;
  const whole = { startKey: prefix, start: below, end: endOfRange(below) };
  if (after === undefined) return whole;
  const start = encodeKey(after);
  // A key before the prefix must not open the range to what lies between the two.
  if (compareBytes(start, below) < 0) return whole;
  return compareBytes(start, whole.end) < 0 ? { ...whole, startKey: after, start } : null;
}

/** The order of the databases. JavaScript's own differs beyond U+FFFF. */
function compareBytes(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}
