/**
 * The {@link Log} that writes lines, gathered for a few milliseconds so that a line costs no system call. It never
 * throws and never waits: lines that find the queue full are dropped, counted, and reported by a later line.
 */
import type { Clock } from "./clock.ts";
import { gatherText } from "./gathered_text.ts";
import type { Log, LogFields, LogLevel } from "./log.ts";
import { pause } from "./pause.ts";
import { systemTimers } from "./timers.ts";
import { escapeUnprintable, toTextLine } from "./text_line.ts";

const gatherMs = 50;
const gatherBytes = 360_000;
/** What waits while the lines before are being written. */
const maxWaitingBytes = 1_048_576;
/** How long an orderly end waits for a log that is read slowly. */
const flushMs = 1_000;
const ranks: Readonly<Record<LogLevel, number>> = { debug: 0, info: 1, warn: 2, error: 3, audit: 4 };

/** How a line is written: for programs, or for people. */
type LogFormat = "json" | "text";

/** Takes whole lines in UTF-8. A promise, which never rejects, tells whether they were written; without one, they were. */
export type WriteLines = (lines: Uint8Array<ArrayBuffer>) => void | Promise<boolean>;

/** The log, and its end. */
export interface JsonLog extends Log {
  /** Hands over all lines at once; resolves when they were written, or after a second. */
  flush(): Promise<void>;
}

/** `level` is the least that is kept (audit lines always are); `format` is JSON unless given. */
export function createJsonLog(options: {
  readonly write: WriteLines;
  readonly level: Exclude<LogLevel, "audit">;
  readonly clock: Clock;
  readonly format?: LogFormat;
}): JsonLog {
  const { write, level, clock, format = "json" } = options;
  const toLine = format === "json" ? toJsonLine : toTextLine;
  const gathered = gatherText(format === "json" ? escapeUnprintable : undefined);
  let gatheredLines = 0;
  let dropped = 0;
  let writing: Promise<void> | null = null;
  let stopTimer: (() => void) | undefined;

  const append = (lineLevel: LogLevel, event: string, fields?: LogFields): void => {
    gathered.add(toLine(isoTime(clock()), lineLevel, event, fields) + "\n");
    gatheredLines += 1;
  };
  const handOver = (): void => {
    stopTimer?.();
    stopTimer = undefined;
    if (gatheredLines === 0) return;
    const reported = dropped;
    if (reported > 0) append("warn", "log_lines_dropped", { lines: reported });
    dropped = 0;
    const lines = gathered.take();
    const count = gatheredLines;
    gatheredLines = 0;
    const written = write(lines);
    if (written === undefined) return;
    const done: Promise<void> = written.then((isWritten) => {
      if (!isWritten) dropped += reported > 0 ? reported + count - 1 : count;
      if (writing !== done) return;
      writing = null;
      // Lines that are not due wait for others: handed over a few at a time, they would wake two threads each time.
      if (stopTimer === undefined || gathered.size >= gatherBytes) handOver();
    });
    writing = done;
  };
  const onTimer = (): void => {
    stopTimer = undefined;
    if (writing === null) handOver();
  };
  return {
    write(lineLevel, event, fields) {
      if (ranks[lineLevel] < ranks[level]) return;
      if (writing !== null && gathered.size >= maxWaitingBytes) {
        dropped += 1;
        return;
      }
      append(lineLevel, event, fields);
      if (gathered.size >= gatherBytes && writing === null) handOver();
      else stopTimer ??= systemTimers.after(gatherMs, onTimer);
    },
    async flush() {
      handOver();
      const enough = new AbortController();
      const late = pause(flushMs, enough.signal);
      while (writing !== null && !await Promise.race([writing.then(() => false), late.then(() => true)])) {
        if (writing === null) handOver();
      }
      enough.abort();
    },
  };
}

/** Joined from texts: copying the fields into one object would cost every audited call more than writing them does. */
function toJsonLine(time: string, level: LogLevel, event: string, fields: LogFields | undefined): string {
  const head = headOf(time, level, event);
  const rest = fields === undefined ? "{}" : JSON.stringify(fields);
  return rest === "{}" ? `${head}}` : `${head},${rest.slice(1)}`;
}

let lastHead = { time: "", level: "", event: "", text: "" };

/** Under load, lines of one millisecond follow each other. */
function headOf(time: string, level: LogLevel, event: string): string {
  if (lastHead.time !== time || lastHead.event !== event || lastHead.level !== level) {
    lastHead = { time, level, event, text: `{"time":"${time}","level":"${level}","event":${JSON.stringify(event)}` };
  }
  return lastHead.text;
}

let lastMillisecond = Number.NaN;
let lastTime = "";

/** RFC 3339 in UTC. */
function isoTime(now: number): string {
  const millisecond = Math.floor(now);
  if (millisecond !== lastMillisecond) {
    lastMillisecond = millisecond;
    lastTime = new Date(millisecond).toISOString();
  }
  return lastTime;
}
