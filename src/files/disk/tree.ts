/** Walks the tree of a disk workspace, and what is counted by it: how much is there, and the names of files with several. */
import { nextTurn, whenReady } from "../../lib/turns.ts";
import { failure, success } from "../../lib/result.ts";
import { pause, systemTimers } from "../../lib/time.ts";
import type { AccessRules } from "../workspace/access_rules.ts";
import { isReserved, stagingDirectoryName } from "../workspace/path.ts";
import type { Eventually, Outcome, WorkspaceLimits } from "../workspace/port.ts";
import { type DiskAccess, type DiskInfo, errorCode, isForeign, toRefusal } from "./directory.ts";
import { trashDirectoryName } from "./staging.ts";

/**
 * Every entry below the directory with these names: its names below the root, and whether it is on another device, or
 * mounted. What disappears is left out; where another device is mounted the
 * walk tells so and goes no further. With `skipUnreachable` so is what may not be looked at, or lies too deep for the
 * system to name; otherwise that ends the walk with the system's error. With `at`, the directory lies there by now.
 */
export async function* walkTree(
  access: DiskAccess,
  segments: readonly string[],
  { skipUnreachable = false, at = segments }: {
    readonly skipUnreachable?: boolean;
    readonly at?: readonly string[];
  } = {},
) {
  const directories: (readonly string[])[] = [segments];
  const pathOf = (names: readonly string[]): string => [...at, ...names.slice(segments.length)].join("/") || ".";
  const root = access.root()?.status();
  const ignored = skipUnreachable ? unreachable : gone;
  let directory: readonly string[] | undefined;
  while (root !== undefined && (directory = directories.pop()) !== undefined) {
    const path = pathOf(directory);
    using listing = attempt(() => access.root()?.list(path) ?? null, ignored);
    for (const { name } of attempt(() => listing?.entries(), ignored) ?? []) {
      const below = [...directory, name];
      if (isReserved(below)) continue;
      const info = attempt(() => listing?.entryOf(name) ?? null, ignored);
      if (info === null) continue;
      await nextTurn();
      const foreign = isForeign(root, info);
      yield { segments: below, info, isForeign: foreign };
      if (info.isDirectory && !foreign) directories.push(below);
    }
  }
}

/** What is gone by now is left out. */
const gone: ReadonlySet<string> = new Set(["ENOENT", "ENOTDIR"]);
const unreachable: ReadonlySet<string> = new Set([...gone, "EACCES", "EPERM", "ENAMETOOLONG"]);

/** The system's answer, or `null` for a refusal that is to be ignored. */
function attempt<T>(look: () => T, ignored: ReadonlySet<string>): T | null {
  try {
    return look();
  } catch (error) {
    if (ignored.has(errorCode(error) ?? "")) return null;
    throw error;
  }
}

const { elapsed } = systemTimers;
const measurementLifetimeMilliseconds = 60_000;

/**
 * Holds a workspace to its quota. The tree is measured before the first write and again from time to time, since other
 * programs write there too; in between, what this process writes is added up.
 */
export function createDiskQuota(access: DiskAccess, { maxTotalBytes }: WorkspaceLimits) {
  let usedBytes = 0;
  let measuredAt = -Infinity;
  let measuring: Promise<void> | null = null;
  const held = new Map<string, number>();
  let heldBytes = 0;

  const measureNow = async (): Promise<void> => {
    let found = 0;
    for await (const { info, isForeign } of walkTree(access, [], { skipUnreachable: true })) {
      if (info.isFile && !isForeign) found += info.size;
    }
    usedBytes = found;
    measuredAt = elapsed();
  };
  /** Refuses growth past the quota. */
  const check = (bytes: number): Outcome<null> =>
    maxTotalBytes !== null && bytes > 0 && usedBytes + heldBytes + bytes > maxTotalBytes
      ? failure({ reason: "quota", limit: maxTotalBytes })
      : success(null);
  return {
    /** Makes sure that `check` knows what is used. Costs nothing without a quota. */
    async measure(): Promise<void> {
      if (maxTotalBytes === null || elapsed() - measuredAt < measurementLifetimeMilliseconds) return;
      measuring ??= measureNow().finally(() => measuring = null);
      await measuring;
    },
    check,
    /** Holds room for a content on its way, so many bytes in all, or refuses more; 0 gives it back. */
    hold(name: string, bytes: number): Outcome<null> {
      const more = bytes - (held.get(name) ?? 0);
      const room = check(more);
      if (!room.ok) return room;
      heldBytes += more;
      if (bytes === 0) held.delete(name);
      else held.set(name, bytes);
      return room;
    },
    /** Counts what was added, or with a negative number taken away. */
    add: (bytes: number): void => void (usedBytes += bytes),
    /** Forgets the measurement, after a change whose extent is not known. */
    forget(): void {
      measuredAt = -Infinity;
    },
  };
}

/** How soon names are looked for again without a sign of change: it takes a walk through all of the workspace. */
const recountMilliseconds = 5_000;
/** The pause before a walk that a sign of change calls for, in times of what the last one took; at most the time above. */
const pauseFactor = 3;
/** Files with several names that are remembered. */
const maxFiles = 100_000;

/** A file with several names as a walk saw it, how many of its names the walk met, and those outside the trash. */
type CountedFile = Pick<DiskInfo, "nlink" | "ctime"> & { met: number; readonly names: (readonly string[])[] };

/**
 * Looks for the names of files that have several (hard links). A name outside would let the callers read a file of
 * another place; only someone who writes the directory itself can make one. A denied name is outside, too.
 *
 * The system notes each change of a name, by any program. So a file that the last walk did not meet, or met by all its
 * names and that has changed since, is looked for again at once. Whatever callers do, such walks take no more than a quarter
 * of the time, or one in five seconds.
 */
export function createInnerLinks(
  access: DiskAccess,
  { maxTreeEntries }: WorkspaceLimits,
  { isDenied }: Pick<AccessRules, "isDenied">,
  recountAfter = recountMilliseconds,
) {
  let found = new Map<string, CountedFile>();
  let isComplete = false;
  let isOutdated = false;
  let counting: Promise<boolean> | null = null;
  let countedAt = -Infinity;
  let tookMs = 0;
  const keyOf = ({ dev, ino }: DiskInfo): string => `${dev} ${ino}`;
  const isUnchanged = (one: CountedFile | undefined, { nlink, ctime }: DiskInfo): one is CountedFile =>
    one?.nlink === nlink && one.ctime?.getTime() === ctime?.getTime();
  const count = async (): Promise<boolean> => {
    const sinceMs = elapsed() - countedAt;
    if (sinceMs < recountAfter && !isOutdated) return false;
    const restMs = Math.min(pauseFactor * tookMs, recountAfter) - sinceMs;
    if (restMs > 0) await pause(restMs);
    const startedAt = elapsed();
    isOutdated = false; // what changes from here on may be missed
    let isWhole = true;
    const files = new Map<string, CountedFile>();
    let entries = 0;
    try {
      for (const at of [[], [stagingDirectoryName, trashDirectoryName]]) { // what changes replaced has its names, too
        const tree = walkTree(access, at.slice(1), { skipUnreachable: true, at });
        for await (const { segments, info, isForeign } of tree) {
          isWhole &&= ++entries <= maxTreeEntries && files.size < maxFiles;
          if (!isWhole) break;
          if (isForeign || !info.isFile || (info.nlink ?? 1) < 2 || (at.length === 0 && isDenied(segments))) continue;
          const before = files.get(keyOf(info));
          const file = isUnchanged(before, info) ? before : { nlink: info.nlink, ctime: info.ctime, met: 0, names: [] };
          file.met++;
          if (at.length === 0) file.names.push(segments);
          files.set(keyOf(info), file);
        }
      }
    } catch (error) {
      toRefusal(error); // the workspace is gone
      isWhole = false;
    }
    [found, isComplete] = [files, isWhole];
    countedAt = elapsed();
    tookMs = countedAt - startedAt;
    return true;
  };
  const isHidden = (outcome: unknown): boolean => {
    const { ok, error } = outcome as Outcome<unknown> & { error?: { reason: string; because?: string } };
    return !ok && error?.reason === "denied" && error.because === "hard_link";
  };
  return {
    /** Whether all names were found, and none was added or moved since; a directory that moved takes names with it. */
    has(info: DiskInfo, isThere: (segments: readonly string[]) => boolean = () => true): boolean {
      const file = found.get(keyOf(info));
      const isInner = file === undefined ? isComplete : file.met === file.nlink;
      if (isUnchanged(file, info) && file.names.every(isThere)) return isInner;
      isOutdated ||= isInner;
      return false;
    },
    /** The names of a file with several that are known. */
    namesOf: (info: DiskInfo): readonly (readonly string[])[] => found.get(keyOf(info))?.names ?? [],
    /** Does it again where a file with several names was refused, once these were looked for. */
    settle<T>(operate: () => Eventually<T>): Eventually<T> {
      const settled = (outcome: T): Eventually<T> => {
        if (!isHidden(outcome)) return outcome;
        counting ??= count().finally(() => counting = null);
        return counting.then((isNew) => isNew ? operate() : outcome);
      };
      return whenReady(operate(), settled);
    },
  };
}
