/**
 * Slows down guessing of passphrases: a delay that grows with each failure, by address and over all addresses together.
 * The delay is an answer (429 and Retry-After), never a held connection, and it always ends.
 */
import type { Clock } from "../lib/clock.ts";

/** May an attempt be made now? */
export type ThrottleDecision = { readonly ok: true } | { readonly ok: false; readonly retryAfterSeconds: number };

/** Counts attempts. An attempt counts as failed from its beginning, so that parallel ones gain nothing. */
export interface PasswordThrottle {
  begin(address: string, known: boolean): ThrottleDecision;
  /** Takes back the one attempt that succeeded; earlier failures stay, so that nobody wipes them by signing in as themselves. */
  succeed(address: string, known: boolean): void;
}

interface Bucket {
  failures: number;
  readonly freeFailures: number;
  readonly maxDelaySeconds: number;
  notBefore: number;
  lastAt: number;
}

const forgetAfterMilliseconds = 3_600_000;
const maxAddresses = 10_000;
const newAddressBucket = (): Bucket => ({
  failures: 0,
  freeFailures: 5,
  maxDelaySeconds: 300,
  notBefore: 0,
  lastAt: 0,
});
const newGlobalBucket = (): Bucket => ({ failures: 0, freeFailures: 50, maxDelaySeconds: 5, notBefore: 0, lastAt: 0 });

/**
 * Builds the throttle. `known` attempts come from a browser in which the same person signed in before: they skip the common delay, so that
 * a distributed attack cannot keep the owner out, and count by browser instead of by address.
 */
export function createPasswordThrottle(clock: Clock): PasswordThrottle {
  const addresses = new Map<string, Bucket>();
  let everyone = newGlobalBucket();

  const remaining = (bucket: Bucket, now: number): number => Math.ceil((bucket.notBefore - now) / 1_000);
  const count = (bucket: Bucket, now: number): void => {
    bucket.failures++;
    bucket.lastAt = now;
    const excess = bucket.failures - bucket.freeFailures;
    if (excess > 0) bucket.notBefore = now + 1_000 * Math.min(2 ** Math.min(excess - 1, 20), bucket.maxDelaySeconds);
  };
  const forgive = (bucket: Bucket | undefined): void => {
    if (bucket === undefined) return;
    bucket.failures = Math.max(0, bucket.failures - 1);
    bucket.notBefore = 0;
  };
  const bucketOf = (address: string, now: number): Bucket => {
    const present = addresses.get(address);
    if (present !== undefined && now - present.lastAt < forgetAfterMilliseconds) return present;
    addresses.delete(address);
    const oldest = addresses.keys().next();
    if (addresses.size >= maxAddresses && !oldest.done) addresses.delete(oldest.value);
    const fresh = newAddressBucket();
    addresses.set(address, fresh);
    return fresh;
  };
  return {
    begin(address, known) {
      const now = clock();
      if (now - everyone.lastAt >= forgetAfterMilliseconds) everyone = newGlobalBucket();
      const bucket = bucketOf(address, now);
      const wait = Math.max(remaining(bucket, now), known ? 0 : remaining(everyone, now));
      if (wait > 0) return { ok: false, retryAfterSeconds: wait };
      count(bucket, now);
      if (!known) count(everyone, now);
      return { ok: true };
    },
    succeed(address, known) {
      forgive(addresses.get(address));
      if (!known) forgive(everyone);
    },
  };
}
