/**
 * Holds a disk workspace to its quotas. The tree is measured before the first write and again from time to time, since
 * other programs write there too; in between, what this process writes is added up.
 */
import { failure, success } from "../../lib/result.ts";
import type { Clock } from "../../lib/time.ts";
import type { DiskAccess } from "./directory.ts";
import { walkTree } from "./scan.ts";
import type { Outcome, WorkspaceLimits } from "../workspace/port.ts";

/** Room that is left in a workspace. */
export interface DiskQuota {
  /** Makes sure that {@link DiskQuota.check} knows what is used. Costs nothing without quotas. */
  measure(): Promise<void>;
  /** Refuses growth past a quota. */
  check(bytes: number, entries: number): Outcome<null>;
  /** Counts what was added, or with negative numbers taken away. */
  add(bytes: number, entries: number): void;
  /** Holds room for a content on its way, so many bytes in all, or refuses more; 0 gives it back. */
  hold(name: string, bytes: number): Outcome<null>;
  /** Forgets the measurement, after a change whose extent is not known. */
  forget(): void;
}

const measurementLifetimeMilliseconds = 60_000;

/** Keeps the quotas of `limits` for the whole tree. Of `clock` only differences are used. */
export function createDiskQuota(access: DiskAccess, limits: WorkspaceLimits, clock: Clock): DiskQuota {
  const { maxTotalBytes, maxFiles } = limits;
  const hasQuota = maxTotalBytes !== null || maxFiles !== null;
  let used = { bytes: 0, entries: 0 };
  let measuredAt: number | null = null;
  let measuring: Promise<void> | null = null;
  const held = new Map<string, number>();
  let heldBytes = 0;

  const measureNow = async (): Promise<void> => {
    const found = { bytes: 0, entries: 0 };
    for await (const { info, isForeign } of walkTree(access, [], { skipUnreachable: true })) {
      found.entries++;
      if (info.isFile && !isForeign) found.bytes += info.size;
    }
    used = found;
    measuredAt = clock();
  };
  const check: DiskQuota["check"] = (bytes, entries) => {
    if (maxTotalBytes !== null && bytes > 0 && used.bytes + heldBytes + bytes > maxTotalBytes) {
      return failure({ reason: "quota", limit: maxTotalBytes, unit: "bytes" });
    }
    if (maxFiles !== null && entries > 0 && used.entries + entries > maxFiles) {
      return failure({ reason: "quota", limit: maxFiles, unit: "files" });
    }
    return success(null);
  };
  return {
    async measure() {
      if (!hasQuota || (measuredAt !== null && clock() - measuredAt < measurementLifetimeMilliseconds)) return;
      measuring ??= measureNow().finally(() => measuring = null);
      await measuring;
    },
    check,
    hold(name, bytes) {
      const more = bytes - (held.get(name) ?? 0);
      const room = more > 0 ? check(more, 0) : success(null);
      if (!room.ok) return room;
      heldBytes += more;
      if (bytes === 0) held.delete(name);
      else held.set(name, bytes);
      return room;
    },
    add(bytes, entries) {
      used = { bytes: used.bytes + bytes, entries: used.entries + entries };
    },
    forget() {
      measuredAt = null;
    },
  };
}
