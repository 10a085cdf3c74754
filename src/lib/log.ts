/** Structured logging: one JSON object a line. No token, code, verifier or password is ever handed to it. */
import { addressKey } from "./network.ts";
import { systemTimers, type Timers } from "./time.ts";

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
