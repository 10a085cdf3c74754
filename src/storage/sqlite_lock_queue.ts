/**
 * Steps that need a lock which other processes take too: in their order, each as soon as the lock is free. SQLite's own
 * waiting would block the one thread that serves all callers.
 */
import type { Timers } from "../lib/time.ts";

/** Steps that may wait; one more fails at once. */
const maxWaitingSteps = 1_000;
const firstRetryMs = 1;
const maxRetryMs = 20;

interface LockQueueOptions {
  /** Whether a step failed because the lock is held, and did nothing. */
  readonly isBusy: (error: unknown) => boolean;
  /** How long a step waits. */
  readonly timeoutMs: number;
  readonly timers: Timers;
}

/** The queue of one opening. */
interface LockQueue {
  /** Runs the step, in this turn of the event loop if the queue is empty. Rejects with what it throws last. */
  run<T>(step: () => T): Promise<T>;
  /** Runs each step that still waits once more, for better or worse. */
  close(): void;
}

interface Waiting {
  /** `false` while the lock is held and there is time left. */
  readonly attempt: (isLast: boolean) => boolean;
  readonly endsAt: number;
}

export function createLockQueue({ isBusy, timeoutMs, timers }: LockQueueOptions): LockQueue {
  const waiting: Waiting[] = [];
  let stopTimer: (() => void) | null = null;
  let delay = firstRetryMs;

  const lookLater = (milliseconds: number): void => {
    stopTimer = timers.after(milliseconds, look);
  };
  const look = (): void => {
    stopTimer = null;
    for (let head = waiting[0]; head !== undefined; head = waiting[0]) {
      const isLast = timers.elapsed() >= head.endsAt;
      if (!head.attempt(isLast)) {
        lookLater(delay);
        delay = Math.min(2 * delay, maxRetryMs);
        return;
      }
      waiting.shift();
      if (isLast) continue;
      delay = firstRetryMs;
      if (waiting.length > 0) return lookLater(0); // between two commits, others have their turn
    }
  };
  return {
    run<T>(step: () => T): Promise<T> {
      const { promise, resolve, reject } = Promise.withResolvers<T>();
      const attempt = (isLast: boolean): boolean => {
        try {
          resolve(step());
        } catch (error) {
          if (isBusy(error) && !isLast) return false;
          reject(error);
        }
        return true;
      };
      const isFull = waiting.length >= maxWaitingSteps;
      if ((waiting.length === 0 || isFull) && attempt(isFull)) return promise;
      waiting.push({ attempt, endsAt: timers.elapsed() + timeoutMs });
      if (stopTimer === null) lookLater(delay = firstRetryMs);
      return promise;
    },
    close() {
      stopTimer?.();
      for (const { attempt } of waiting.splice(0)) attempt(true);
    },
  };
}
