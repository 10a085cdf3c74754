/** Reads a chain's batches, newest first, while others add to it. */
import * as z from "zod";
import type { Storage, StorageKey, StoredEntry } from "../storage/mod.ts";
import { type AuditBatch, maxChains, parseSegment, segmentKey, segmentsKey } from "./chain.ts";

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

// Calls of tools by hour and outcome, kept while lines are written, so that no page has to read a day's lines.

/** How often each outcome came. */
export type OutcomeCounts = Readonly<Record<string, number>>;

/** One hour of all instances together. */
interface HourOfCalls {
  /** When it began, in milliseconds since the epoch. */
  readonly hour: number;
  readonly outcomes: OutcomeCounts;
}

const hourMs = 3_600_000;
const hoursKept = 25;
/** From the beginning of an hour. */
export const countsLifetimeMs = (hoursKept + 1) * hourMs;
const maxEntries = maxChains * hoursKept;
const counts = z.lazy(() => z.record(z.string(), z.number()));
const prefix: StorageKey = ["audit_calls"];

export function hourOf(time: number): number {
  return time - time % hourMs;
}

export function countsKey(chain: string, hour: number): StorageKey {
  return ["audit_calls", String(hour).padStart(13, "0"), chain];
}

export function parseCounts(value: unknown): OutcomeCounts {
  return counts.safeParse(value).data ?? {};
}

export function addOutcomeCounts(first: OutcomeCounts, second: OutcomeCounts): OutcomeCounts {
  const sum: Record<string, number> = { ...first };
  for (const [outcome, count] of Object.entries(second)) sum[outcome] = (sum[outcome] ?? 0) + count;
  return sum;
}

/** The hours of the last day in which something was called, oldest first. */
export async function readCallsOfDay(storage: Storage, now: number): Promise<readonly HourOfCalls[]> {
  const hours = new Map<number, OutcomeCounts>();
  for (const { key, value } of await storage.list(prefix, { limit: maxEntries })) {
    const hour = Number(key[1]);
    if (hour > now - hoursKept * hourMs) hours.set(hour, addOutcomeCounts(hours.get(hour) ?? {}, parseCounts(value)));
  }
  return Array.from(hours, ([hour, outcomes]) => ({ hour, outcomes }));
}
