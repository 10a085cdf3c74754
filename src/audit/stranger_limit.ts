/**
 * Keeps strangers from pushing everything else out of the stored audit: of lines that anyone can cause, only a few a
 * minute are stored, and the others are counted. The log has more of them.
 */
import type { Clock } from "../lib/clock.ts";
import { type AuditLine, emptyLine } from "./line.ts";

/** A month of them takes about half of what AUDIT_MAX_BYTES is by default. */
const maxLinesOfMinute = 5;
const burst = 300;
const minuteMs = 60_000;

/** Passes on the lines that are stored. */
export function limitStrangers(record: (line: AuditLine) => void, clock: Clock): (line: AuditLine) => void {
  let left = burst;
  let filledAt = clock();
  let skipped = 0;
  return (line) => {
    const isStrangers = line.person === null || line.outcome === "refused";
    if (!isStrangers) return record(line);
    const now = clock();
    left = Math.min(burst, left + Math.max(0, now - filledAt) / minuteMs * maxLinesOfMinute);
    filledAt = now;
    if (left < 1) {
      skipped += 1;
      return;
    }
    left -= 1;
    if (skipped > 0) record({ ...emptyLine, time: now, event: "audit_lines_skipped", code: String(skipped) });
    skipped = 0;
    record(line);
  };
}
