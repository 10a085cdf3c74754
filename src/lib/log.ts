/**
 * Structured logging, one JSON object a line: what a line carries, which lines of strangers are counted, how lines are
 * written. No token, code, verifier or password is ever handed to it.
 */
import { addressKey } from "./network.ts";
import { atMost, type Clock, pause, systemClock, systemTimers, type Timers } from "./time.ts";
import { withCommandLines } from "./program_name.ts";

/** Field values a log line may carry. */
export type LogFields = Readonly<Record<string, string | number | boolean | null | readonly string[] | undefined>>;

/** How much a line matters. `audit` lines record who did what and are never filtered out. */
export type LogLevel = "debug" | "info" | "warn" | "error" | "audit";

/** Writes structured lines; `event` is a stable snake_case name. */
export interface Log {
  write(level: LogLevel, event: string, fields?: LogFields): void;
  /** Forces out everything written so far. */
  flush(): void;
}

// * Keeps strangers from filling the log: of lines that anyone can cause, the first few of each kind are written as
// they are, those after them are counted, and the count follows as one line. Everything else passes.

interface Kind {
  readonly level: LogLevel;
  readonly event: string;
  readonly fields: LogFields;
  written: number;
  repeated: number;
}

/** How repeats are counted. */
export interface RepeatBounds {
  /** 0 writes every line. */
  readonly windowMs?: number;
  /** Lines of one kind that are written in a window. */
  readonly maxLines?: number;
  /** Kinds that are counted separately in a window. */
  readonly maxKinds?: number;
}

const repeatWindowMs = 60_000;
const maxRepeatedLines = 10;
const maxRepeatedKinds = 500;

/**
 * Wraps a log. A line is a stranger's when it reports a refusal, or a call without a token.
 * Its kind is its event, its reason, the client it names and the network that it came from. In one window `maxLines` of
 * a kind are written; of kinds beyond `maxKinds`, only the events are distinguished.
 */
export function summariseStrangers(log: Log, options: RepeatBounds & { readonly timers?: Timers }) {
  const { windowMs = repeatWindowMs, maxLines = maxRepeatedLines, maxKinds = maxRepeatedKinds } = options;
  const { timers = systemTimers } = options;
  const kinds = new Map<string, Kind>();
  let stopTimer: (() => void) | undefined;

  const summarise = (): void => {
    stopTimer?.();
    stopTimer = undefined;
    for (const { level, event, fields, repeated } of kinds.values()) {
      if (repeated > 0) log.write(level, event, { ...fields, repeated });
    }
    kinds.clear();
  };
  const isRepeated = (level: LogLevel, event: string, fields: LogFields): boolean => {
    const { outcome, reason, method, client, address } = fields;
    const told = { outcome, reason, method, client, address };
    const network = typeof address === "string" ? addressKey(address) : "";
    const name = JSON.stringify([event, reason, method, client, outcome, network]);
    const kind = kinds.get(name) ?? (kinds.size < maxKinds ? undefined : kinds.get(event));
    if (kind !== undefined) {
      if (kind.written < maxLines) {
        kind.written++;
        return false;
      }
      kind.repeated++;
      return true;
    }
    stopTimer ??= timers.after(windowMs, summarise);
    if (kinds.size < maxKinds) {
      kinds.set(name, { level, event, fields: told, written: 1, repeated: 0 });
      return false;
    }
    const several = { outcome, reason: "several", address: "several" };
    kinds.set(event, { level, event, fields: several, written: maxLines, repeated: 1 });
    return true;
  };
  return {
    write(level: LogLevel, event: string, fields?: LogFields) {
      if (windowMs > 0 && fields !== undefined && isStrangers(level, fields) && isRepeated(level, event, fields)) {
        return;
      }
      log.write(level, event, fields);
    },
    flush: () => log.flush(),
    /** Writes the counts so far and waits for no more. */
    close: summarise,
  };
}

function isStrangers(level: LogLevel, { outcome, reason, subject }: LogFields): boolean {
  if (level === "error") return false;
  const isRefusal = outcome === "refused" || outcome === "nothing_to_revoke" || (level === "warn" && reason);
  return subject === null || Boolean(isRefusal);
}

// * The `Log` that writes lines, gathered for a few milliseconds so that a line costs no system call. It never
// throws and never waits: lines that find the queue full are dropped, counted, and reported by a later line.

// A log line for people at a terminal: time, level, event, then `key=value` for its fields, the ids last.

// What a terminal, an editor or a reader of lines would obey instead of showing: controls of C1, line and paragraph
// separators, marks that turn the direction of writing. JSON.stringify leaves them as they are.
const unprintable = /[\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;
const isId = /(^i|I)d$/;
const plain = /^[\w.:\/@+-]+$/;

/** One line without its end. `time` is RFC 3339 in UTC, and absent values are left out. Values with blanks or signs of other than words are quoted as in JSON. */
export function toTextLine(time: string, level: LogLevel, event: string, fields: LogFields = {}): string {
  let line = `${time.slice(0, 10)} ${time.slice(11, 19)}Z ${level.toUpperCase().padEnd(5)} ${event}`;
  let ids = "";
  for (const [key, value] of Object.entries(fields)) {
    if (value === undefined || value === null) continue;
    const field = ` ${key}=${shown(value)}`;
    if (isId.test(key)) ids += field;
    else line += field;
  }
  return line + ids;
}

function shown(value: Exclude<LogFields[string], undefined>): string {
  if (typeof value === "number") return String(Math.round(value * 1_000) / 1_000);
  if (typeof value === "string" && plain.test(value)) return value;
  return escapeUnprintable(JSON.stringify(value));
}

/** The same JSON, with escapes for what would not be shown, or would end a line for some readers. */
export function escapeUnprintable(json: string): string {
  return json.replace(unprintable, (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

const encoder = new TextEncoder();
const gatherMs = 50;
const gatherCharacters = 360_000;
/** What waits while the lines before are being written. */
const maxWaitingCharacters = 1_048_576;
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
export function createJsonLog({ write, level, clock, format = "json" }: {
  readonly write: WriteLines;
  readonly level: Exclude<LogLevel, "audit">;
  readonly clock: Clock;
  readonly format?: LogFormat;
}): JsonLog {
  const toLine = format === "json" ? toJsonLine : toTextLine;
  let gathered = "";
  let count = 0;
  let dropped = 0;
  let writing: Promise<void> | null = null;
  let stopTimer: (() => void) | undefined;

  const append = (lineLevel: LogLevel, event: string, fields?: LogFields): void => {
    gathered += toLine(new Date(clock()).toISOString(), lineLevel, event, fields) + "\n";
    count += 1;
  };
  const handOver = (): void => {
    stopTimer?.();
    stopTimer = undefined;
    if (count === 0) return;
    const reported = dropped;
    if (reported > 0) append("warn", "log_lines_dropped", { lines: reported });
    dropped = 0;
    const written = write(encoder.encode(gathered));
    const lines = count;
    [gathered, count] = ["", 0];
    if (written === undefined) return;
    const done: Promise<void> = written.then((isWritten) => {
      if (!isWritten) dropped += reported > 0 ? reported + lines - 1 : lines;
      if (writing !== done) return;
      writing = null;
      // Lines that are not due wait for others: handed over a few at a time, they would wake two threads each time.
      if (stopTimer === undefined || gathered.length >= gatherCharacters) handOver();
    });
    writing = done;
  };
  const onTimer = (): void => {
    stopTimer = undefined;
    if (writing === null) handOver();
  };
  const writeAll = async (): Promise<void> => {
    while (writing !== null) {
      await writing;
      if (writing === null) handOver();
    }
  };
  return {
    write(lineLevel, event, fields) {
      if (ranks[lineLevel] < ranks[level]) return;
      if (writing !== null && gathered.length >= maxWaitingCharacters) {
        dropped += 1;
        return;
      }
      const remedy = fields?.["remedy"];
      append(lineLevel, event, typeof remedy === "string" ? { ...fields, remedy: withCommandLines(remedy) } : fields);
      if (gathered.length >= gatherCharacters && writing === null) handOver();
      else stopTimer ??= systemTimers.after(gatherMs, onTimer);
    },
    async flush() {
      handOver();
      await atMost(flushMs, writeAll(), null);
    },
  };
}

/**
 * The log on standard error: JSON, and at a terminal, unless the settings say which, lines for people. A person there
 * who asked for no level sees warnings and errors alone: pages show the rest, and the audit is stored.
 */
export function stderrLog(
  { logLevel, logFormat }: { readonly logLevel?: Exclude<LogLevel, "audit">; readonly logFormat?: LogFormat },
  write: WriteLines,
): JsonLog {
  const isTerminal = Deno.stderr.isTerminal();
  const isQuiet = isTerminal && logLevel === undefined && logFormat === undefined;
  const level = logLevel ?? (isQuiet ? "warn" : "info");
  const log = createJsonLog({ write, level, format: logFormat ?? (isTerminal ? "text" : "json"), clock: systemClock });
  if (!isQuiet) return log;
  return { ...log, write: (lineLevel, ...line) => lineLevel === "audit" ? undefined : log.write(lineLevel, ...line) };
}

function toJsonLine(time: string, level: LogLevel, event: string, fields: LogFields = {}): string {
  return escapeUnprintable(JSON.stringify({ time, level, event, ...fields }));
}

// * Text written to standard output or standard error, in order and without blocking this thread. Output that cannot be
// written is dropped, never thrown: a full disk, or a reader that is gone or slow, is no reason to stop working.

/** How a write went: `gone` is a reader that left, `failed` anything else, such as a full disk. */
type OutputState = "well" | "gone" | "failed";

/** A sink in non-blocking mode does not say when it takes more. */
const retryMs = 20;

/** Wraps a sink that nothing else in this isolate writes to; `written` is how it writes a text. */
export function createOutput(sink: { write(bytes: Uint8Array): Promise<number> }, written = (text: string) => text) {
  let state: OutputState = "well";
  let last: Promise<boolean> = Promise.resolve(true);

  const writeBytes = async (bytes: Uint8Array): Promise<void> => {
    for (let rest = bytes; rest.byteLength > 0;) {
      try {
        rest = rest.subarray(await sink.write(rest));
      } catch (error) {
        if (!(error instanceof Deno.errors.WouldBlock || error instanceof Deno.errors.Interrupted)) throw error;
        await pause(retryMs);
      }
    }
  };
  const writeOrDrop = async (bytes: Uint8Array): Promise<boolean> => {
    if (state === "gone") return false;
    try {
      await writeBytes(bytes);
      return true;
    } catch (error) {
      state = error instanceof Deno.errors.BrokenPipe ? "gone" : "failed";
      return false;
    }
  };
  return {
    /** Resolves with whether all of the text was written; never rejects. */
    write(text: string | Uint8Array): Promise<boolean> {
      const bytes = typeof text === "string" ? encoder.encode(written(text)) : text;
      return last = last.then(() => writeOrDrop(bytes));
    },
    /** Resolves when all text so far was written or dropped. */
    flush: async (): Promise<void> => void await last,
    /** Whether any text was dropped so far, and why. */
    get state(): OutputState {
      return state;
    },
  };
}
