/** The workspace on a disk: one directory, opened once by its real path. */
import { isChangeId, type KeptItem } from "../workspace/change.ts";
import { createKeyedMutex, nextTurn } from "../../lib/turns.ts";
import { stagingDirectoryName, type WorkspacePath } from "../workspace/path.ts";
import { defaultWorkspaceLimits, denied } from "../workspace/port.ts";
import type { Outcome, Trash, TrashLimits, Workspace, WorkspaceLimits, WorkspaceRefusal } from "../workspace/port.ts";
import { createDirectoryNames, createDirectoryScans, type Disk, resolveInside } from "./resolve.ts";
import { fill, hasHiddenName, readingOf, useAndClose } from "./read.ts";
import { cutDiskFile, keptOf, makePlace, putKeeping, putNew, putOf, writingOf } from "./write.ts";
import { failure, type Result, success, UnusableError } from "../../lib/result.ts";
import { type AccessPatterns, type AccessRules, checkNewNames, createAccessRules } from "../workspace/access_rules.ts";
import { changedMeanwhile, createDiskAccess, identityOf, toRefusal } from "./directory.ts";
import type { DiskAccess, DiskInfo } from "./directory.ts";
import { expectationOf, judgeTree, rearrangingOf, type TreeSize } from "./rearrange.ts";
import { createStaging, itemName, recordName, sweepStaging, toRecordLine, trashDirectoryName } from "./staging.ts";
import { createDiskTrash, type DiskTrash, withRoom } from "./disk_trash.ts";
import { type Clock, systemClock } from "../../lib/time.ts";
import { pathRemedy, systemFaultWords } from "../../lib/system_fault.ts";
import { absolutePath, exists } from "../../lib/system_path.ts";
import type { KernelRoots } from "../../lib/kernel/descriptor.ts";
import { createPathRoots, realPathOf } from "./checked_path.ts";
import { createDiskQuota, createInnerLinks } from "./tree.ts";

export interface DiskWorkspaceOptions {
  /** The directory. It is created, for its owner alone (0700), when it is not there; it may be given as a link. */
  readonly root: string;
  readonly limits?: Partial<WorkspaceLimits>;
  readonly access?: AccessPatterns;
  /** After how many milliseconds names of files that have several are looked for again. Default 5,000. */
  readonly recountLinksAfter?: number;
  /** Where given, the kernel confines names; otherwise paths are checked before and after each use. */
  readonly kernel?: KernelRoots | undefined;
  /** Nothing is written below it, not even what is swept. Such a directory is not made. */
  readonly isReadOnly?: boolean;
  /** What is kept of what changes replace; for no time: what was kept is dropped. Default: nothing. */
  readonly trash?: TrashLimits;
  readonly clock?: Clock;
}

/** Opens the workspace and sweeps what dead processes left; throws when the directory cannot be made or used. */
export function openDiskWorkspace(options: DiskWorkspaceOptions): Workspace {
  const rules = createAccessRules(options.access);
  const { path, access } = openRoot(options, rules);
  const limits = { ...defaultWorkspaceLimits, ...options.limits };
  const randomId = (): string => crypto.randomUUID();
  const staging = createStaging(access, randomId);
  try {
    if (options.isReadOnly !== true) sweepStaging(access);
  } catch (error) {
    toRefusal(error); // a workspace that cannot be written is still good for reading; anything else is a bug
  }
  const clock = options.clock ?? systemClock;
  const opened = options.trash === undefined
    ? null
    : createDiskTrash({ ...options.trash, access, staging, clock, randomId });
  const trash = opened !== null && opened.keepMs > 0 ? opened : null;
  const disk: Disk = {
    path,
    access,
    limits,
    rules,
    innerLinks: createInnerLinks(access, limits, rules, options.recountLinksAfter),
    scans: createDirectoryScans(clock),
    names: createDirectoryNames(clock),
    staging,
    quota: createDiskQuota(access, limits),
    trash,
    change: null,
    writers: createKeyedMutex(),
  };
  if (opened !== null && hasTrash(access)) void opened.tidy(clock());
  const close = async (): Promise<void> => {
    await opened?.close();
    staging.close();
    access.close();
  };
  return workspaceWith(disk, close, { [path]: "", [absolutePath(options.root)]: "" });
}

/** The workspace whose operations are steps of the disk's current change, or else separate changes. */
function workspaceWith(
  disk: Disk,
  close: () => Promise<void>,
  directories: Readonly<Record<string, string>>,
): Workspace {
  const { trash, limits } = disk;
  const changing = (): Disk => trash === null || disk.change !== null ? disk : { ...disk, change: trash.begin(null) };
  const settled = async <T>(outcome: Promise<T>): Promise<T> => {
    const whole = await outcome;
    await trash?.keepBound();
    return whole;
  };
  const made = <T, R extends WorkspaceRefusal>(change: (own: Disk) => Promise<Result<T, R>>): Promise<Result<T, R>> => {
    const own = changing();
    return withRoom(own, () => settled(change(own)));
  };
  return {
    directories,
    limits,
    ...readingOf(disk),
    write: (path, bytes, writeOptions) => made((own) => writingOf(own).write(path, bytes, writeOptions)),
    receive: (path, content, receiveOptions) => settled(writingOf(changing()).receive(path, content, receiveOptions)),
    copy: (from, to, copyOptions) => made((own) => writingOf(own).copy(from, to, copyOptions)),
    move: (from, to, moveOptions) => made((own) => rearrangingOf(own).move(from, to, moveOptions)),
    remove: (path, removeOptions) => settled(rearrangingOf(changing()).remove(path, removeOptions)),
    makeDirectory: (path, makeOptions) => made((own) => rearrangingOf(own).makeDirectory(path, makeOptions)),
    trash: trash === null ? null : createWorkspaceTrash(disk, trash, changing),
    begin: (...change) =>
      workspaceWith({ ...disk, change: trash?.begin(...change) ?? null }, () => Promise.resolve(), directories),
    close,
  };
}

function openRoot({ root: directory, kernel, isReadOnly = false }: DiskWorkspaceOptions, rules: AccessRules) {
  try {
    // asked for only when it is needed: a server that may not write can still read
    if (!isReadOnly && !exists(directory)) Deno.mkdirSync(directory, { recursive: true, mode: 0o700 });
    const path = realPathOf(directory);
    if (!Deno.lstatSync(path).isDirectory) {
      throw new UnusableError(`the workspace ${path} is not a directory`, another);
    }
    if (Deno.build.os !== "windows") Deno.openSync(path).close(); // an error now, not at each call of an agent
    if (path === "/") throw new UnusableError("the workspace cannot be the root of the file system", another);
    const access = createDiskAccess(path, kernel ?? createPathRoots(rules));
    return { path, access };
  } catch (error) {
    const words = systemFaultWords(error);
    if (words === null) throw error;
    const problem = `the workspace ${directory} cannot be used: ${words}`;
    throw new UnusableError(problem, pathRemedy(error, another), { cause: error });
  }
}

const another = "choose another with --workspace (WORKSPACE_DIR)";

// * The trash as its port has it. What a change kept is put back into the tree: rules, names and quotas are judged as for
// any new entry.

/** What is denied or protected today must not come back with a tree. */
async function judgeKept(disk: Disk, kept: string, path: WorkspacePath): Promise<Outcome<TreeSize>> {
  const info = disk.access.step(() => disk.staging.trash().statusOf(kept));
  if (info === null) return failure({ reason: "not_found" });
  if (!info.isDirectory) return success(keptOf(info));
  return await judgeTree(disk, path.segments, [stagingDirectoryName, trashDirectoryName, kept]);
}

function restoreNow(
  disk: Disk,
  item: KeptItem,
  size: TreeSize,
  path: WorkspacePath,
  expects: ((info: DiskInfo) => boolean) | null,
): Outcome<null> {
  const { change, quota, rules, staging } = disk;
  const name = itemName(item.change, item.number);
  const trash = staging.trash();
  const info = trash.statusOf(name);
  if (info === null) return failure({ reason: "not_found" });
  const target = resolveInside(disk, path, "keep");
  if (!target.ok) return target;
  const { directory, names, segments, info: there } = target.value;
  if (expects === null && there !== null) return failure({ reason: "already_exists" });
  if (expects !== null && (there === null || !expects(there))) return failure({ reason: "conflict" });
  if (there !== null && (change === null || !there.isFile || !info.isFile)) return failure({ reason: "not_a_file" });
  const step = disk.trash?.find(item.change)?.steps.find(({ number }) => number === item.number)?.step;
  const existing = segments.length - (there === null ? names.length : 0);
  const named = checkNewNames(rules, segments, existing, step?.path === path.text);
  if (!named.ok) return named;
  if (!directory.isStillChangeable()) return changedMeanwhile;
  const growth = size.sizeBytes - (there?.size ?? 0);
  const room = quota.check(growth);
  if (!room.ok) return room;
  const place = makePlace(target.value);
  const put = { ...putOf(place, info, { identity: identityOf(info) }), source: item };
  const waiting = { directory: trash, name };
  const number = change?.next() ?? 0;
  if (expects === null || there === null || change === null) {
    if (!putNew(change, number, put, waiting, place)) return failure({ reason: "already_exists" });
  } else if (putKeeping(staging, change, number, { ...put, kept: keptOf(there) }, waiting, place, expects)) {
    change.keep(-info.size);
  } else return failure({ reason: "conflict" });
  quota.add(growth);
  return success(null);
}

/** The operations; those that change something become steps of the change that `changing` returns. */
function createWorkspaceTrash(disk: Disk, trash: DiskTrash, changing: () => Disk): Trash {
  const itemStatus = ({ change, number }: KeptItem) =>
    isChangeId(change) ? disk.access.step(() => disk.staging.trash().statusOf(itemName(change, number))) : null;
  const openItem = ({ change, number }: KeptItem) => disk.staging.trash().openOwn(itemName(change, number));
  const find: Trash["find"] = (id) => Promise.resolve(isChangeId(id) ? trash.find(id) : null);
  return {
    keepMs: trash.keepMs,
    async *changes() {
      for (const id of trash.ids().toReversed()) {
        await nextTurn(); // each is read and parsed at once
        const change = await find(id);
        if (change !== null) yield change;
      }
    },
    find,
    holds: (item) => Promise.resolve(itemStatus(item) !== null),
    read: async (item, range) =>
      await disk.innerLinks.settle<Outcome<Uint8Array>>(async () => {
        const file = disk.access.attempt(() => success(isChangeId(item.change) ? openItem(item) : null));
        if (!file.ok) return file;
        if (file.value === null) return failure({ reason: "not_found" });
        return await useAndClose(file.value, async (opened) => {
          if (hasHiddenName(disk, opened)) return denied("hard_link");
          const bytes = new Uint8Array(Math.min(range.lengthBytes, disk.limits.maxReadBytes));
          return success(bytes.subarray(0, await fill(opened, bytes, range.offsetBytes)));
        });
      }),
    async isAsLeft(path, left) {
      const there = disk.access.attempt(() => resolveInside(disk, path, "keep"));
      if (!there.ok) return there;
      const { info } = there.value;
      if (info === null) return success(false);
      const expects = await expectationOf(disk, path, left);
      if (!expects.ok) return expects.error.reason === "conflict" ? success(false) : expects;
      return success(expects.value(info));
    },
    async restore(item, path, left) {
      if (!isChangeId(item.change)) return failure({ reason: "not_found" });
      const own = changing();
      try {
        const expects = await expectationOf(own, path, left);
        if (!expects.ok) return expects;
        const size = await judgeKept(own, itemName(item.change, item.number), path);
        if (!size.ok) return size;
        await own.quota.measure();
        const matches = left === undefined ? null : expects.value;
        return await own.staging.alone(() => restoreNow(own, item, size.value, path, matches));
      } catch (error) {
        return failure(toRefusal(error));
      }
    },
    cutBack: (path, sizeBytes, left) => cutDiskFile(changing(), path, sizeBytes, left),
    async noteUndone(id, by) {
      await disk.staging.alone(() => { // a refusal changes nothing: it is undone all the same
        if (trash.find(id) !== null) disk.staging.trash().appendText(recordName(id), toRecordLine({ undoneBy: by }));
        return success(null);
      });
    },
    tidy: (now) => trash.tidy(now),
  };
}

/** Whether the system reports one already. */
function hasTrash(access: DiskAccess): boolean {
  try {
    access.step(() => access.root()?.list(`${stagingDirectoryName}/${trashDirectoryName}`)[Symbol.dispose]());
    return true;
  } catch (error) {
    toRefusal(error);
    return false;
  }
}
