/**
 * Reports to the caller what the model has written so far: an update for each 100 ms or 1 KB of text, and a sign of life
 * while nothing arrives, because clients give up on a silent call after a minute. `progress` counts tokens; the signs of
 * life before the first one lie between 0 and 1, since each update must be greater than the last (MCP progress).
 */
import type { Clock } from "../lib/time.ts";
import type { ProgressUpdate } from "../mcp/mod.ts";
import type { CallsAhead } from "./port.ts";

/** When updates are sent. */
export interface ProgressPace {
  readonly flushMs: number;
  readonly flushCharacters: number;
  readonly waitingMs: number;
}

/** A pace that suits the known clients. */
export const defaultProgressPace: ProgressPace = { flushMs: 100, flushCharacters: 1024, waitingMs: 10_000 };

/** Collects tokens and sends updates. */
interface ProgressReporter {
  /** The call waits in line: says so at once, and its place with each sign of life. */
  inLine(ahead: CallsAhead): void;
  /** One token: its visible text, empty for one of the model's thinking. */
  token(text: string): void;
  /** Sends what is left and ends the timers; nothing is sent afterwards. */
  stop(): void;
}

/** Starts reporting: the signs of life begin at once. */
export function startProgress(
  send: (update: ProgressUpdate) => void,
  { total, pace, clock }: { readonly total: number; readonly pace: ProgressPace; readonly clock: Clock },
): ProgressReporter {
  let tokens = 0;
  let sent = 0;
  let pending = "";
  let lastSent = -Infinity; // the first token is sent at once
  let signs = 0;
  let flushTimer: ReturnType<typeof setTimeout> | undefined;
  let callsAhead: CallsAhead = () => null;
  const showLife = (): void => {
    signs += 1;
    send({ progress: signs / (signs + 1), total, message: waitingMessage(callsAhead()) });
  };
  let waitingTimer: ReturnType<typeof setInterval> | undefined = setInterval(showLife, pace.waitingMs);

  const flush = (): void => {
    clearTimeout(flushTimer);
    flushTimer = undefined;
    if (tokens === sent) return;
    const message = pending;
    [sent, pending, lastSent] = [tokens, "", clock()];
    send({ progress: tokens, total: Math.max(total, tokens), ...(message === "" ? {} : { message }) });
  };

  return {
    inLine(ahead) {
      callsAhead = ahead;
      showLife();
    },
    token(text) {
      clearInterval(waitingTimer);
      waitingTimer = undefined;
      tokens += 1;
      pending += text;
      if (pending.length >= pace.flushCharacters) return flush();
      if (flushTimer !== undefined) return;
      const due = lastSent + pace.flushMs - clock();
      if (due <= 0) flush();
      else flushTimer = setTimeout(flush, due);
    },
    stop() {
      clearInterval(waitingTimer);
      flush();
    },
  };
}

function waitingMessage(ahead: number | null): string {
  switch (ahead) {
    case null:
      return "waiting for the model";
    case 0:
      return "waiting in line for the model: next";
    case 1:
      return "waiting in line for the model: 1 call is ahead";
    default:
      return `waiting in line for the model: ${ahead} calls are ahead`;
  }
}
