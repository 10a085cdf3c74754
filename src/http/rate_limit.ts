/** Rate limits by the generic cell rate algorithm: one number a key, whatever the rate. */
import type { Clock } from "../lib/clock.ts";

/** What a limiter answers: admitted, or how long to wait (for `Retry-After`, RFC 9110 §10.2.3). */
export type Admission = { readonly ok: true } | { readonly ok: false; readonly retryAfterSeconds: number };

/** Counts against keys such as a principal or an address. */
export interface RateLimiter {
  /** Takes `cost` from the key's allowance if it has that much left. */
  take(key: string, cost?: number): Admission;
  /** Takes `cost` even beyond the allowance: for what only turns out afterwards, such as a failed attempt. */
  charge(key: string, cost: number): void;
}

const admitted: Admission = { ok: true };

/**
 * Allows `count` within `windowMilliseconds`, in a burst or spread out. At most `maxKeys` keys are remembered: past
 * that, those with a full allowance go first, then the oldest.
 */
export function createRateLimiter(options: {
  readonly count: number;
  readonly windowMilliseconds: number;
  readonly clock: Clock;
  readonly maxKeys?: number;
}): RateLimiter {
  const { count, windowMilliseconds, clock, maxKeys = 100_000 } = options;
  const interval = windowMilliseconds / count;
  // Per key: the time at which its allowance is full again.
  const fullAt = new Map<string, number>();

  const fullAfter = (key: string, cost: number, now: number): number =>
    Math.max(fullAt.get(key) ?? 0, now) + interval * cost;
  const remember = (key: string, time: number, now: number): void => {
    if (fullAt.size >= maxKeys && !fullAt.has(key)) forget(now);
    fullAt.set(key, time);
  };
  const forget = (now: number): void => {
    for (const [key, time] of fullAt) if (time <= now) fullAt.delete(key);
    for (const key of fullAt.keys()) {
      if (fullAt.size < maxKeys) return;
      fullAt.delete(key);
    }
  };
  return {
    take(key, cost = 1) {
      const now = clock();
      const next = fullAfter(key, cost, now);
      const wait = next - now - windowMilliseconds;
      if (wait > 1e-6) return { ok: false, retryAfterSeconds: Math.max(1, Math.ceil(wait / 1_000)) };
      remember(key, next, now);
      return admitted;
    },
    charge(key, cost) {
      const now = clock();
      // Never more than one window of debt: a flood from a shared address must not shut it out for longer.
      remember(key, Math.min(fullAfter(key, cost, now), now + 2 * windowMilliseconds), now);
    },
  };
}
