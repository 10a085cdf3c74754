/** The workspace on a disk: one directory, opened once by its real path; and what moves, deletes and restores its entries. */
import { isChangeId, type Kept, type KeptItem, type Left } from "../workspace/change.ts";
import { createKeyedMutex, nextTurn } from "../../lib/turns.ts";
import { numberedName, stagingDirectoryName, type WorkspacePath } from "../workspace/path.ts";
import { defaultWorkspaceLimits, denied, refusedAt } from "../workspace/port.ts";
import type {
  Moved,
  Outcome,
  PairOutcome,
  Trash,
  TrashLimits,
  Workspace,
  WorkspaceLimits,
  WorkspaceRefusal,
} from "../workspace/port.ts";
import {
  createDirectoryNames,
  createDirectoryScans,
  createDiskQuota,
  createInnerLinks,
  findInside,
  resolveInside,
  walkTree,
} from "./resolve.ts";
import type { Disk, Found, Resolved } from "./resolve.ts";
import { fill, hasHiddenName, matchContent, readingOf, useAndClose } from "./read.ts";
import {
  checkChangeable,
  cutDiskFile,
  type Expects,
  isStill,
  keptOf,
  makeDirectories,
  makePlace,
  makeStep,
  moveKeeping,
  putKeeping,
  putNew,
  putOf,
  writingOf,
} from "./write.ts";
import { failure, type Result, success, UnusableError } from "../../lib/result.ts";
import {
  checkBelow,
  checkMoved,
  checkNewNames,
  createAccessRules,
  maxJudgeMilliseconds,
} from "../workspace/access_rules.ts";
import type { AccessPatterns, AccessRules } from "../workspace/access_rules.ts";
import { changedMeanwhile, createDiskAccess, identityOf, isSame, toRefusal, versionOf } from "./directory.ts";
import type { DiskAccess, DiskDirectory, DiskInfo } from "./directory.ts";
import { type Clock, systemClock } from "../../lib/time.ts";
import { pathRemedy, systemFaultWords } from "../../lib/system_fault.ts";
import { absolutePath, exists } from "../../lib/system_path.ts";
import type { KernelRoots } from "../../lib/kernel/descriptor.ts";
import { createPathRoots, realPathOf } from "./checked_path.ts";
import { createDiskTrash, createStaging, isFull, itemName, sweepStaging, trashDirectoryName } from "./staging.ts";
import type { DiskChange, DiskTrash } from "./staging.ts";

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
    noteUndone: trash.noteUndone,
    tidy: trash.tidy,
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

// * Deletes, moves and makes entries. What is deleted is moved out of sight, and into the trash if there is one.

type Removed = Outcome<{ readonly entries: number }>;
/** Looks for the entry again, in a step. */
type Find = () => Outcome<Found>;

/** The operations of the port that move, delete and make entries; a link is moved and deleted itself. */
function rearrangingOf(disk: Disk): Pick<Workspace, "move" | "remove" | "makeDirectory"> {
  const { access, change, limits, rules, staging } = disk;
  return {
    async remove(path, { recursive = false, left } = {}) {
      try {
        const expects = await expectationOf(disk, path, left);
        if (!expects.ok) return expects;
        const find: Find = () => {
          const found = findRemovable(disk, path, expects.value);
          if (!found.ok || left !== undefined) return found;
          const changeable = checkChangeable(disk, found.value.segments, found.value.info);
          return changeable.ok ? found : changeable;
        };
        const found = access.attempt(find);
        if (!found.ok) return found;
        if (!found.value.info.isDirectory) return await removeFile(disk, find);
        if (!recursive) return await removeEmpty(disk, find);
        return await withRoom(disk, () => removeTree(disk, find, found.value, left === undefined));
      } catch (error) {
        return failure(toRefusal(error));
      }
    },
    async move(from, to, { overwrite = false, left } = {}) {
      try {
        const expects = await expectationOf(disk, from, left);
        if (!expects.ok) return refusedAt("from", expects);
        const plan = (): PairOutcome<Planned> => {
          const source = findRemovable(disk, from, expects.value);
          if (!source.ok) return refusedAt("from", source);
          const target = findDestination(disk, source.value, to, { overwrite, isReturning: left !== undefined });
          return target.ok ? success({ source: source.value, target: target.value }) : target;
        };
        const planned = access.step(plan);
        if (!planned.ok) return planned;
        const { source, target: { segments } } = planned.value; // nothing more of it is used when it is moved
        if (source.info.isDirectory) {
          const ends = { from: source.segments, to: segments, maxEntries: limits.maxTreeEntries };
          const judged = await checkMoved(rules, walkTree(access, source.segments), ends);
          if (!judged.ok) return refusedAt(judged.error.reason === "too_many_entries" ? "from" : "both", judged);
        }
        const moved = await staging.alone(() => success(placeMoved(disk, plan(), segments)));
        if (moved.ok) return moved.value;
        // rename(2): a directory that the file system takes for one above the destination, whatever their names
        const isInside = moved.error.reason === "io" && moved.error.code === "EINVAL";
        return refusedAt("both", isInside ? failure({ reason: "into_itself" }) : moved);
      } catch (error) {
        return refusedAt("both", failure(toRefusal(error)));
      }
    },
    async makeDirectory(path, { isReturning = false } = {}) {
      const make = (): Outcome<{ readonly created: boolean }> => {
        const resolved = resolveInside(disk, path);
        if (!resolved.ok) return resolved;
        const { directory, segments, names, info } = resolved.value;
        if (info !== null) {
          return info.isDirectory ? success({ created: false }) : failure({ reason: "already_exists" });
        }
        const made = names.length;
        const checked = checkNewNames(rules, segments, segments.length - made, isReturning);
        if (!checked.ok) return checked;
        const step = { op: "make", path: segments.join("/"), made } as const;
        makeStep(change, change?.next() ?? 0, step, () => void makeDirectories(directory, names));
        return success({ created: true });
      };
      return change === null ? access.attempt(make) : await staging.alone(make);
    },
  };
}

/** What tells the entry that was left from every other; the content of a file is read once, here. */
async function expectationOf(disk: Disk, path: WorkspacePath, left?: Left): Promise<Outcome<Expects>> {
  if (left === undefined) return success(() => true);
  const { identity, sha256 } = left;
  if (identity !== undefined) return success((info) => identityOf(info) === identity);
  const matched = await matchContent(disk, path, sha256 ?? "");
  return matched.ok ? success((info) => versionOf(info) === matched.value) : matched;
}

async function removeEmpty(disk: Disk, find: Find): Promise<Removed> {
  const remove = (): Removed => {
    const found = find();
    if (!found.ok) return found;
    const { directory, name, segments } = found.value;
    const number = disk.change?.next() ?? 0;
    const step = { op: "remove", path: segments.join("/"), kind: "directory", kept: null, empty: true } as const;
    makeStep(disk.change, number, step, () => directory.removeDirectory(name));
    return success({ entries: 1 });
  };
  return disk.change === null ? disk.access.attempt(remove) : await disk.staging.alone(remove);
}

async function removeTree(disk: Disk, find: Find, found: Found, keepsReadOnly: boolean): Promise<Removed> {
  const { info, segments } = found;
  const judged = await judgeTree(disk, segments, segments, keepsReadOnly);
  if (!judged.ok) return judged;
  const taken = await disk.staging.alone((): Outcome<Taken> => {
    const still = find();
    if (!still.ok) return still;
    return isSame(still.value.info, info) ? takeOut(disk, still.value, judged.value) : changedMeanwhile;
  });
  if (!taken.ok) return taken;
  disk.quota.forget();
  // again: until it was out of sight, another process could move a protected entry into it
  let again: Outcome<TreeSize>;
  try {
    const { isKept, name } = taken.value;
    again = await judgeTree(disk, segments, [stagingDirectoryName, ...isKept ? [trashDirectoryName] : [], name]);
    if (again.ok && !isKept) await disk.staging.discardTree(name);
  } catch (error) {
    again = failure(toRefusal(error));
  }
  if (!again.ok) disk.access.step(() => putBack(disk, taken.value, found)); // what is left of it
  return again.ok ? success({ entries: again.value.entries }) : again;
}

async function removeFile(disk: Disk, find: Find): Promise<Removed> {
  const removeBy = (take: (found: Found) => Outcome<unknown>) => (): Removed => {
    const found = find();
    if (!found.ok) return found;
    const { isDirectory, isFile, size } = found.value.info;
    if (isDirectory) return changedMeanwhile;
    const taken = take(found.value);
    if (!taken.ok) return taken;
    disk.quota.add(isFile ? -size : 0);
    return success({ entries: 1 });
  };
  const removed = await withRoom(disk, () => disk.staging.alone(removeBy((found) => takeFile(disk, found))));
  if (!isFull(removed)) return removed;
  // a disk without room even for the staging directory
  return disk.access.attempt(removeBy(({ directory, name }) => success(directory.removeFile(name))));
}

function takeFile(disk: Disk, found: Found): Outcome<unknown> {
  const taken = takeOut(disk, found, { sizeBytes: found.info.size, entries: 1 });
  if (taken.ok && !taken.value.isKept) disk.staging.discard(taken.value.name);
  return taken;
}

/** What is there and may be moved or deleted. */
function findRemovable(disk: Disk, path: WorkspacePath, expects: Expects = () => true): Outcome<Found> {
  const found = findInside(disk, path, "keep");
  if (!found.ok) return found;
  const { segments, directory, info } = found.value;
  if (segments.length === 0) return failure({ reason: "is_root" });
  if (disk.rules.isProtected(segments)) return denied("protected_name");
  if (!directory.isStillChangeable()) return changedMeanwhile;
  return expects(info) ? found : failure({ reason: "conflict" });
}

/** What a tree holds. */
type TreeSize = Pick<Kept, "entries" | "sizeBytes">;

/** Refuses a tree that holds what may not be deleted; `at`: where it lies now, if it was taken out of its place. */
async function judgeTree(
  disk: Disk,
  segments: readonly string[],
  at: readonly string[] = segments,
  keepsReadOnly = false,
): Promise<Outcome<TreeSize>> {
  const { access, limits, rules, trash } = disk;
  const maxEntries = trash === null ? limits.maxTreeEntries : Infinity; // one rename takes any number into the trash
  const started = performance.now();
  let entries = 1;
  let sizeBytes = 0;
  for await (const below of walkTree(access, segments, { at })) {
    const isLong = performance.now() - started > maxJudgeMilliseconds;
    if (++entries > maxEntries || isLong) return failure({ reason: "too_many_entries", limit: entries - 1 });
    if (below.isForeign) return denied("other_file_system");
    const allowed = checkBelow(rules, below.segments);
    if (!allowed.ok) return allowed;
    if (keepsReadOnly) {
      const changeable = checkChangeable(disk, below.segments, below.info);
      if (!changeable.ok) return changeable;
    }
    if (below.info.isFile) sizeBytes += below.info.size;
  }
  return success({ entries, sizeBytes });
}

/** How many names are tried for a version whose own name is taken again. */
const maxNamesTried = 100;

/** What was taken out of sight. */
interface Taken {
  /** Whether it lies in the trash; else in the staging directory, to be deleted. */
  readonly isKept: boolean;
  readonly directory: () => DiskDirectory;
  readonly name: string;
  /** The number of the step that took it. */
  readonly number: number;
}

/**
 * Takes what was found out of sight, into the trash or the staging directory, and looks at it there: a version that
 * another process has put in its place meanwhile is put back.
 */
function takeOut(disk: Disk, found: Found, size: TreeSize): Outcome<Taken> {
  const { change, staging } = disk;
  const number = change?.next() ?? 0;
  const { kind } = keptOf(found.info);
  const step = { op: "remove", path: found.segments.join("/"), kind } as const;
  const isKept = change !== null && size.sizeBytes <= change.maxBytes;
  const own = {
    isKept,
    directory: isKept ? staging.trash : staging.directory,
    name: isKept ? itemName(change.id, number) : staging.nameFor(found.info),
    number,
  };
  makeStep(change, number, { ...step, kept: isKept ? { kind, ...size } : null }, () => {
    found.directory.rename(found.name, own.directory(), own.name);
  });
  const info = own.directory().statusOf(own.name);
  if (info !== null && identityOf(info) === identityOf(found.info)) return success(own);
  putBack(disk, own, found);
  return changedMeanwhile;
}

/** Puts an entry back under its name, or a free one like it; keeps it where its directory was replaced. */
function putBack(disk: Disk, taken: Taken, { segments, parent }: Pick<Found, "segments" | "parent">): void {
  const names = segments.slice(0, -1);
  const there = findInside(disk, { text: names.join("/"), segments: names });
  if (there.ok && isSame(there.value.info, parent) && there.value.info.isDirectory) {
    const { directory, name: ownName } = there.value;
    const place = ownName === "." ? directory : directory.enter(ownName);
    for (let number = 1; number <= maxNamesTried && place.isStillInside(); number++) {
      if (!taken.directory().renameNew(taken.name, place, numberedName(segments.at(-1) ?? "", number))) continue;
      return disk.change?.withdraw(taken.number);
    }
  }
  if (!taken.isKept) disk.staging.keep(taken.name);
}

/** What would be moved, and to where. */
interface Planned {
  readonly source: Found;
  readonly target: Resolved;
}

/** Moves, if both ends still are as planned. From the first look to the rename no other worker writes or moves here. */
function placeMoved(disk: Disk, planned: PairOutcome<Planned>, plannedSegments: readonly string[]): PairOutcome<Moved> {
  if (!planned.ok) return planned;
  const { source, target } = planned.value;
  const { info } = target;
  if (target.segments.join("/") !== plannedSegments.join("/")) return changedDestination;
  const place = makePlace(target);
  if (source.info.ino === info?.ino) {
    if (!isStill(place, (there) => identityOf(there) === identityOf(info))) return changedDestination;
    source.directory.rename(source.name, place.parent, place.name, source.info);
    if (source.segments.join("/") === place.path || !isListed(source)) return success({});
    const taken = takeFile(disk, source); // rename(2): two names of one file both stay
    if (!taken.ok) return refusedAt("from", taken);
  } else if (!moveKeeping(disk, source, place, info)) return changedDestination;
  disk.quota.add(-(info?.size ?? 0));
  return success({ otherNames: source.info.ino === info?.ino ? 0 : (info?.nlink ?? 1) - 1 });
}

/** Whether the directory has this very name, which another spelling may have replaced. */
function isListed({ directory, name }: Found): boolean {
  using listing = directory.list(".");
  // not `listing.entries().some`: Deno's bundler drops a `using` whose only use begins the next statement
  return Array.from(listing.entries()).some((entry) => entry.name === name);
}

const changedDestination = refusedAt<Moved>("to", changedMeanwhile);

function findDestination(
  disk: Disk,
  source: Found,
  to: WorkspacePath,
  { overwrite, isReturning }: { readonly overwrite: boolean; readonly isReturning: boolean },
): PairOutcome<Resolved> {
  const resolved = resolveInside(disk, to, "keep");
  if (!resolved.ok) return refusedAt("to", resolved);
  const { segments, names, info } = resolved.value;
  const isBelow = source.segments.every((name, index) => segments[index] === name);
  if (isBelow && source.info.isDirectory && segments.length > source.segments.length) {
    return refusedAt("both", failure({ reason: "into_itself" }));
  }
  const judge = (): Outcome<null> => {
    if (info === null) return checkNewNames(disk.rules, segments, segments.length - names.length, isReturning);
    if (segments.length === 0) return failure({ reason: "is_root" });
    if (!overwrite) return failure({ reason: "already_exists" });
    if (info.isDirectory) return failure({ reason: "is_directory" });
    if (!info.isFile || !source.info.isFile) return failure({ reason: "already_exists" });
    return checkChangeable(disk, segments, info);
  };
  const judged = judge();
  return judged.ok ? resolved : refusedAt("to", judged);
}

/** Makes a change again, as long as the disk is full and something can be dropped from the trash. */
async function withRoom<T, R extends WorkspaceRefusal>(
  { trash, change }: { readonly trash: DiskTrash | null; readonly change: DiskChange | null },
  make: () => Promise<Result<T, R>>,
): Promise<Result<T, R>> {
  for (;;) {
    const made = await make();
    if (!isFull(made) || !await trash?.makeRoom(change)) return made;
  }
}
