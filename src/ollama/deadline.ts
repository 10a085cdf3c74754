/**
 * One abort signal for a call: it fires when the caller cancels, when no first byte comes, when the stream stalls, or
 * when the whole takes too long, and remembers which. Two timers a call, however many tokens: the idle timer looks,
 * when it fires, how long ago the last piece came, and goes back to sleep for the rest.
 */
import type { Clock } from "../lib/time/clock.ts";

/** Why the signal fired. */
export type DeadlineReason = "cancelled" | "first_byte" | "idle" | "total" | "linger";

/** The timers around one call. */
export interface Deadline {
  readonly signal: AbortSignal;
  /** Why the signal fired; undefined while it has not. */
  readonly reason: DeadlineReason | undefined;
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

/** What a {@link Deadline} watches. */
interface DeadlineOptions {
  /** Only differences are used: `performance.now` serves, and no change of the wall clock disturbs it. */
  readonly clock: Clock;
  readonly caller: AbortSignal;
  readonly firstByteMilliseconds: number;
  readonly idleMilliseconds: number;
  readonly totalMilliseconds: number;
}

export function startDeadline(options: DeadlineOptions): Deadline {
  const { clock, caller, idleMilliseconds } = options;
  const controller = new AbortController();
  let reason: DeadlineReason | undefined;
  /** When the wait for the next piece began; undefined while a slow consumer makes us wait instead. */
  let waitingSince: number | undefined;
  let begun = false;

  const stop = (why: DeadlineReason): void => {
    if (controller.signal.aborted) return;
    reason = why;
    controller.abort();
  };
  const onCallerAbort = (): void => stop("cancelled");
  const onIdle = (): void => {
    const quiet = waitingSince === undefined ? 0 : clock() - waitingSince;
    if (quiet >= idleMilliseconds) stop("idle");
    else sleep(onIdle, idleMilliseconds - quiet);
  };
  const totalTimer = setTimeout(() => stop("total"), options.totalMilliseconds);
  let stepTimer = setTimeout(() => stop("first_byte"), options.firstByteMilliseconds);
  const sleep = (wake: () => void, milliseconds: number): void => {
    clearTimeout(stepTimer);
    stepTimer = setTimeout(wake, Math.max(1, Math.ceil(milliseconds)));
  };
  if (caller.aborted) stop("cancelled");
  else caller.addEventListener("abort", onCallerAbort, { once: true });

  return {
    signal: controller.signal,
    get reason() {
      return reason;
    },
    async piece(read) {
      waitingSince = clock();
      try {
        const piece = await read;
        controller.signal.throwIfAborted();
        return piece;
      } finally {
        waitingSince = undefined;
        if (!begun) sleep(onIdle, idleMilliseconds);
        begun = true;
      }
    },
    lingerFor: (milliseconds) => sleep(() => stop("linger"), milliseconds),
    dispose() {
      clearTimeout(totalTimer);
      clearTimeout(stepTimer);
      caller.removeEventListener("abort", onCallerAbort);
      controller.abort();
    },
  };
}
