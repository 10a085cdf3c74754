/**
 * The way into the stored audit: a bounded queue, which is written in the background. A call pays for the text of its
 * line. Lines that find the queue full are lost; a line of their own says how many.
 */
import { systemTimers, type Timers } from "../lib/timers.ts";
import { createPause } from "../lib/pause.ts";
import type { KeptHead } from "./head.ts";
import { type AuditParts, createChainWriter, type NewBatch } from "./chain_writer.ts";
import { type AuditLine, emptyLine } from "./line.ts";
import { createLineQueue } from "./line_queue.ts";

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
  /** Their text; see {@link decodeLines}. */
  readonly lines: string;
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
const defaultMaxWaitingLines = 50_000;
const retryMs = 1_000;

export function createAuditRecorder(options: RecorderOptions): AuditRecorder {
  const { clock, log, holder, onStored, timers = systemTimers } = options;
  const { maxWaitingLines = defaultMaxWaitingLines } = options;
  const writer = createChainWriter(options, holder);
  const pause = createPause(timers);
  const closing = new AbortController();
  const queue = createLineQueue();
  let lost = 0;
  let isFailing = false;
  let stopTimer: (() => void) | undefined;
  let writing: Promise<void> | null = null;

  const record = (line: AuditLine): void => {
    if (queue.count >= maxWaitingLines) {
      lost += 1;
      return;
    }
    const wasFull = queue.isFull;
    queue.add(line);
    if (writing !== null || wasFull) return;
    if (queue.isFull) writeSoon(0);
    else if (stopTimer === undefined) writeSoon(gatherMs);
  };
  const writeSoon = (milliseconds: number): void => {
    stopTimer?.();
    stopTimer = timers.after(milliseconds, () => void write());
  };
  const noteLost = (): void => {
    if (lost === 0) return;
    log.write("warn", "audit_lines_lost", { lines: lost });
    queue.add({ ...emptyLine, time: clock(), event: "audit_lines_lost", code: String(lost) });
    lost = 0;
  };
  /** Tries until the batch is stored; `false` when the server stops before. */
  const store = async (batch: NewBatch): Promise<boolean> => {
    for (let isLast = false;; isLast = closing.signal.aborted) {
      try {
        const added = await writer.add(batch);
        onStored?.({ ...added, lines: batch.lines });
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
  const writeAll = async (): Promise<void> => {
    do {
      const batch = queue.first();
      if (batch === null || !await store(batch)) return;
      queue.removeFirst();
      noteLost();
    } while (queue.isFull);
  };
  /** Lines that come meanwhile wait for others again. */
  const write = (): Promise<void> => {
    stopTimer?.();
    stopTimer = undefined;
    return writing ??= writeAll().finally(() => {
      writing = null;
      if (queue.count > 0 && !closing.signal.aborted) writeSoon(queue.isFull ? 0 : gatherMs);
    });
  };
  return {
    record,
    async flush() {
      await writing;
      while (queue.count > 0) await write();
    },
    async close() {
      closing.abort();
      await writing;
      for (let left = Infinity; queue.count > 0 && queue.count < left;) {
        left = queue.count;
        await write();
      }
      stopTimer?.();
      if (queue.count > 0) log.write("error", "audit_lines_lost", { lines: queue.count + lost });
      await writer.release().catch((error) => log.write("error", "audit_not_stored", { error: String(error) }));
    },
  };
}
