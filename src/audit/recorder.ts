/**
 * The queue of the stored audit: bounded, and written in the background. A call pays for the text of its
 * line. Lines that find the queue full are lost; a further line says how many.
 */
import { type AuditParts, createChainWriter, type NewBatch } from "./chain.ts";
import { type AuditLine, callEvent, emptyLine, encodeLine } from "./line.ts";
import { gatherText } from "../lib/log.ts";
import { type Clock, createPause, systemTimers, type Timers } from "../lib/time.ts";

/** Some 1,000 lines. The last 4,096 characters are not counted as bytes yet, of which each takes three at most. */
const maxBatchBytes = 160_000;
const decoder = new TextDecoder();

interface OpenBatch extends Omit<NewBatch, "lines"> {
  count: number;
  readonly calls: Record<string, number>;
}

export type AuditRecorder = ReturnType<typeof createAuditRecorder>;

interface RecorderOptions extends AuditParts {
  readonly timers?: Timers | undefined;
  /** Names this process, so that no two add to one chain. */
  readonly holder: string;
  /** Called with the number of stored bytes. */
  readonly onStored?: (bytes: number) => void;
  readonly maxWaitingLines?: number;
}

/** How long a line waits for others. A process that is killed loses the lines of this time. */
const gatherMs = 1_000;
const defaultMaxWaitingLines = 50_000;
const retryMs = 1_000;

/** Takes lines, and stores them in the background. */
export function createAuditRecorder(options: RecorderOptions) {
  const { clock, log, holder, onStored, timers = systemTimers } = options;
  const { maxWaitingLines = defaultMaxWaitingLines } = options;
  const writer = createChainWriter(options, holder);
  const pause = createPause(timers);
  const closing = new AbortController();
  /** Full batches, each for one commit. */
  const waiting: NewBatch[] = [];
  /** The one that still takes lines, and its lines. */
  let open: OpenBatch | null = null;
  const gathered = gatherText();
  /** Those that are being stored, too. */
  let count = 0;
  let lost = 0;
  let isFailing = false;
  let stopTimer: (() => void) | undefined;
  let writing: Promise<void> | null = null;

  /** Whether a batch is full: it does not wait for the time to pass. */
  const isFull = (): boolean => waiting.length > 0;
  const close = (): void => {
    if (open !== null) waiting.push({ ...open, lines: decoder.decode(gathered.take()) });
    open = null;
  };
  const add = (line: AuditLine): void => {
    const batch = open ??= { from: line.time, count: 0, calls: {} };
    gathered.add(encodeLine(line));
    batch.count += 1;
    count += 1;
    const outcome = line.outcome ?? "";
    if (line.event === callEvent) batch.calls[outcome] = (batch.calls[outcome] ?? 0) + 1;
    if (gathered.size >= maxBatchBytes) close();
  };
  const record = (line: AuditLine): void => {
    if (count >= maxWaitingLines) {
      lost += 1;
      return;
    }
    const wasFull = isFull();
    add(line);
    if (writing !== null || wasFull) return;
    if (isFull()) writeSoon(0);
    else if (stopTimer === undefined) writeSoon(gatherMs);
  };
  const writeSoon = (milliseconds: number): void => {
    stopTimer?.();
    stopTimer = timers.after(milliseconds, () => void write());
  };
  const noteLost = (): void => {
    if (lost === 0) return;
    log.write("warn", "audit_lines_lost", { lines: lost });
    add({ ...emptyLine, time: clock(), event: "audit_lines_lost", code: String(lost) });
    lost = 0;
  };
  /** Tries until the batch is stored; `false` when the server stops before. */
  const store = async (batch: NewBatch): Promise<boolean> => {
    for (let isLast = false;; isLast = closing.signal.aborted) {
      try {
        const bytes = await writer.add(batch);
        onStored?.(bytes);
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
      if (!isFull()) close();
      const batch = waiting.shift();
      if (batch === undefined) return;
      if (!await store(batch)) {
        waiting.unshift(batch);
        return;
      }
      count -= batch.count;
      noteLost();
    } while (isFull());
  };
  /** Lines that come meanwhile wait for others again. */
  const write = (): Promise<void> => {
    stopTimer?.();
    stopTimer = undefined;
    return writing ??= writeAll().finally(() => {
      writing = null;
      if (count > 0 && !closing.signal.aborted) writeSoon(isFull() ? 0 : gatherMs);
    });
  };
  return {
    /** Takes a line; never throws and never waits. */
    record,
    /** Resolves when all lines so far are stored, or cannot be. */
    async flush(): Promise<void> {
      await writing;
      while (count > 0) await write();
    },
    /** Stores what waits and leaves the chain to the next process. */
    async close(): Promise<void> {
      closing.abort();
      await writing;
      for (let left = Infinity; count > 0 && count < left;) {
        left = count;
        await write();
      }
      stopTimer?.();
      if (count > 0) log.write("error", "audit_lines_lost", { lines: count + lost });
      await writer.release().catch((error) => log.write("error", "audit_not_stored", { error: String(error) }));
    },
  };
}

// Keeps strangers from pushing everything else out of the stored audit: of lines that anyone can cause, only a few a
// minute are stored, and the others are counted. The log has more of them.

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
