/** Checks a passphrase: behind the throttle, and without telling which names exist. */
import type { Admission } from "../lib/join_next.ts";
import type { AgreedClock } from "../lib/time.ts";
import type { AuthorizationServerOptions } from "./context.ts";
import {
  conflict,
  noPassphrase,
  retryOnConflict,
  type SignInAttempts,
  signInAttempts,
  type Stored,
  unchanged,
} from "./records.ts";
import { addressKey } from "../lib/network.ts";
import type { SecretBox } from "../lib/secrets.ts";
import type { Browser, Browsers } from "./browser_sessions.ts";
import { hiddenText } from "./refusal.ts";
import { canVerify, hashPassword, isOutdatedHash, type PasswordHasher } from "./password_hash.ts";
import type { Account, UserDirectory } from "./manage_users.ts";

// * Slows down guessing of passphrases: a delay that grows with each failure, by address and over all addresses together.
// The delay is an answer (429 and Retry-After), never a held connection, and it always ends. The counts are in the
// storage: attempts that are spread over instances gain nothing, nor does waiting for a restart.

/** Counts attempts. An attempt counts as failed from its beginning, so that parallel ones gain nothing. */
export interface PasswordThrottle {
  begin(address: string, known: boolean): Promise<Admission>;
  /**
   * Uncounts the one attempt that succeeded. Earlier failures stay: attackers must not wipe them by signing in as
   * themselves.
   */
  succeed(address: string, known: boolean): Promise<void>;
}

interface Bucket {
  readonly id: string;
  readonly freeFailures: number;
  readonly maxDelaySeconds: number;
}

const forgetAfterMs = 3_600_000;
/** Records expire by the wall clock, which may jump: well after their counts end by the agreed clock. */
const keptMs = 24 * forgetAfterMs;
const everyone: Bucket = { id: "everyone", freeFailures: 50, maxDelaySeconds: 5 };
const noAttempts: SignInAttempts = { failures: 0, notBefore: 0, lastAt: 0 };

/**
 * Builds the throttle. `known` attempts come from a browser in which the same user signed in before: they skip the
 * common delay, so that a distributed attack cannot keep the owner out, and count by browser instead of by address.
 */
export function createPasswordThrottle(
  { storage, secrets, clock, agreedClock }: Pick<AuthorizationServerOptions, "storage" | "secrets" | "clock"> & {
    readonly agreedClock: AgreedClock;
  },
): PasswordThrottle {
  const bucketsOf = (address: string, known: boolean): readonly Bucket[] => {
    const id = secrets.authenticate("sign-in-attempts", address);
    const own: Bucket = { id, freeFailures: 5, maxDelaySeconds: 300 };
    return known ? [own] : [own, everyone];
  };
  const read = async (buckets: readonly Bucket[]): Promise<readonly (Stored<SignInAttempts> | null)[]> => {
    const found = await Promise.all(buckets.map(({ id }) => signInAttempts.read(storage, id)));
    for (const stored of found) if (stored !== null) agreedClock.catchUp(stored.value.lastAt);
    return found;
  };
  const commit = (
    buckets: readonly Bucket[],
    before: readonly (Stored<SignInAttempts> | null)[],
    change: (attempts: SignInAttempts, bucket: Bucket) => SignInAttempts,
  ): Promise<boolean> => {
    const now = agreedClock.now();
    return storage.commit({
      checks: buckets.map(({ id }, index) => {
        const stored = before[index] ?? null;
        return stored === null ? { key: signInAttempts.key(id), version: null } : unchanged(stored);
      }),
      puts: buckets.map((bucket, index) => {
        const next = change(attemptsOf(before[index] ?? null, now), bucket);
        return signInAttempts.put(bucket.id, next, clock() + keptMs);
      }),
    });
  };
  const inTurn = createQueue();
  return {
    async begin(address, known) {
      const buckets = bucketsOf(address, known);
      const waitOf = (before: readonly (Stored<SignInAttempts> | null)[]): number =>
        Math.max(...buckets.map((bucket, index) => remaining(bucket, before[index] ?? null, agreedClock.now())));
      // Before the queue: callers who must wait are told so at once, and a flood of them writes nothing.
      const wait = waitOf(await read(buckets));
      if (wait > 0) return { ok: false, retryAfterSeconds: wait };
      return await inTurn(() =>
        retryOnConflict<Admission>(async () => {
          const before = await read(buckets);
          const retryAfterSeconds = waitOf(before);
          if (retryAfterSeconds > 0) return { ok: false, retryAfterSeconds };
          const now = agreedClock.now();
          const done = await commit(buckets, before, (attempts, bucket) => countFailure(attempts, bucket, now));
          return done ? { ok: true } : conflict;
        })
      );
    },
    async succeed(address, known) {
      const buckets = bucketsOf(address, known);
      await inTurn(() =>
        retryOnConflict(async () => {
          const done = await commit(buckets, await read(buckets), (attempts) => ({
            ...attempts,
            failures: Math.max(0, attempts.failures - 1),
            notBefore: 0,
          }));
          return done ? null : conflict;
        })
      );
    },
  };
}

function attemptsOf(stored: Stored<SignInAttempts> | null, now: number): SignInAttempts {
  const isFresh = stored !== null && now - stored.value.lastAt < forgetAfterMs;
  return isFresh ? stored.value : noAttempts;
}

function remaining({ maxDelaySeconds }: Bucket, stored: Stored<SignInAttempts> | null, now: number): number {
  const seconds = Math.ceil((attemptsOf(stored, now).notBefore - now) / 1_000);
  return Math.min(seconds, maxDelaySeconds);
}

function countFailure({ failures, notBefore }: SignInAttempts, bucket: Bucket, now: number): SignInAttempts {
  const excess = failures + 1 - bucket.freeFailures;
  const delaySeconds = Math.min(2 ** Math.min(excess - 1, 20), bucket.maxDelaySeconds);
  return { failures: failures + 1, notBefore: excess > 0 ? now + 1_000 * delaySeconds : notBefore, lastAt: now };
}

/** One after another within this instance: only instances contend for the counts, not the requests of each. */
function createQueue(): <T>(step: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve();
  return (step) => {
    const done = last.then(step, step);
    last = done.catch(() => {});
    return done;
  };
}

interface PassphraseChecks {
  readonly users: UserDirectory;
  readonly browsers: Browsers;
  readonly secrets: SecretBox;
  readonly passwords: PasswordHasher;
  readonly throttle: PasswordThrottle;
}

/** An attempt, from a browser at an address. */
interface Attempt {
  readonly browser: Browser;
  readonly userName: string;
  readonly passphrase: string;
  readonly address: string;
}

/** How an attempt went. `user` is fit for the log: an unknown name is hidden in it. */
type PassphraseOutcome =
  | { readonly ok: true; readonly user: string; readonly account: Account }
  | {
    readonly ok: false;
    readonly user: string;
    readonly reason:
      | "too_many_attempts"
      | "busy"
      | "unknown_user"
      | "disabled_user"
      | "wrong_passphrase"
      | "no_argon2id";
    /** Not judged: the caller has to wait. `null` for a wrong name or passphrase. */
    readonly retryAfterSeconds: number | null;
  };

const busySeconds = 2;

export async function verifyPassphrase(checks: PassphraseChecks, attempt: Attempt): Promise<PassphraseOutcome> {
  const { users, browsers, secrets, passwords, throttle } = checks;
  const { browser, userName, passphrase, address } = attempt;
  const account = await users.find(userName);
  const user = account === null ? hiddenText(secrets, userName) : account.id;
  const known = await browsers.isKnown(browser, userName);
  const throttleKey = known ? `browser ${browser.hash}` : addressKey(address);
  const admission = await throttle.begin(throttleKey, known);
  if (!admission.ok) {
    return { ok: false, user, reason: "too_many_attempts", retryAfterSeconds: admission.retryAfterSeconds };
  }
  // An unknown name, and a hash of another runtime, cost as much time as a wrong passphrase, so that names cannot be told apart.
  const hash = account?.passwordHash ?? noPassphrase;
  const isVerifiable = hash !== noPassphrase && await canVerify(hash);
  const verified = await passwords.verify(passphrase, isVerifiable ? hash : await decoyHash());
  if (verified === "busy") return { ok: false, user, reason: "busy", retryAfterSeconds: busySeconds };
  if (account === null || !isVerifiable || !verified) {
    const isDisabled = await users.isDisabled(userName); // for every refusal, so that none takes longer
    const reason = account === null
      ? isDisabled ? "disabled_user" : "unknown_user"
      : isVerifiable || hash === noPassphrase
      ? "wrong_passphrase"
      : "no_argon2id";
    return { ok: false, user, reason, retryAfterSeconds: null };
  }
  await throttle.succeed(throttleKey, known);
  if (await isOutdatedHash(account.passwordHash)) {
    const renewed = await passwords.hash(passphrase);
    if (renewed !== "busy") await users.keepHash(account, renewed);
  }
  return { ok: true, user, account };
}

let decoy: Promise<string> | undefined;

function decoyHash(): Promise<string> {
  decoy ??= hashPassword(crypto.randomUUID());
  return decoy;
}
