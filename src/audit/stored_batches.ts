/** Reads a chain's batches, newest first, while others add to it. */
import type { Storage, StoredEntry } from "../storage/port.ts";
import { type AuditBatch, parseSegment, segmentKey, segmentsKey } from "./chain.ts";

/** A batch with its place in the chain. */
interface PlacedBatch {
  readonly seq: number;
  readonly batch: AuditBatch;
}

/** Of at most 400 kB each, and of 40 kB as a rule. Most readers are satisfied with the newest: they come first. */
const segmentsAtFirst = 2;
const segmentsAtOnce = 16;

/** The newest entries of a chain; `upTo`: those that begin then or before. */
export function listSegments(storage: Storage, name: string, upTo?: number): Promise<readonly StoredEntry[]> {
  return storage.list(segmentsKey(name), {
    limit: segmentsAtFirst,
    ...(upTo === undefined ? {} : { after: segmentKey(name, upTo + 1) }),
  });
}

/** What stands in an entry that cannot be read. */
type UnreadableSegment = "unreadable";

/**
 * Batches with falling numbers: small entries are gathered into larger ones meanwhile, so that some would come twice.
 * `first` are entries that were listed already.
 */
export async function* batchesOf(
  storage: Storage,
  name: string,
  { upTo, first }: { readonly upTo?: number | undefined; readonly first?: readonly StoredEntry[] } = {},
): AsyncGenerator<PlacedBatch | UnreadableSegment> {
  let below = Infinity;
  let limit = segmentsAtFirst;
  let entries = first ?? await listSegments(storage, name, upTo);
  for (;;) {
    for (const { value } of entries) {
      const segment = parseSegment(value);
      if (segment === null) yield "unreadable";
      const { seq = 0, batches = [] } = segment ?? {};
      for (const [index, batch] of [...batches.entries()].reverse()) {
        if (seq + index >= below) continue;
        below = seq + index;
        yield { seq: below, batch };
      }
    }
    const last = entries.at(-1);
    if (last === undefined) return;
    limit = Math.min(limit * 2, segmentsAtOnce);
    entries = await storage.list(segmentsKey(name), { limit, after: last.key });
  }
}
