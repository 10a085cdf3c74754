/** Wires the rate limits: which are shared by all instances, and which each instance counts for itself. */
import type { Config } from "./config/config.ts";
import { createRateLimiter, createSharedRateLimiter, type RateLimiter } from "../http/mod.ts";
import type { AgreedClock } from "../lib/time.ts";
import type { Parts } from "./installation.ts";

const minute = 60_000;
/** For each user; an instance has its own limits. */
export const servicenowCallsPerMinute = 240;
/** For each address. */
const healthChecksPerMinute = 30;

/** One instance alone on its storage counts in memory only. */
export function createRateLimits(
  config: Config,
  { storage, secrets, clock, agreedClock, timers, log, bounds }: Parts & { readonly agreedClock: AgreedClock },
) {
  const { rateLimit } = config;
  const hideKey = (key: string): string => secrets.authenticate("rate-limit", key);
  const limiter = (name: string, count: number, windowMs: number): RateLimiter => {
    if (!mayHaveSeveralInstances(config)) return createRateLimiter({ count, windowMs, clock: timers.elapsed });
    return createSharedRateLimiter({ name, count, windowMs, storage, hideKey, clock, agreedClock, log });
  };
  return {
    toolCalls: limiter("tool_calls", rateLimit.toolCallsPerMinute, minute),
    servicenowCalls: limiter("servicenow_calls", servicenowCallsPerMinute, minute),
    oauthAttempts: limiter("oauth_attempts", rateLimit.oauthFailuresPerQuarterHour, 15 * minute),
    registrations: limiter("registrations", Math.ceil(rateLimit.oauthFailuresPerQuarterHour / 5), 60 * minute),
    // By each instance for itself: a question about one instance is no reason to write into the storage of all.
    healthChecks: createRateLimiter({
      count: bounds.healthChecksPerMinute ?? healthChecksPerMinute,
      windowMs: minute,
      clock: timers.elapsed,
    }),
  };
}

/** Whether another instance may answer the next request. */
export function mayHaveSeveralInstances({ storage: { database }, onDeploy }: Config): boolean {
  return database !== undefined || onDeploy;
}
