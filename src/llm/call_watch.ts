/**
 * One abort signal for a call: it fires when the caller cancels, when the stream stalls, or when the whole takes too
 * long, and remembers which. Two timers a call, however many tokens: the idle timer looks, when it fires, how long ago
 * the last piece came, and goes back to sleep for the rest.
 */
import type { Clock } from "../lib/clock.ts";

/** Why the signal fired: `first_byte` when the total time was over before any piece came. */
export type EndReason = "cancelled" | "first_byte" | "idle" | "total";

/** The timers around one call. */
export interface ModelCallWatch {
  readonly signal: AbortSignal;
  /** Why the signal fired; undefined while it has not. */
  readonly reason: EndReason | undefined;
  /**
   * Waits for the next piece of the answer; only while this lasts can the stream be idle. Throws once the signal has
   * fired, whatever the read says.
   */
  piece<T>(read: Promise<T>): Promise<T>;
  /** The answer is complete; what is left of the connection may take this long. */
  lingerFor(milliseconds: number): void;
  /** Ends the timers and, unless the answer was read to its end, the connection. */
  dispose(): void;
}

export interface CallWatchOptions {
  /** Only differences are used: `performance.now` serves, and no change of the wall clock disturbs it. */
  readonly clock: Clock;
  readonly caller: AbortSignal;
  readonly idleMs: number;
  readonly totalMs: number;
}

export function watchCall({ clock, caller, idleMs, totalMs }: CallWatchOptions): ModelCallWatch {
  const timeUp = new AbortController();
  const signal = AbortSignal.any([caller, timeUp.signal]);
  let timeUpReason: EndReason | undefined;
  /** When the wait for the next piece began; undefined while the consumer, not Ollama, is slow. */
  let waitingSince: number | undefined;
  let idleTimer: ReturnType<typeof setTimeout> | undefined;
  let begun = false;

  const stop = (reason: EndReason): void => {
    timeUpReason ??= reason;
    timeUp.abort();
  };
  const lookForSilence = (): void => {
    const quietMs = waitingSince === undefined ? 0 : clock() - waitingSince;
    if (quietMs >= idleMs) stop("idle");
    else idleTimer = setTimeout(lookForSilence, Math.max(1, Math.ceil(idleMs - quietMs)));
  };
  const totalTimer = setTimeout(() => stop(begun ? "total" : "first_byte"), totalMs);

  return {
    signal,
    get reason() {
      return timeUpReason ?? (caller.aborted ? "cancelled" : undefined);
    },
    async piece(read) {
      waitingSince = clock();
      try {
        const piece = await read;
        signal.throwIfAborted();
        return piece;
      } finally {
        waitingSince = undefined;
        if (!begun) lookForSilence();
        begun = true;
      }
    },
    lingerFor(milliseconds) {
      clearTimeout(idleTimer);
      idleTimer = setTimeout(() => stop("idle"), milliseconds);
    },
    dispose() {
      clearTimeout(totalTimer);
      clearTimeout(idleTimer);
      timeUp.abort();
    },
  };
}
