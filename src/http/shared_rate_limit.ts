/**
 * Rate limits that all instances on one storage share, at no cost for most requests: each instance counts by itself and
 * settles with the storage when it has admitted a sixteenth of the allowance on its own, before it admits more, and
 * whenever a sixteenth of the window has passed.
 *
 * So N instances together admit at most N sixteenths (but at least one request each) more than the allowance, and write
 * nothing for what they refuse. Charges, which come after the fact, may go beyond that by the requests in flight. An
 * instance that is killed forgets at most its sixteenth; one that stops settles it. What was admitted counts as if at
 * the moment of settling, so that a steady caller may find the allowance up to a sixteenth smaller. While the storage is
 * lost, each instance counts for itself. Times are of the agreed clock; what an instance had settled before another one
 * with a later clock first settled may be admitted once more. Instances whose wall clocks are over two minutes apart take
 * the entries of the later one only into account: the other counts for itself.
 */
import * as z from "zod";
import { type Admission, admitted } from "../lib/admission.ts";
import type { AgreedClock } from "../lib/agreed_clock.ts";
import type { Clock } from "../lib/clock.ts";
import type { Log } from "../lib/log.ts";
import { systemTimers, type Timers } from "../lib/timers.ts";
import type { Storage, StorageKey } from "../storage/port.ts";
import { forgottenAtOnce, maxDebtWindows, type Rate, type RateLimiter, refusalOf } from "./rate_limit.ts";

export interface SharedRateLimiter extends RateLimiter {
  /** Settles what is not settled yet, and no more after that. */
  close(): Promise<void>;
}

interface SharedRateLimitOptions extends Rate {
  /** Names the limit in the storage; the same in every instance. */
  readonly name: string;
  readonly storage: Storage;
  /** Turns a key into the text under which it is stored: addresses are private. */
  readonly hideKey: (key: string) => string;
  /** When entries expire. */
  readonly clock: Clock;
  readonly agreedClock: AgreedClock;
  readonly timers?: Timers | undefined;
  readonly log: Log;
  readonly maxKeys?: number;
}

const shares = 16;
const keysAtOnce = 50;
const maxAttempts = 20;
const pauseAfterFailureMs = 1_000;
/** An entry outlives its debt by so much, since entries expire by the wall clock, and wall clocks differ. */
const clockToleranceMs = 120_000;
/** `at` is when it was settled; entries of earlier versions lack it. */
const stored = z.lazy(() => z.object({ fullAt: z.number(), at: z.number().optional() }));

interface Account {
  readonly key: StorageKey;
  /** When the allowance is full again, as far as this instance knows. */
  fullAt: number;
  /** What of it the storage does not know yet, in milliseconds. */
  unsettled: number;
}

/** Allows `count` within `windowMs`, in a burst or spread out, over all instances as the module says. */
export function createSharedRateLimiter(options: SharedRateLimitOptions): SharedRateLimiter {
  const { name, count, windowMs, storage, hideKey, clock, agreedClock, log, maxKeys = 100_000 } = options;
  const { timers = systemTimers } = options;
  const interval = windowMs / count;
  const ownShare = Math.max(interval, windowMs / shares);
  const accounts = new Map<string, Account>();
  const settling = new Map<Account, Promise<void>>();
  let lostUntil = 0;

  const accountOf = (key: string): Account => {
    const present = accounts.get(key);
    if (present !== undefined) return present;
    if (accounts.size >= maxKeys) forget(agreedClock.now());
    const account: Account = { key: ["rate_limit", name, hideKey(key)], fullAt: 0, unsettled: 0 };
    accounts.set(key, account);
    return account;
  };
  const forget = (now: number): void => {
    for (const [key, { fullAt, unsettled }] of accounts) if (unsettled <= 0 && fullAt <= now) accounts.delete(key);
    for (const key of accounts.keys()) {
      if (accounts.size <= maxKeys - forgottenAtOnce(maxKeys)) return;
      accounts.delete(key);
    }
  };
  const spend = (account: Account, debt: number, now: number): void => {
    account.fullAt = Math.min(Math.max(account.fullAt, now) + debt, now + maxDebtWindows * windowMs);
    account.unsettled = Math.min(account.unsettled + debt, maxDebtWindows * windowMs);
  };

  /** One commit for all of them; `false` when another instance settled one of them in between. */
  const settleOnce = async (batch: readonly Account[]): Promise<boolean> => {
    const entries = await Promise.all(batch.map(({ key }) => storage.get(key)));
    const found = entries.map((entry) => stored.safeParse(entry?.value).data);
    for (const entry of found) if (entry?.at !== undefined) agreedClock.catchUp(entry.at);
    const now = agreedClock.now();
    const most = now + maxDebtWindows * windowMs;
    const settled = batch.map((account, index) => {
      const before = Math.min(found[index]?.fullAt ?? 0, most);
      return { account, debt: account.unsettled, fullAt: Math.min(Math.max(before, now) + account.unsettled, most) };
    });
    const done = await storage.commit({
      checks: batch.map(({ key }, index) => ({ key, version: entries[index]?.version ?? null })),
      puts: settled.map(({ account: { key }, fullAt }) => ({
        key,
        value: { fullAt, at: now },
        expiresAt: clock() + fullAt - now + clockToleranceMs,
      })),
    });
    if (!done) return false;
    for (const { account, debt, fullAt } of settled) {
      account.unsettled = Math.max(0, account.unsettled - debt);
      account.fullAt = Math.min(fullAt + account.unsettled, most);
    }
    return true;
  };
  const settle = async (batch: readonly Account[]): Promise<void> => {
    try {
      for (let attempt = 0; attempt < maxAttempts; attempt++) {
        if (await settleOnce(batch)) return;
        if (batch.length === 1) continue;
        for (const account of batch) await settleAlone(account);
        return;
      }
    } catch (error) {
      lostUntil = agreedClock.now() + pauseAfterFailureMs;
      log.write("warn", "rate_limit_not_shared", { limit: name, error: String(error) });
    }
  };
  const settleAlone = (account: Account): Promise<void> => {
    const running = settling.get(account);
    if (running !== undefined) return running;
    const started = settle([account]).finally(() => settling.delete(account));
    settling.set(account, started);
    return started;
  };
  const settleAll = async (): Promise<void> => {
    await Promise.all(settling.values());
    const waiting = [...accounts.values()].filter(({ unsettled }) => unsettled > 0);
    for (let start = 0; start < waiting.length && agreedClock.now() >= lostUntil; start += keysAtOnce) {
      await settle(waiting.slice(start, start + keysAtOnce));
    }
  };

  const takeNow = (account: Account, cost: number): Admission | null => {
    const now = agreedClock.now();
    const debt = interval * cost;
    const refusal = refusalOf(Math.max(account.fullAt, now) + debt - now - windowMs);
    if (refusal !== null) return refusal;
    if (account.unsettled > 0 && account.unsettled + debt > ownShare + 1e-6 && now >= lostUntil) return null;
    spend(account, debt, now);
    return admitted;
  };
  const takeWhenSettled = async (account: Account, cost: number): Promise<Admission> => {
    for (;;) {
      await settleAlone(account);
      const admission = takeNow(account, cost);
      if (admission !== null) return admission;
    }
  };

  let running: Promise<void> = Promise.resolve();
  const stopSettling = timers.every(windowMs / shares, () => {
    running = running.then(settleAll);
  });
  return {
    take(key, cost = 1) {
      const account = accountOf(key);
      return takeNow(account, cost) ?? takeWhenSettled(account, cost);
    },
    charge(key, cost) {
      spend(accountOf(key), interval * cost, agreedClock.now());
    },
    refusal(key) {
      const now = agreedClock.now();
      return refusalOf(Math.max(accounts.get(key)?.fullAt ?? 0, now) + interval - now - windowMs);
    },
    async close() {
      stopSettling();
      await running;
      await settleAll();
    },
  };
}
