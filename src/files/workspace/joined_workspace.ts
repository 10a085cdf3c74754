/**
 * Workspaces of several: of directories, and of users. Each directory is a workspace of its own, and the first name of
 * a path says which. What is refused in a read-only directory, or in one that is away, is refused here, for every
 * caller.
 */
import { failure, success } from "../../lib/result.ts";
import type { Clock } from "../../lib/time.ts";
import { type ArrivingContent, type Change, type ChangeStep, createChangeIds, type KeptItem } from "./change.ts";
import { childPath, compareNames, newNameProblem, rootPath, type WorkspacePath } from "./path.ts";
import { denied, refusedAt } from "./port.ts";
import type { Eventually, Outcome, PairOutcome, Trash, Workspace, WorkspaceRefusal, WrittenFile } from "./port.ts";
import type { Principal } from "../../lib/principal.ts";
import { sha256Of } from "../../lib/secrets.ts";

/** A directory of a joined workspace. */
export interface JoinedDirectory {
  /** What it is called, at the top level: one name. */
  readonly name: string;
  readonly isReadOnly: boolean;
  /** Its workspace, also one that was opened before; `null` while the directory is away. */
  open(): Workspace | null;
  close(): Promise<void>;
}

/** A path's directory, and the rest of the path in it. */
interface Place {
  readonly name: string;
  readonly workspace: Workspace;
  readonly path: WorkspacePath;
}

/** Joins the directories. What one call changes in several of them is one change. */
export function joinWorkspaces(
  directories: readonly JoinedDirectory[],
  { clock, limits }: Pick<Workspace, "limits"> & { readonly clock: Clock },
): Workspace {
  const newId = createChangeIds(clock, () => crypto.randomUUID());
  return workspaceOver(directories.toSorted((a, b) => compareNames(a.name, b.name)), {
    limits,
    newId,
    begun: (workspace) => workspace.begin(null, undefined, newId), // ids sort by time across the directories
    async close() {
      for (const each of directories) await each.close();
    },
  });
}

interface Joining extends Pick<Workspace, "limits" | "close"> {
  newId(): string;
  /** The workspace of a directory, for its part of the current change or a change of its own. */
  begun(workspace: Workspace, name: string): Workspace;
}

function workspaceOver(directories: readonly JoinedDirectory[], joining: Joining): Workspace {
  const { limits } = joining;
  const placeOf = (
    { segments: [name, ...segments] }: WorkspacePath,
    use: "read" | "change" | "take",
    atRoot: "is_directory" | "is_root" = "is_directory",
  ): Outcome<Place> => {
    if (name === undefined) return failure({ reason: atRoot });
    const directory = directories.find((each) => each.name === name);
    if (directory === undefined) return use === "read" ? failure({ reason: "not_found" }) : denied("top_level");
    if (use === "take" && segments.length === 0) return denied("top_level");
    if (use !== "read" && directory.isReadOnly) return denied("read_only");
    const opened = directory.open();
    if (opened === null) return failure({ reason: "away" });
    const workspace = use === "read" ? opened : joining.begun(opened, name);
    return success({ name, workspace, path: childPath(rootPath, segments) });
  };
  const at = async <T>(place: Outcome<Place>, run: (at: Place) => Eventually<Outcome<T>>): Promise<Outcome<T>> =>
    place.ok ? await run(place.value) : place;
  const pair = async <T>(
    from: Outcome<Place>,
    to: Outcome<Place>,
    run: (from: Place, to: Place) => Promise<PairOutcome<T>>,
  ): Promise<PairOutcome<T>> => {
    if (!from.ok) return refusedAt("from", from);
    return to.ok ? await run(from.value, to.value) : refusedAt("to", to);
  };
  return {
    ...joining,
    get directories() {
      const all = directories.flatMap(({ name, open }) =>
        Object.keys(open()?.directories ?? {}).map((path) => [path, name] as const)
      );
      return Object.fromEntries(all);
    },
    read: (path, ...rest) => at(placeOf(path, "read"), (own) => own.workspace.read(own.path, ...rest)),
    isStill(path, known) {
      const place = placeOf(path, "read");
      return place.ok && place.value.workspace.isStill?.(place.value.path, known) === true;
    },
    readInto: (path, ...rest) => at(placeOf(path, "read"), (own) => own.workspace.readInto(own.path, ...rest)),
    stat: (path) =>
      path.segments.length === 0
        ? success({ kind: "directory", sizeBytes: 0, modifiedAt: 0 })
        : at(placeOf(path, "read"), (own) => own.workspace.stat(own.path)),
    trueNames(path) {
      if (path.segments.length === 0) return success([""]);
      const place = placeOf(path, "read");
      const names = place.ok ? place.value.workspace.trueNames(place.value.path) : place;
      return names.ok ? success(names.value.map((name) => belowName(path.segments[0] ?? "", name))) : names;
    },
    async list(path, options = {}) {
      if (path.segments.length > 0) {
        return await at(placeOf(path, "read"), (own) => own.workspace.list(own.path, options));
      }
      const { limit = Infinity, after } = options;
      const rest = directories.filter(({ name }) => after === undefined || compareNames(name, after) > 0);
      const wanted = Math.min(limit, limits.maxListEntries);
      const entries = rest.slice(0, wanted).map(({ name }) => ({ name, kind: "directory" as const }));
      return success({ entries, hasMore: rest.length > wanted });
    },
    write: (path, ...rest) => at(placeOf(path, "change"), (own) => own.workspace.write(own.path, ...rest)),
    receive: (path, ...rest) => at(placeOf(path, "change"), (own) => own.workspace.receive(own.path, ...rest)),
    copy: (from, to, options) =>
      pair(
        placeOf(from, "read", "is_root"),
        placeOf(to, "change", "is_root"),
        (source, target) =>
          source.name === target.name
            ? target.workspace.copy(source.path, target.path, options)
            : copyAcross(source, target, { ...options }),
      ),
    move: (from, to, options) =>
      pair(placeOf(from, "take", "is_root"), placeOf(to, "change", "is_root"), async (source, target) => {
        const { workspace, path } = source;
        if (source.name === target.name) return await workspace.move(path, target.path, options);
        const names = workspace.trueNames(path);
        const isLink = names.ok && names.value[0] !== names.value.at(-1);
        const there = await workspace.stat(path);
        if (there.ok && (isLink || there.value.kind === "directory")) {
          return refusedAt("both", failure({ reason: "across" }));
        }
        const copied = await copyAcross(source, target, { ...options, isMove: true });
        if (!copied.ok) return copied;
        const removed = await workspace.remove(path, { left: { sha256: copied.value.sha256 } });
        return removed.ok ? copied : failure({ ...removed.error, about: "from", isCopied: true });
      }),
    remove: (path, options) => at(placeOf(path, "take", "is_root"), (own) => own.workspace.remove(own.path, options)),
    makeDirectory: (path, options) =>
      path.segments.length === 0
        ? Promise.resolve(success({ created: false }))
        : at(placeOf(path, "change"), (own) => own.workspace.makeDirectory(own.path, options)),
    get trash() {
      const parts = directories.flatMap(({ name, isReadOnly, open }, index) => {
        const trash = isReadOnly ? null : open()?.trash;
        return trash ? [{ name, trash, first: index * stepsOfDirectory }] : [];
      });
      return joinTrash(parts, (path, run) => at(placeOf(path, "change"), run));
    },
    begin(author, onChange) {
      let id: string | null = null;
      const begun = new Map<Workspace, Workspace>();
      const by = author && { ...author, directories: new Array<string>() }; // the record is written with the first step
      return workspaceOver(directories, {
        ...joining,
        close: () => Promise.resolve(),
        begun(workspace, name) {
          if (by?.directories.includes(name) === false) by.directories.push(name);
          const change = begun.get(workspace) ?? workspace.begin(by, onChange, () => id ??= joining.newId());
          begun.set(workspace, change);
          return change;
        },
      });
    },
    only: (names) => workspaceOver(directories.filter(({ name }) => names.includes(name)), joining),
  };
}

function belowName(name: string, path: string): string {
  return path === "" ? name : `${name}/${path}`;
}

type Crossing = NonNullable<Parameters<Workspace["copy"]>[2]> & { readonly isMove?: boolean };

/** Copies a file into another directory, of one version, in parts. */
async function copyAcross(from: Place, to: Place, options: Crossing): Promise<PairOutcome<WrittenFile>> {
  const { overwrite = false, isMove = false } = options;
  const { maxFileBytes, maxReadBytes } = from.workspace.limits;
  const readAt = (offsetBytes: number) => from.workspace.read(from.path, { offsetBytes, lengthBytes: maxReadBytes });
  const first = await readAt(0);
  if (!first.ok) return refusedAt("from", first);
  const { sizeBytes, version, mode: permissions } = first.value;
  if (sizeBytes > maxFileBytes) {
    return refusedAt("from", failure({ reason: "too_large", sizeBytes, limitBytes: maxFileBytes }));
  }
  let unreadable: WorkspaceRefusal | null = null;
  async function* content(): ArrivingContent {
    let part = first;
    for (let offset = 0; part.ok && part.value.version === version;) {
      yield part.value.bytes;
      offset += part.value.bytes.byteLength;
      if (offset >= sizeBytes) return;
      part = await readAt(offset);
    }
    unreadable = part.ok ? { reason: "conflict" } : part.error;
    throw new Error("The source cannot be read on");
  }
  try {
    const mode = overwrite ? "overwrite" : "create";
    const isKept = overwrite && !isMove && (await to.workspace.stat(to.path)).ok; // what a copy replaces keeps its own
    const put = { mode, permissions: isKept ? null : permissions } as const;
    return refusedAt("to", await to.workspace.receive(to.path, content(), put));
  } catch (error) {
    if (unreadable !== null) return refusedAt("from", failure(unreadable));
    throw error;
  }
}

/** More than a change has in one directory. Steps in the second one are numbered from here on, and so forth. */
const stepsOfDirectory = 1_000_000;

interface TrashPart {
  readonly name: string;
  readonly trash: Trash;
  /** What is added to the numbers of its steps. */
  readonly first: number;
}

/** One trash over those of the directories. A change that touched several of them has one id in each. */
function joinTrash(
  parts: readonly TrashPart[],
  at: <T>(path: WorkspacePath, run: (own: Place) => Eventually<Outcome<T>>) => Promise<Outcome<T>>,
): Trash | null {
  const [some] = parts;
  if (some === undefined) return null;
  const notKept = failure({ reason: "not_found" } as const);
  /** What is undone of it is left out, unless all is. Of a directory that is missing now a step says so: none undoes it. */
  const merged = (own: readonly (Change | null)[]): Change | null => {
    const one = own.find((each) => each?.undoneBy === null) ?? own.find((each) => each !== null);
    const rest = own.map((each) => one?.undoneBy === null && each?.undoneBy !== null ? null : each);
    const steps = parts.flatMap(({ name, first }, index) =>
      (rest[index]?.steps ?? []).map(({ number, step }) => ({ number: first + number, step: below(name, step) }))
    );
    const missing = new Set(rest.flatMap((each) => each?.by?.directories ?? []));
    for (const { name } of parts) missing.delete(name);
    for (const path of missing) steps.push({ number: 0, step: { op: "remove", path, kind: "directory", kept: null } });
    return one ? { ...one, steps } : null;
  };
  const itemOf = ({ change, number }: KeptItem) => {
    const part = parts.find(({ first }) => number >= first && number < first + stepsOfDirectory);
    return part && { ...part, item: { change, number: number - part.first } };
  };
  const inEach = async (run: (trash: Trash) => Promise<void>): Promise<void> => {
    for (const { trash } of parts) await run(trash);
  };
  const nextOf = async (rest: AsyncIterator<Change, undefined>): Promise<Change | null> =>
    (await rest.next()).value ?? null;
  return {
    keepMs: some.trash.keepMs,
    async *changes() {
      const rests = parts.map(({ trash }) => trash.changes()[Symbol.asyncIterator]());
      const heads = await Promise.all(rests.map(nextOf));
      for (;;) {
        const newest = heads.map((head) => head?.id ?? "").sort().at(-1); // ids sort by their times
        const change = merged(heads.map((head) => head?.id === newest ? head : null));
        if (change === null) return;
        yield change;
        for (const [at, rest] of rests.entries()) if (heads[at]?.id === newest) heads[at] = await nextOf(rest);
      }
    },
    find: async (id) => merged(await Promise.all(parts.map(({ trash }) => trash.find(id)))),
    async holds(each) {
      const own = itemOf(each);
      return await own?.trash.holds(own.item) ?? false;
    },
    async read(each, range) {
      const own = itemOf(each);
      return await own?.trash.read(own.item, range) ?? notKept;
    },
    isAsLeft: (path, left) => at(path, (own) => own.workspace.trash?.isAsLeft(own.path, left) ?? notKept),
    restore: (each, path, left) =>
      at(path, (own) => {
        const kept = itemOf(each);
        if (kept !== undefined && kept.name !== own.name) return failure({ reason: "across" });
        return kept && own.workspace.trash?.restore(kept.item, own.path, left) || notKept;
      }),
    cutBack: (path, sizeBytes, left) =>
      at<unknown>(path, (own) => own.workspace.trash?.cutBack(own.path, sizeBytes, left) ?? notKept),
    noteUndone: (id, by) => inEach((trash) => trash.noteUndone(id, by)),
    tidy: (now) => inEach((trash) => trash.tidy(now)),
  };
}

function below(name: string, step: ChangeStep): ChangeStep {
  const path = belowName(name, step.path);
  return step.op === "move" ? { ...step, path, from: belowName(name, step.from) } : { ...step, path };
}

// * One workspace for each user, opened when they first need it.

/**
 * Opens workspaces by `open`, which gets a name that is safe as a directory and different for each user: their id when
 * that is plain, and otherwise a hash of it.
 */
export function createUserWorkspaces(open: (name: string) => Workspace) {
  const opened = new Map<string, Workspace>();
  return {
    /** The workspace of the principal's user, whatever client they use. */
    of({ subject }: Principal): Workspace {
      const name = userDirectoryName(subject);
      let workspace = opened.get(name);
      if (workspace === undefined) {
        workspace = open(name);
        opened.set(name, workspace);
      }
      return workspace;
    },
    /** The open ones. */
    opened: (): Iterable<Workspace> => opened.values(),
    /** Closes all that were opened. */
    async close(): Promise<void> {
      await Promise.all(Array.from(opened.values(), (workspace) => workspace.close()));
      opened.clear();
    },
  };
}

/** The name of a user's directory. Small letters only, so that it stays different where file systems fold case. */
export function userDirectoryName(subject: string): string {
  const isPlain = /^[a-z0-9][a-z0-9_-]{0,63}$/.test(subject) && newNameProblem(subject) === null &&
    !subject.startsWith(hashPrefix);
  return isPlain ? subject : `${hashPrefix}${sha256Of(subject).toHex().slice(0, 40)}`;
}

const hashPrefix = "user-";
