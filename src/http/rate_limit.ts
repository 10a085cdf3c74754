/** Rate limits by the generic cell rate algorithm: one number a key, whatever the rate. */
import { type Admission, admitted, type Throttled } from "../lib/admission.ts";
import type { Clock } from "../lib/clock.ts";

/** Counts against keys such as a principal or an address. */
export interface RateLimiter {
  /** Takes `cost` from the key's allowance if it has that much left. Promised where others have to be asked first. */
  take(key: string, cost?: number): Admission | Promise<Admission>;
  /**
   * Takes `cost` even beyond the allowance: for what only turns out afterwards, such as a failed attempt. A negative
   * cost gives back.
   */
  charge(key: string, cost: number): void;
  /** The refusal that the next `take` would get by what is known here, without taking anything; `null` for none. */
  refusal(key: string): Throttled | null;
}

/** A {@link RateLimiter} that counts in this process only, and so knows at once. */
interface LocalRateLimiter extends RateLimiter {
  take(key: string, cost?: number): Admission;
}

/** How much is allowed. */
export interface Rate {
  readonly count: number;
  readonly windowMs: number;
}

/** Never more debt than this many windows: a flood from a shared address must not shut it out for longer. */
export const maxDebtWindows = 2;

/** How many keys make room together: to look through all of them for each new one would let a flood of keys stop all. */
export function forgottenAtOnce(maxKeys: number): number {
  return Math.ceil(maxKeys / 16);
}

/**
 * Allows `count` within `windowMs`, in a burst or spread out. At most `maxKeys` keys are remembered: past
 * that, those with a full allowance go first, then the oldest.
 */
export function createRateLimiter(
  { count, windowMs, clock, maxKeys = 100_000 }: Rate & {
    /** Only differences are used: `Timers.elapsed`, which no change of the wall clock disturbs. */
    readonly clock: Clock;
    readonly maxKeys?: number;
  },
): LocalRateLimiter {
  const interval = windowMs / count;
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
      if (fullAt.size <= maxKeys - forgottenAtOnce(maxKeys)) return;
      fullAt.delete(key);
    }
  };
  return {
    take(key, cost = 1) {
      const now = clock();
      const next = fullAfter(key, cost, now);
      const refusal = refusalOf(next - now - windowMs);
      if (refusal !== null) return refusal;
      remember(key, next, now);
      return admitted;
    },
    charge(key, cost) {
      const now = clock();
      remember(key, Math.min(fullAfter(key, cost, now), now + maxDebtWindows * windowMs), now);
    },
    refusal(key) {
      const now = clock();
      return refusalOf(fullAfter(key, 1, now) - now - windowMs);
    },
  };
}

/** The answer to a request that comes this much too soon; `null` when it does not. */
export function refusalOf(waitMs: number): Throttled | null {
  if (waitMs <= 1e-6) return null;
  return { ok: false, retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1_000)) };
}
