/**
 * One workspace of several directories: each is a workspace of its own, and the first name of a path says which. What
 * is refused in a read-only directory, or in one that is away, is refused here, for every caller.
 */
import { failure, success } from "../../lib/result.ts";
import type { Clock } from "../../lib/time.ts";
import { type ArrivingContent, type Change, type ChangeStep, createChangeIds, type KeptItem } from "./change.ts";
import { compareNames, rootPath, type WorkspacePath } from "./path.ts";
import {
  denied,
  type DirectoryEntry,
  type Eventually,
  type Outcome,
  type PairOutcome,
  refusedAt,
  type Trash,
  type Workspace,
  type WorkspaceRefusal,
  type WrittenFile,
} from "./port.ts";

/** A directory of a joined workspace. */
export interface JoinedDirectory {
  /** What it is called, at the top level: one name. */
  readonly name: string;
  readonly isReadOnly: boolean;
  /** Its workspace, also one that was opened before; `null` while the directory is away. */
  open(): Workspace | null;
  /** Called when the opened workspace turned out to be away; the next `open` opens it anew. */
  lose(): void;
}

interface JoinedOptions {
  readonly clock: Clock;
  readonly limits: Workspace["limits"];
}

/** A path's directory, and the rest of the path in it. */
interface Place {
  readonly directory: JoinedDirectory;
  readonly workspace: Workspace;
  readonly path: WorkspacePath;
}

const away = failure({ reason: "away" } as const);
/** Refusals that a directory which is away causes, too. */
const doubtful: ReadonlySet<WorkspaceRefusal["reason"]> = new Set(["not_found", "denied", "io"]);

/** Joins the directories. What one call changes in several of them is one change. */
export function joinWorkspaces(given: readonly JoinedDirectory[], { clock, limits }: JoinedOptions): Workspace {
  const directories = given.toSorted((a, b) => compareNames(a.name, b.name));
  const newId = createChangeIds(clock, () => crypto.randomUUID());
  const close = async (): Promise<void> => {
    for (const { open } of directories) await open()?.close();
  };
  const begun: Joining["begun"] = (workspace) => workspace.begin(null, undefined, newId);
  return workspaceOver(directories, { limits, close, newId, begun });
}

interface Joining {
  readonly limits: Workspace["limits"];
  close(): Promise<void>;
  newId(): string;
  /** The workspace of a directory, for a part of the current change, or for a change of its own. */
  begun(workspace: Workspace, directory: JoinedDirectory): Workspace;
}

function workspaceOver(directories: readonly JoinedDirectory[], joining: Joining): Workspace {
  const { limits, begun } = joining;
  const placeOf = ({ segments: [name, ...segments] }: WorkspacePath): Outcome<Place> => {
    const directory = directories.find((each) => each.name === name);
    if (directory === undefined) return failure({ reason: "not_found" });
    const workspace = directory.open();
    const path = { text: segments.join("/"), segments };
    return workspace === null ? away : success({ directory, workspace, path });
  };
  /** The same for what changes something. */
  const changedPlaceOf = (path: WorkspacePath, isTaken = false): Outcome<Place> => {
    const place = placeOf(path);
    if (!place.ok) return place.error.reason === "not_found" ? denied("top_level") : place;
    if (isTaken && place.value.path.segments.length === 0) return denied("top_level");
    const { directory, workspace } = place.value;
    return directory.isReadOnly
      ? denied("read_only")
      : success({ ...place.value, workspace: begun(workspace, directory) });
  };
  /** Says of a refusal whether the directory is away, and is then opened anew. */
  const judged = async <R extends { readonly ok: boolean }>({ directory }: Place, outcome: R): Promise<R> => {
    const refusal = outcome.ok ? null : (outcome as unknown as { readonly error: WorkspaceRefusal }).error;
    if (refusal === null || !doubtful.has(refusal.reason)) return outcome;
    if ((await directory.open()?.stat(rootPath))?.ok) return outcome;
    directory.lose();
    return failure({ ...refusal, ...away.error }) as unknown as R;
  };
  const reading = <T>(path: WorkspacePath, run: (place: Place) => Eventually<Outcome<T>>): Eventually<Outcome<T>> => {
    const place = path.segments.length === 0 ? failure({ reason: "is_directory" } as const) : placeOf(path);
    if (!place.ok) return place;
    const outcome = run(place.value);
    if (!(outcome instanceof Promise)) return outcome.ok ? outcome : judged(place.value, outcome);
    return outcome.then((each) => judged(place.value, each));
  };
  const changing = async <T>(
    path: WorkspacePath,
    atRoot: "is_directory" | "is_root",
    run: (place: Place) => Promise<Outcome<T>>,
  ): Promise<Outcome<T>> => {
    const place = path.segments.length === 0 ? failure({ reason: atRoot }) : changedPlaceOf(path, atRoot === "is_root");
    return place.ok ? await judged(place.value, await run(place.value)) : place;
  };
  const pair = async <T>(
    from: Outcome<Place>,
    to: Outcome<Place>,
    run: (from: Place, to: Place) => Promise<PairOutcome<T>>,
  ): Promise<PairOutcome<T>> => {
    if (!from.ok) return refusedAt("from", from);
    if (!to.ok) return refusedAt("to", to);
    const outcome = await run(from.value, to.value);
    return await judged(!outcome.ok && outcome.error.about === "to" ? to.value : from.value, outcome);
  };
  const atRoot = (path: WorkspacePath, place: Outcome<Place>): Outcome<Place> =>
    path.segments.length === 0 ? failure({ reason: "is_root" }) : place;
  const copy: Workspace["copy"] = (from, to, options) =>
    pair(
      atRoot(from, placeOf(from)),
      atRoot(to, changedPlaceOf(to)),
      (source, target) =>
        source.directory === target.directory
          ? target.workspace.copy(source.path, target.path, options)
          : copyAcross(source, target, options?.overwrite === true),
    );
  const writable = directories.filter(({ isReadOnly }) => !isReadOnly);
  return {
    limits,
    get directories() {
      const all = directories.flatMap(({ name, open }) =>
        Object.entries(open()?.directories ?? {}).map(([path]) => [path, name] as const)
      );
      return Object.fromEntries(all);
    },
    read: (path, range, known) => reading(path, (at) => at.workspace.read(at.path, range, known)),
    readInto: (path, buffer, offsetBytes) => reading(path, (at) => at.workspace.readInto(at.path, buffer, offsetBytes)),
    stat: (path) =>
      path.segments.length === 0
        ? success({ kind: "directory", sizeBytes: 0, modifiedAt: 0 })
        : reading(path, (at) => at.workspace.stat(at.path)),
    trueNames(path) {
      if (path.segments.length === 0) return success([""]);
      const place = placeOf(path);
      const names = place.ok ? place.value.workspace.trueNames(place.value.path) : place;
      return names.ok ? success(names.value.map((name) => belowName(path.segments[0] ?? "", name))) : names;
    },
    list: async (path, { limit = Infinity, after, details = false } = {}) => {
      if (path.segments.length > 0) {
        return await reading(
          path,
          (at) => at.workspace.list(at.path, { limit, details, ...after !== undefined && { after } }),
        );
      }
      const names = directories.map(({ name }) => name).filter((name) => !after || compareNames(name, after) > 0);
      const wanted = Math.min(limit, limits.maxListEntries);
      const entries = names.slice(0, wanted).map((name): DirectoryEntry => ({ name, kind: "directory" }));
      return success({ entries, hasMore: names.length > wanted });
    },
    write: (path, bytes, options) =>
      changing(path, "is_directory", (at) => at.workspace.write(at.path, bytes, options)),
    receive: (path, content, options) =>
      changing(path, "is_directory", (at) => at.workspace.receive(at.path, content, options)),
    copy,
    move: (from, to, options) =>
      pair(atRoot(from, changedPlaceOf(from, true)), atRoot(to, changedPlaceOf(to)), async (source, target) => {
        if (source.directory === target.directory) {
          return await source.workspace.move(source.path, target.path, options);
        }
        const names = source.workspace.trueNames(source.path);
        const isLink = names.ok && new Set(names.value).size > 1;
        const there = await source.workspace.stat(source.path);
        if (there.ok && (isLink || there.value.kind === "directory")) {
          return refusedAt("both", failure({ reason: "across" }));
        }
        const copied = await copyAcross(source, target, options?.overwrite === true);
        if (!copied.ok) return copied;
        const removed = await source.workspace.remove(source.path);
        return removed.ok ? success(null) : refusedAt("from", removed);
      }),
    remove: (path, options) => changing(path, "is_root", (at) => at.workspace.remove(at.path, options)),
    makeDirectory: (path, options) =>
      path.segments.length === 0
        ? Promise.resolve(success({ created: false }))
        : changing(path, "is_directory", (at) => at.workspace.makeDirectory(at.path, options)),
    get trash() {
      const parts = writable.flatMap(({ name, open }) => {
        const trash = open()?.trash ?? null;
        return trash === null ? [] : [{ name, trash }];
      });
      return joinTrash(parts, changedPlaceOf);
    },
    begin(author, onChange, newId) {
      let id: string | null = null;
      let isTold = false;
      const shared = (): string => id ??= newId?.() ?? joining.newId();
      const tell = (begunId: string): void => {
        if (!isTold) onChange?.(begunId);
        isTold = true;
      };
      const changes = new Map<JoinedDirectory, { readonly of: Workspace; readonly change: Workspace }>();
      return workspaceOver(directories, {
        ...joining,
        close: () => Promise.resolve(),
        begun(of, directory) {
          const known = changes.get(directory);
          if (known?.of === of) return known.change;
          const change = of.begin(author, tell, shared);
          changes.set(directory, { of, change });
          return change;
        },
      });
    },
    only: (names) => workspaceOver(directories.filter(({ name }) => names.includes(name)), joining),
    close: () => joining.close(),
  };
}

function belowName(name: string, path: string): string {
  return path === "" ? name : `${name}/${path}`;
}

/** What ends a copy between two directories, when its source cannot be read on. */
class Interrupted extends Error {
  constructor(readonly refusal: WorkspaceRefusal) {
    super(refusal.reason);
  }
}

/** Copies a file into another directory, of one version, in parts. */
async function copyAcross(from: Place, to: Place, overwrite: boolean): Promise<PairOutcome<WrittenFile>> {
  const { maxFileBytes, maxReadBytes } = from.workspace.limits;
  const first = await from.workspace.read(from.path, { offsetBytes: 0, lengthBytes: maxReadBytes });
  if (!first.ok) return refusedAt("from", first);
  const { sizeBytes, version } = first.value;
  if (sizeBytes > maxFileBytes) {
    return refusedAt("from", failure({ reason: "too_large", sizeBytes, limitBytes: maxFileBytes }));
  }
  async function* content(): ArrivingContent {
    let part = first;
    for (let offset = 0; part.ok; offset += part.value.bytes.byteLength) {
      if (offset > 0 || part !== first) {
        part = await from.workspace.read(from.path, { offsetBytes: offset, lengthBytes: maxReadBytes });
        if (!part.ok) throw new Interrupted(part.error);
        if (part.value.version !== version) throw new Interrupted({ reason: "conflict" });
      }
      yield part.value.bytes;
      if (offset + part.value.bytes.byteLength >= sizeBytes) return;
    }
  }
  try {
    return refusedAt(
      "to",
      await to.workspace.receive(to.path, content(), { mode: overwrite ? "overwrite" : "create" }),
    );
  } catch (error) {
    if (error instanceof Interrupted) return refusedAt("from", failure(error.refusal));
    throw error;
  }
}

// * One trash over those of the directories. A change that touched several of them has one id in each; here the steps
// in the second one of them are numbered from a million on, and so forth.

/** More than a change has in one directory. */
const stepsOfDirectory = 1_000_000;

interface DirectoryTrash {
  readonly name: string;
  readonly trash: Trash;
}

function joinTrash(parts: readonly DirectoryTrash[], placeOf: (path: WorkspacePath) => Outcome<Place>): Trash | null {
  const [first] = parts;
  if (first === undefined) return null;
  /** Where there is something of the change. */
  const holdersOf = async (id: string) => {
    const found = await Promise.all(parts.map(async (part) => ({ part, change: await part.trash.find(id) })));
    return found.flatMap(({ part, change }) => change === null ? [] : [{ part, change }]);
  };
  const itemOf = async ({ change, number }: KeptItem) => {
    const holder = (await holdersOf(change))[Math.floor(number / stepsOfDirectory)];
    return holder && { ...holder.part, item: { change, number: number % stepsOfDirectory } };
  };
  /** The trash of a path's directory. */
  const at = async <T>(
    path: WorkspacePath,
    run: (trash: Trash, own: Place) => Promise<Outcome<T>>,
  ): Promise<Outcome<T>> => {
    const place = placeOf(path);
    if (!place.ok) return place;
    const { trash } = place.value.workspace;
    return trash === null ? failure({ reason: "not_found" }) : await run(trash, place.value);
  };
  const find = async (id: string): Promise<Change | null> => {
    const holders = await holdersOf(id);
    const [one] = holders;
    if (one === undefined) return null;
    const steps = holders.flatMap(({ part: { name }, change }, index) =>
      change.steps.map(({ number, step }) => ({ number: index * stepsOfDirectory + number, step: below(name, step) }))
    );
    return { ...one.change, steps };
  };
  return {
    keepMs: first.trash.keepMs,
    async *changes() {
      const told = new Set<string>();
      for await (const id of newestFirst(parts.map(({ trash }) => trash.changes()))) {
        if (told.has(id)) continue;
        told.add(id);
        const change = await find(id);
        if (change !== null) yield change;
      }
    },
    find,
    async holds(each) {
      const own = await itemOf(each);
      return await own?.trash.holds(own.item) ?? false;
    },
    async read(each, range) {
      const own = await itemOf(each);
      return await own?.trash.read(own.item, range) ?? failure({ reason: "not_found" });
    },
    isAsLeft: (path, left) => at(path, (trash, own) => trash.isAsLeft(own.path, left)),
    restore: (each, path, left) =>
      at(path, async (trash, own) => {
        const kept = await itemOf(each);
        if (kept !== undefined && kept.name !== own.directory.name) return failure({ reason: "across" });
        return kept === undefined ? failure({ reason: "not_found" }) : await trash.restore(kept.item, own.path, left);
      }),
    cutBack: (path, sizeBytes, left) => at<unknown>(path, (trash, own) => trash.cutBack(own.path, sizeBytes, left)),
    async noteUndone(id, by) {
      for (const { trash } of parts) if (await trash.find(id) !== null) await trash.noteUndone(id, by);
    },
    async tidy(now) {
      for (const { trash } of parts) await trash.tidy(now);
    },
  };
}

function below(name: string, step: ChangeStep): ChangeStep {
  const path = belowName(name, step.path);
  return step.op === "move" ? { ...step, path, from: belowName(name, step.from) } : { ...step, path };
}

/** Merges the ids of changes, which sort by their times. */
async function* newestFirst(all: readonly AsyncIterable<Change>[]): AsyncGenerator<string> {
  const iterators = all.map((each) => each[Symbol.asyncIterator]());
  const heads = await Promise.all(iterators.map((each) => each.next()));
  for (;;) {
    let newest = -1;
    for (const [index, head] of heads.entries()) {
      const best = heads[newest];
      if (head.done !== true && (best === undefined || best.done === true || head.value.id > best.value.id)) {
        newest = index;
      }
    }
    const head = heads[newest];
    const iterator = iterators[newest];
    if (head === undefined || head.done === true || iterator === undefined) return;
    yield head.value.id;
    heads[newest] = await iterator.next();
  }
}
