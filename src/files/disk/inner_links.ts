/**
 * Files with several names (hard links) of which all are in the workspace. A name elsewhere would let the callers read a
 * file of another place, so each name is looked for; only someone who writes the directory itself can make one.
 */
import type { Timers } from "../../lib/time.ts";
import { stagingDirectoryName } from "../workspace/path.ts";
import type { Outcome, WorkspaceLimits } from "../workspace/port.ts";
import { type DiskAccess, type DiskInfo, toRefusal } from "./directory.ts";
import { trashDirectoryName } from "./trash_directory.ts";
import { walkTree } from "./scan.ts";

/** How soon names are looked for again: it takes a walk through all of the workspace. */
const recountMilliseconds = 5_000;
/** Files with several names that are remembered. */
const maxFiles = 100_000;

export interface InnerLinks {
  /** Whether all names were found, and none was added or moved since. */
  has(info: Pick<DiskInfo, "dev" | "ino" | "nlink" | "ctime">): boolean;
  /** Does it again where a file with several names was refused, once these were looked for. */
  settle<T>(operate: () => T | Promise<T>): T | Promise<T>;
}

export function createInnerLinks(
  access: DiskAccess,
  { maxTreeEntries }: WorkspaceLimits,
  elapsed: Timers["elapsed"],
  recountAfter = recountMilliseconds,
): InnerLinks {
  let found = new Map<string, number>();
  let counting: Promise<boolean> | null = null;
  let countedAt = -Infinity;
  const keyOf = ({ dev, ino, nlink, ctime }: Parameters<InnerLinks["has"]>[0]): string =>
    [dev, ino, nlink, ctime?.getTime()].join(" ");
  const count = async (): Promise<boolean> => {
    if (elapsed() - countedAt < recountAfter) return false;
    const names = new Map<string, number>();
    let entries = 0;
    try {
      for (const at of [[], [stagingDirectoryName, trashDirectoryName]]) { // what changes replaced has its names, too
        for await (const { info, isForeign } of walkTree(access, at.slice(1), { skipUnreachable: true, at })) {
          if (++entries > maxTreeEntries || names.size >= maxFiles) break;
          if (isForeign || !info.isFile || (info.nlink ?? 1) < 2) continue;
          const key = keyOf(info);
          names.set(key, (names.get(key) ?? 0) + 1);
        }
      }
    } catch (error) {
      toRefusal(error); // the workspace is gone
    }
    found = names;
    countedAt = elapsed();
    return true;
  };
  const isHidden = (outcome: unknown): boolean => {
    const { ok, error } = outcome as Outcome<unknown> & { error?: { reason: string; because?: string } };
    return !ok && error?.reason === "denied" && error.because === "hard_link";
  };
  return {
    has: (info) => found.get(keyOf(info)) === info.nlink,
    settle(operate) {
      const settled = <T>(outcome: T, again: () => T | Promise<T>): T | Promise<T> => {
        if (!isHidden(outcome)) return outcome;
        counting ??= count().finally(() => counting = null);
        return counting.then((isNew) => isNew ? again() : outcome);
      };
      const first = operate();
      return first instanceof Promise ? first.then((outcome) => settled(outcome, operate)) : settled(first, operate);
    },
  };
}
