/** The {@link Log} that writes lines, gathered for a few milliseconds so that a line costs no system call. */
import type { Clock } from "./clock.ts";
import type { Log, LogFields, LogLevel } from "./log.ts";
import { toTextLine } from "./text_line.ts";

const gatherMilliseconds = 20;
const gatherCharacters = 65_536;
const ranks: Readonly<Record<LogLevel, number>> = { debug: 0, info: 1, warn: 2, error: 3, audit: 4 };

/** How a line is written: for programs, or for people. */
export type LogFormat = "json" | "text";

/** `write` receives whole lines; `level` is the least that is kept (audit lines always are); `format` is JSON unless given. */
export function createJsonLog(options: {
  readonly write: (lines: string) => void;
  readonly level: Exclude<LogLevel, "audit">;
  readonly clock: Clock;
  readonly format?: LogFormat;
}): Log {
  const { write, level, clock, format = "json" } = options;
  const toLine = format === "json" ? toJsonLine : toTextLine;
  let gathered = "";
  let timer: ReturnType<typeof setTimeout> | undefined;
  const flush = (): void => {
    clearTimeout(timer);
    timer = undefined;
    const lines = gathered;
    gathered = "";
    if (lines !== "") write(lines);
  };
  return {
    write(lineLevel, event, fields) {
      if (ranks[lineLevel] < ranks[level]) return;
      gathered += toLine(isoTime(clock()), lineLevel, event, fields) + "\n";
      if (gathered.length >= gatherCharacters) flush();
      else timer ??= setTimeout(flush, gatherMilliseconds);
    },
    flush,
  };
}

/** Joined from texts: copying the fields into one object would cost every audited call more than writing them does. */
function toJsonLine(time: string, level: LogLevel, event: string, fields: LogFields | undefined): string {
  const head = `{"time":"${time}","level":"${level}","event":${JSON.stringify(event)}`;
  const rest = fields === undefined ? "{}" : JSON.stringify(fields);
  return rest === "{}" ? `${head}}` : `${head},${rest.slice(1)}`;
}

let lastSecond = Number.NaN;
let lastPrefix = "";

/** RFC 3339 in UTC. The part down to the second is kept: under load, lines of one second follow each other. */
function isoTime(now: number): string {
  const second = Math.floor(now / 1_000);
  if (second !== lastSecond) {
    lastSecond = second;
    lastPrefix = new Date(second * 1_000).toISOString().slice(0, 20);
  }
  return `${lastPrefix}${String(Math.floor(now) % 1_000).padStart(3, "0")}Z`;
}
