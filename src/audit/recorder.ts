/**
 * The way into the stored audit: a bounded queue, which is written in the background. A call pays for one entry of an
 * array. Lines that find the queue full are lost; a line of their own says how many.
 */
import { Buffer } from "node:buffer";
import { systemTimers, type Timers } from "../lib/time/timers.ts";
import { createPause } from "../lib/time/pause.ts";
import type { KeptHead } from "./head.ts";
import { type AuditParts, createChainWriter, type NewBatch } from "./chain_writer.ts";
import { type AuditLine, auditLineEnd, callEvent, emptyLine, encodeLine } from "./line.ts";

export interface AuditRecorder {
  /** Takes a line; never throws and never waits. */
  record(line: AuditLine): void;
  /** Resolves when all lines so far are stored, or cannot be. */
  flush(): Promise<void>;
  /** Stores what waits and leaves the chain to the next process. */
  close(): Promise<void>;
}

/** Lines that were stored together. */
interface StoredLines {
  readonly bytes: number;
  readonly lines: readonly AuditLine[];
  /** Where the chain ends now. */
  readonly head: KeptHead;
}

interface RecorderOptions extends AuditParts {
  readonly timers?: Timers | undefined;
  /** Names this process, so that no two add to one chain. */
  readonly holder: string;
  readonly onStored?: (stored: StoredLines) => void;
  readonly maxWaitingLines?: number;
}

/** How long a line waits for others. A process that is killed loses the lines of this time. */
const gatherMs = 1_000;
/** So many do not wait for the time to pass. */
const gatherLines = 2_000;
const defaultMaxWaitingLines = 50_000;
const maxBatchBytes = 400_000;
const retryMs = 1_000;

export function createAuditRecorder(options: RecorderOptions): AuditRecorder {
  const { clock, log, holder, onStored, timers = systemTimers } = options;
  const { maxWaitingLines = defaultMaxWaitingLines } = options;
  const writer = createChainWriter(options, holder);
  const pause = createPause(timers);
  const closing = new AbortController();
  let waiting: AuditLine[] = [];
  let lost = 0;
  let isFailing = false;
  let stopTimer: (() => void) | undefined;
  let writing: Promise<void> | null = null;

  const record = (line: AuditLine): void => {
    if (waiting.length >= maxWaitingLines) {
      lost += 1;
      return;
    }
    waiting.push(line);
    if (writing !== null) return;
    if (waiting.length === gatherLines) writeSoon(0);
    else if (stopTimer === undefined) writeSoon(gatherMs);
  };
  const writeSoon = (milliseconds: number): void => {
    stopTimer?.();
    stopTimer = timers.after(milliseconds, () => void write());
  };
  const takeBatch = (most = Infinity): { readonly batch: NewBatch; readonly taken: number } => {
    const calls: Record<string, number> = {};
    let lines = "";
    let taken = 0;
    for (const line of waiting) {
      const text = encodeLine(line) + auditLineEnd;
      if (taken === most || (lines.length + text.length > maxBatchBytes && taken > 0)) break;
      lines += text;
      taken += 1;
      if (line.event === callEvent) {
        const outcome = line.outcome ?? "";
        calls[outcome] = (calls[outcome] ?? 0) + 1;
      }
    }
    // A character takes up to three bytes; to ask for the bytes of each line would cost as much as its text.
    if (Buffer.byteLength(lines) > maxBatchBytes && taken > 1) return takeBatch(Math.ceil(taken / 3));
    return { batch: { from: waiting[0]?.time ?? clock(), lines, count: taken, calls }, taken };
  };
  const noteLost = (): void => {
    if (lost === 0) return;
    log.write("warn", "audit_lines_lost", { lines: lost });
    waiting.push({ ...emptyLine, time: clock(), event: "audit_lines_lost", code: String(lost) });
    lost = 0;
  };
  /** Tries until the batch is stored; `false` when the server stops before. */
  const store = async (batch: NewBatch, lines: readonly AuditLine[]): Promise<boolean> => {
    for (let isLast = false;; isLast = closing.signal.aborted) {
      try {
        const added = await writer.add(batch);
        onStored?.({ ...added, lines });
        isFailing = false;
        return true;
      } catch (error) {
        if (!isFailing) log.write("error", "audit_not_stored", { error: String(error) });
        isFailing = true;
        if (isLast) return false;
        await pause(retryMs, closing.signal);
      }
    }
  };
  const writeAll = async (least: number): Promise<void> => {
    while (waiting.length >= least) {
      const { batch, taken } = takeBatch();
      if (!await store(batch, waiting.slice(0, taken))) return;
      waiting = waiting.slice(taken);
      noteLost();
    }
  };
  /** Lines that come meanwhile wait for others again. */
  const write = (): Promise<void> => {
    stopTimer?.();
    stopTimer = undefined;
    return writing ??= writeAll(Math.min(Math.max(waiting.length, 1), gatherLines)).finally(() => {
      writing = null;
      if (waiting.length > 0 && !closing.signal.aborted) writeSoon(waiting.length >= gatherLines ? 0 : gatherMs);
    });
  };
  return {
    record,
    async flush() {
      await writing;
      while (waiting.length > 0) await write();
    },
    async close() {
      closing.abort();
      await writing;
      for (let left = Infinity; waiting.length > 0 && waiting.length < left;) {
        left = waiting.length;
        await write();
      }
      stopTimer?.();
      if (waiting.length > 0) log.write("error", "audit_lines_lost", { lines: waiting.length + lost });
      await writer.release().catch((error) => log.write("error", "audit_not_stored", { error: String(error) }));
    },
  };
}
