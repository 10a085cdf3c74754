/**
 * A lock across server instances: an entry that only one of them can create, and that expires if its holder dies. After a
 * refresh that could not reach the instance it stays for a while, so that the others do not try either.
 */
import * as z from "zod";
import { parseStored } from "../lib/storage_fault.ts";
import type { Clock } from "../lib/clock.ts";
import type { Batch, Storage, StorageKey, VersionCheck } from "../storage/port.ts";
import { type UnavailableCause, unavailableCauses } from "./failure.ts";

/** The state of the lock as one caller finds it. */
type LockAttempt =
  | { readonly state: "taken"; readonly lock: HeldLock }
  | { readonly state: "busy" }
  | { readonly state: "paused"; readonly because: UnavailableCause };

/** A lock that this caller holds. */
export interface HeldLock {
  /** Holds until another instance takes the lock over. */
  readonly check: VersionCheck;
  readonly key: StorageKey;
  release(): Promise<void>;
  /** Stops all refreshes for a while. */
  releaseToPause(because: UnavailableCause): Promise<void>;
}

const causes = Object.keys(unavailableCauses) as UnavailableCause[];
const lockSchema = z.object({ holder: z.string(), failed: z.enum(causes).nullable() });

/** After a refresh that could not reach the instance, no server tries again for this long. */
const failurePauseMs = 5_000;

/** Where the lock of a user's link is. */
export function refreshLockKey(subject: string): StorageKey {
  return ["servicenow_refresh", subject];
}

/** Tries to take the lock, once. */
export async function takeRefreshLock(
  storage: Storage,
  subject: string,
  { clock, lockMs }: { readonly clock: Clock; readonly lockMs: number },
): Promise<LockAttempt> {
  const key = refreshLockKey(subject);
  const present = await storage.get(key);
  if (present !== null) {
    const { failed } = parseStored(lockSchema, present.value, "servicenow_refresh_lock");
    return failed === null ? { state: "busy" } : { state: "paused", because: failed };
  }
  const holder = crypto.randomUUID();
  const taken = await storage.commit({
    checks: [{ key, version: null }],
    puts: [{ key, value: { holder, failed: null }, expiresAt: clock() + lockMs }],
  });
  const entry = taken ? await storage.get(key) : null;
  if (entry === null || parseStored(lockSchema, entry.value, "servicenow_refresh_lock").holder !== holder) {
    return { state: "busy" };
  }
  const check = { key, version: entry.version };
  const end = async (batch: Batch): Promise<void> => void await storage.commit({ checks: [check], ...batch });
  return {
    state: "taken",
    lock: {
      key,
      check,
      release: () => end({ deletes: [key] }),
      releaseToPause: (because) =>
        end({ puts: [{ key, value: { holder, failed: because }, expiresAt: clock() + failurePauseMs }] }),
    },
  };
}
