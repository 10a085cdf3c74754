/** Calls of tools by hour and outcome, kept while lines are written, so that no page has to read a day's lines. */
import * as z from "zod";
import type { Storage, StorageKey } from "../storage/port.ts";
import { maxChains } from "./chain.ts";

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
