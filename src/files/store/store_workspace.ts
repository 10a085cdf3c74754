/** The workspace in a key-value store, for hosts without a disk. It has no links and no special files. */
import * as z from "zod";
import { failure, success } from "../../lib/result.ts";
import { digestOf } from "../../lib/secrets.ts";
import { denied, refusedAt } from "../workspace/port.ts";
import type { DirectoryEntry, Outcome, PairRefusal, Trash, TrashLimits, Workspace } from "../workspace/port.ts";
import { cutStoreFile, readRange, writingOf } from "./write.ts";
import { parseStored } from "../../lib/system_fault.ts";
import type { StorageKey } from "../../storage/mod.ts";
import {
  authorRecord,
  createChangeIds,
  isChangeId,
  keptBytes,
  maxChanges,
  mirrorTime,
  roomShare,
  stepRecord,
  timeOfChange,
} from "../workspace/change.ts";
import type { Change, ChangeAuthor, KeptItem, Left, NumberedStep } from "../workspace/change.ts";
import { checkBelow, checkMoved, checkNewNames, maxJudgeMilliseconds } from "../workspace/access_rules.ts";
import type { WorkspacePath } from "../workspace/path.ts";
import { pagesBelow } from "../../lib/stored_entries.ts";
import { nextTurn } from "../../lib/turns.ts";
import {
  applyChange,
  createStore,
  entriesOf,
  entryRecord,
  findInStore,
  goneOf,
  keptOf,
  putBelow,
  resolveInStore,
  sizeOf,
  sweepGone,
  sweepStore,
} from "./store.ts";
import type { EntryRecord, RecordedChange, Store, StoreChange, StorePlace, StoreWorkspaceOptions } from "./store.ts";

/** Opens the workspace. What crashes have left is swept before its first operation. */
export function openStoreWorkspace(options: StoreWorkspaceOptions): Workspace {
  const opened = createStore(options);
  const kept = options.trash === undefined ? null : createStoreTrash(options.trash, opened);
  const trash = opened.trash !== null && opened.trash.keepMs > 0 ? kept : null;
  let swept: Promise<Store> | null = null;
  const store = (): Promise<Store> =>
    swept ??= sweepStore(opened, opened.clock()).then(() => kept?.tidy(opened, opened.clock())).then(() => opened)
      .catch(
        (error: unknown) => {
          swept = null; // the next operation tries again
          throw error;
        },
      );
  return workspaceWith(store, opened, trash, null);
}

/** The workspace whose operations are steps of `change`, or else separate changes. */
function workspaceWith(
  store: () => Promise<Store>,
  opened: Pick<Store, "limits">,
  trash: StoreTrash | null,
  change: RecordedChange | null,
): Workspace {
  const { limits } = opened;
  const changing = async (): Promise<Store> => ({ ...await store(), change: change ?? trash?.begin(null) ?? null });
  const settled = async <T>(operation: (store: Store) => Promise<T>): Promise<T> => {
    const outcome = await operation(await changing());
    await trash?.keepBound(store);
    return outcome;
  };
  return {
    limits,
    ...readingOf(store),
    write: (path, bytes, writeOptions) => settled((each) => writingOf(each).write(path, bytes, writeOptions)),
    receive: (path, content, receiveOptions) =>
      settled((each) => writingOf(each).receive(path, content, receiveOptions)),
    copy: (from, to, copyOptions) => settled((each) => writingOf(each).copy(from, to, copyOptions)),
    move: (from, to, moveOptions) => settled((each) => rearrangingOf(each).move(from, to, moveOptions)),
    remove: (path, removeOptions) => settled((each) => rearrangingOf(each).remove(path, removeOptions)),
    makeDirectory: (path, makeOptions) => settled((each) => rearrangingOf(each).makeDirectory(path, makeOptions)),
    trash: trash && createStoredTrash(trash, { open: store, changing }),
    begin: (...change) => workspaceWith(store, opened, trash, trash?.begin(...change) ?? null),
    close: () => Promise.resolve(),
  };
}

const maxReadAttempts = 5;

/** The operations of the port that change nothing. */
function readingOf(open: () => Promise<Store>): Pick<Workspace, "read" | "readInto" | "stat" | "trueNames" | "list"> {
  const reading: ReturnType<typeof readingOf> = {
    async read(path, range) {
      const store = await open();
      const { maxReadBytes } = store.limits;
      for (let attempt = 1;; attempt++) {
        const found = await findInStore(store, path);
        if (!found.ok) return found;
        if (found.value.kind === "directory") return failure({ reason: "is_directory" });
        const { sizeBytes, sha256, generation: version, modifiedAt } = found.value;
        if (range === undefined && sizeBytes > maxReadBytes) {
          return failure({ reason: "too_large", sizeBytes, limitBytes: maxReadBytes });
        }
        const offset = Math.min(range?.offsetBytes ?? 0, sizeBytes);
        const length = Math.min(range?.lengthBytes ?? sizeBytes, maxReadBytes, sizeBytes - offset);
        const bytes = await readRange(store, found.value, offset, length);
        const isWhole = length === sizeBytes;
        if (bytes !== null && (!isWhole || digestOf(bytes) === sha256)) {
          return success({ bytes, sizeBytes, sha256: isWhole ? sha256 : null, version, modifiedAt });
        }
        // replaced while it was read: the entry points to the new content by now
        if (attempt === maxReadAttempts) return failure({ reason: "io", code: "EIO" });
      }
    },
    async readInto(path, buffer, offsetBytes) {
      const part = await reading.read(path, { offsetBytes, lengthBytes: buffer.byteLength });
      if (!part.ok) return part;
      const { bytes, sizeBytes } = part.value;
      buffer.set(bytes);
      return success({ lengthBytes: bytes.byteLength, sizeBytes });
    },
    async stat(path) {
      const found = await findInStore(await open(), path);
      if (!found.ok) return found;
      const { kind, modifiedAt } = found.value;
      return success({ kind, sizeBytes: sizeOf(found.value), modifiedAt });
    },
    trueNames: ({ text }) => success([text]), // it has no links
    async list(path, { limit = Infinity, after, details = false } = {}) {
      const store = await open();
      const found = await findInStore(store, path);
      if (!found.ok) return found;
      if (found.value.kind === "file") return failure({ reason: "not_a_directory" });
      const wanted = Math.min(limit, store.limits.maxListEntries);
      const entries: DirectoryEntry[] = [];
      for await (const [name, record] of entriesOf(store, found.value.id, wanted + 1, after)) {
        if (store.rules.isDenied([...path.segments, name])) continue;
        if (entries.length === wanted) return success({ entries, hasMore: true });
        entries.push(toEntry(name, record, details));
      }
      return success({ entries, hasMore: false });
    },
  };
  return reading;
}

function toEntry(name: string, record: EntryRecord, details: boolean): DirectoryEntry {
  const { kind, modifiedAt } = record;
  if (!details) return { name, kind };
  return record.kind === "file" ? { name, kind, sizeBytes: record.sizeBytes, modifiedAt } : { name, kind, modifiedAt };
}

// * The trash of the store-backed workspace: records of changes, and the entries that their steps took out of the tree.

/** What is denied or protected today must not come back with a tree. */
async function judgeKept(store: Store, entry: EntryRecord, path: WorkspacePath): Promise<Outcome<null>> {
  if (entry.kind === "file") return success(null);
  for await (const { segments } of walkStore(store, entry.id, path.segments)) {
    const allowed = checkBelow(store.rules, segments);
    if (!allowed.ok) return allowed;
  }
  return success(null);
}

const changeRecord = z.object({ at: z.number(), by: authorRecord.nullable(), undoneBy: z.string().optional() });
/** A step of a change, and the entry that it keeps; `null`: none, or it was put back. */
const keptStepRecord = stepRecord.unwrap().extend({ entry: entryRecord.nullable() });

function parseChange(value: unknown): z.infer<typeof changeRecord> {
  return parseStored(changeRecord, value, "workspace change");
}

function parseStep(value: unknown): z.infer<typeof keptStepRecord> {
  return parseStored(keptStepRecord, value, "workspace step");
}

function toStep(value: unknown): NumberedStep {
  const { number, step } = parseStep(value);
  return { number, step };
}

/** The id of the change that a key belongs to. */
function changeOfKey(key: StorageKey): string {
  return mirrorTime(key[3] ?? "");
}

type StoreTrash = ReturnType<typeof createStoreTrash>;

/** Begins changes, and drops what is too much. */
function createStoreTrash({ keepMs, maxBytes }: TrashLimits, { clock, randomId }: Pick<Store, "clock" | "randomId">) {
  const nextId = createChangeIds(clock, randomId);
  let used = 0;
  /** Of it, what came while the changes were looked through. */
  let arrived = 0;
  let tidying: Promise<void> | null = null;
  const trash = {
    keepMs,
    begin: (by: ChangeAuthor | null, onBegin?: (id: string) => void, newId = nextId): RecordedChange => ({
      id: newId(),
      by,
      onBegin,
      plannedSteps: 0,
      hasBegun: false,
      isStored: false,
      keep(bytes) {
        used += bytes;
        arrived += bytes;
      },
      leftAt: new Map(),
    }),
    /** Drops what is too much: once for all changes that find it so at the same time. */
    async keepBound(store: () => Promise<Store>): Promise<void> {
      if (used <= maxBytes) return;
      await (tidying ??= store().then((opened) => trash.tidy(opened, -Infinity)).finally(() => tidying = null));
    },
    /** Drops what at `now` is kept for too long, and what is too much. */
    async tidy(store: Store, now: number): Promise<void> {
      const kept: { readonly id: string; readonly bytes: number }[] = [];
      arrived = 0;
      for await (const change of changesOf(store)) {
        const bytes = keptBytes(change.steps);
        if (timeOfChange(change.id) + keepMs <= now) await dropChange(store, change.id);
        else kept.push({ id: change.id, bytes });
      }
      used = kept.reduce((sum, { bytes }) => sum + bytes, arrived);
      const isOver = used > maxBytes || kept.length > maxChanges;
      for (let oldest; isOver && (oldest = kept.pop()) !== undefined;) {
        await dropChange(store, oldest.id);
        used -= oldest.bytes;
        if (used <= maxBytes * (1 - roomShare) && kept.length <= maxChanges * (1 - roomShare)) break;
      }
    },
  };
  return trash;
}

/** The operations; those that change something become steps of the change that `changing` returns. */
function createStoredTrash(
  trash: StoreTrash,
  { open, changing }: { readonly open: () => Promise<Store>; readonly changing: () => Promise<Store> },
): Trash {
  return {
    keepMs: trash.keepMs,
    async *changes() {
      yield* changesOf(await open());
    },
    find: async (id) => await findChange(await open(), id),
    holds: async (item) => await keptEntry(await open(), item) !== null,
    async read(item, range) {
      const store = await open();
      const entry = await keptEntry(store, item);
      if (entry?.kind !== "file") return failure({ reason: "not_found" });
      const offset = Math.min(range.offsetBytes, entry.sizeBytes);
      const length = Math.min(range.lengthBytes, store.limits.maxReadBytes, entry.sizeBytes - offset);
      const bytes = await readRange(store, entry, offset, length);
      return bytes === null ? failure({ reason: "not_found" }) : success(bytes);
    },
    async isAsLeft(path, left) {
      const found = await findInStore(await open(), path);
      if (!found.ok) return found.error.reason === "not_found" ? success(false) : found;
      return success(isLeft(found.value, left));
    },
    // rules, names and quotas are judged as for any new entry
    async restore(item, path, left) {
      const store = await changing();
      return await applyChange(store, async (): Promise<Outcome<StoreChange<null>>> => {
        const stepKey = store.keys.step(item.change, item.number);
        const stored = await store.storage.get(stepKey);
        const record = stored === null ? null : parseStep(stored.value);
        if (stored === null || record === null) return failure({ reason: "not_found" });
        const { entry } = record;
        if (entry === null) return failure({ reason: "not_found" });
        const kept = "kept" in record.step ? record.step.kept : null;
        const judged = await judgeKept(store, entry, path);
        if (!judged.ok) return judged;
        const place = await resolveInStore(store, path);
        if (!place.ok) return place;
        const { entry: there, existing } = place.value;
        const named = checkNewNames(store.rules, path.segments, existing, record.step.path === path.text);
        if (!named.ok) return named;
        if (left === undefined && there !== null) return failure({ reason: "already_exists" });
        if (left !== undefined && (there === null || !isLeft(there, left))) return failure({ reason: "conflict" });
        if (there !== null && (there.kind !== "file" || entry.kind !== "file")) {
          return failure({ reason: "not_a_file" });
        }
        const puts = putBelow(store, place.value, path.segments, entry);
        return success({
          checks: [{ key: stepKey, version: stored.version }],
          puts: [...puts, { key: stepKey, value: { ...record, entry: null } }],
          addedBytes: (kept?.sizeBytes ?? 0) - sizeOf(there),
          gone: there,
          step: {
            op: "put",
            path: path.text,
            kind: entry.kind,
            made: puts.length - 1,
            created: there === null,
            kept: there === null ? null : keptOf(store, there),
            left: { identity: identityOf(entry) },
            source: item,
          },
          value: null,
        });
      });
    },
    cutBack: async (path, sizeBytes, left) => await cutStoreFile(await changing(), path, sizeBytes, left),
    async noteUndone(id, by) {
      const { storage, keys } = await open();
      const stored = isChangeId(id) ? await storage.get(keys.change(id)) : null;
      if (stored === null) return;
      const value = { ...parseChange(stored.value), undoneBy: by };
      await storage.commit({
        checks: [{ key: stored.key, version: stored.version }],
        puts: [{ key: stored.key, value }],
      });
    },
    async tidy(now) {
      const store = await open();
      await sweepStore(store, now); // a crash of less than an hour before the start, or of another process
      await trash.tidy(store, now);
    },
  };
}

/** The changes, the newest first. */
async function* changesOf({ storage, keys }: Store): AsyncGenerator<Change> {
  let current: Omit<Change, "steps"> & { steps: NumberedStep[] } | null = null;
  for await (const stored of pagesBelow(storage, keys.allChanges)) {
    await nextTurn();
    for (const { key, value } of stored) {
      if (key.length === keys.allChanges.length + 1) {
        if (current !== null) yield current;
        const { at, by, undoneBy = null } = parseChange(value);
        current = { id: changeOfKey(key), at, by, undoneBy, steps: [] };
      } else if (current !== null && current.id === changeOfKey(key)) {
        current.steps.push(toStep(value));
      }
    }
  }
  if (current !== null) yield current;
}

async function findChange({ storage, keys }: Store, id: string): Promise<Change | null> {
  const stored = isChangeId(id) ? await storage.get(keys.change(id)) : null;
  if (stored === null) return null;
  const { at, by, undoneBy = null } = parseChange(stored.value);
  const steps = (await Array.fromAsync(pagesBelow(storage, keys.change(id)))).flat().map(({ value }) => toStep(value));
  return { id, at, by, undoneBy, steps };
}

async function keptEntry({ storage, keys }: Store, { change, number }: KeptItem): Promise<EntryRecord | null> {
  const stored = isChangeId(change) ? await storage.get(keys.step(change, number)) : null;
  return stored === null ? null : parseStep(stored.value).entry;
}

async function dropChange(store: Store, id: string): Promise<void> {
  const { storage, keys } = store;
  for await (const steps of pagesBelow(storage, keys.change(id))) {
    for (const { key, version, value } of steps) {
      const { entry } = parseStep(value);
      const gone = entry === null ? null : goneOf(entry);
      const puts = gone === null ? [] : [{ key: keys.gone(gone[0]), value: gone[1] }];
      const isDropped = await storage.commit({ checks: [{ key, version }], puts, deletes: [key] });
      if (isDropped && gone !== null) await sweepGone(store, ...gone);
    }
  }
  await storage.commit({ deletes: [keys.change(id)] });
}

// * Moves, deletions and new directories.

function rearrangingOf(store: Store): Pick<Workspace, "move" | "remove" | "makeDirectory"> {
  return {
    async makeDirectory(path, { isReturning = false } = {}) {
      return await applyChange<{ readonly created: boolean }>(store, async () => {
        const place = await resolveInStore(store, path);
        if (!place.ok) return place;
        const { entry, existing } = place.value;
        if (entry?.kind === "directory") return success({ value: { created: false } });
        if (entry !== null) return failure({ reason: "already_exists" });
        const { segments } = path;
        const named = checkNewNames(store.rules, segments, existing, isReturning);
        if (!named.ok) return named;
        const directory = { kind: "directory", id: store.randomId(), modifiedAt: store.clock() } as const;
        const puts = putBelow(store, place.value, segments, directory);
        return success({ puts, step: { op: "make", path: path.text, made: puts.length }, value: { created: true } });
      });
    },
    async move(from, to, { overwrite = false, left } = {}) {
      let about: PairRefusal["about"] = "from";
      const moved = await applyChange(store, async () => {
        about = "from";
        const source = await findMovable(store, from);
        if (!source.ok) return source;
        const { entry } = source.value;
        if (left !== undefined && !isLeft(entry, left)) return failure({ reason: "conflict" });
        about = "to";
        const target = await resolveInStore(store, to);
        if (!target.ok) return target;
        const { entry: replaced, existing } = target.value;
        const isBelow = from.segments.every((name, index) => to.segments[index] === name);
        if (isBelow && entry.kind === "directory" && to.segments.length > from.segments.length) {
          about = "both";
          return failure({ reason: "into_itself" });
        }
        if (to.segments.length === 0) return failure({ reason: "is_root" });
        if (replaced !== null) {
          if (!overwrite) return failure({ reason: "already_exists" });
          if (replaced.kind === "directory") return failure({ reason: "is_directory" });
          if (entry.kind === "directory") return failure({ reason: "already_exists" });
          if (to.text === from.text) return success({ value: {} });
        }
        const named = checkNewNames(store.rules, to.segments, existing, left !== undefined);
        if (!named.ok) return named;
        if (entry.kind === "directory") {
          const ends = { from: from.segments, to: to.segments, maxEntries: store.limits.maxTreeEntries };
          const judged = await checkMoved(store.rules, walkStore(store, entry.id, from.segments), ends);
          if (!judged.ok) {
            about = judged.error.reason === "too_many_entries" ? "from" : "both";
            return judged;
          }
        }
        const puts = putBelow(store, target.value, to.segments, entry);
        return success({
          puts,
          deletes: [keyAt(store, source.value, from)],
          addedBytes: -sizeOf(replaced),
          gone: replaced,
          step: {
            op: "move",
            path: to.text,
            from: from.text,
            kind: entry.kind,
            made: puts.length - 1,
            kept: replaced === null ? null : keptOf(store, replaced),
            replaced: replaced !== null,
            left: { identity: identityOf(entry) },
          },
          value: {},
        });
      });
      return refusedAt(!moved.ok && moved.error.reason === "conflict" ? "both" : about, moved);
    },
    async remove(path, { recursive = false, left } = {}) {
      const started = performance.now();
      const maxEntries = store.change === null ? store.limits.maxTreeEntries : Infinity; // nothing of a tree is moved
      return await applyChange(store, async (): Promise<Outcome<StoreChange<{ readonly entries: number }>>> => {
        const found = await findMovable(store, path);
        if (!found.ok) return found;
        const { entry } = found.value;
        if (left !== undefined && !isLeft(entry, left)) return failure({ reason: "conflict" });
        let entries = 1;
        let sizeBytes = sizeOf(entry);
        const below = entry.kind === "file" ? [] : walkStore(store, entry.id, path.segments);
        for await (const { segments, record } of below) {
          if (!recursive) return failure({ reason: "not_empty" });
          const isLong = performance.now() - started > maxJudgeMilliseconds;
          if (++entries > maxEntries || isLong) return failure({ reason: "too_many_entries", limit: entries - 1 });
          sizeBytes += sizeOf(record);
          const allowed = checkBelow(store.rules, segments);
          if (!allowed.ok) return allowed;
        }
        const isEmpty = entry.kind === "directory" && entries === 1;
        const kept = entry.kind === "file" || recursive ? keptOf(store, entry, { entries, sizeBytes }) : null;
        return success({
          deletes: [keyAt(store, found.value, path)],
          addedBytes: -sizeBytes,
          gone: entry,
          step: { op: "remove", path: path.text, kind: entry.kind, kept, ...isEmpty ? { empty: true } : {} },
          value: { entries },
        });
      });
    },
  };
}

/** Whether an entry is as it was left. */
function isLeft(entry: EntryRecord, { identity, sha256 }: Left): boolean {
  if (identity !== undefined) return identityOf(entry) === identity;
  return entry.kind === "file" && entry.sha256 === sha256;
}

/** The place of an entry that is to be moved or deleted. */
async function findMovable(
  store: Store,
  path: WorkspacePath,
): Promise<Outcome<StorePlace & { readonly entry: NonNullable<StorePlace["entry"]> }>> {
  const place = await resolveInStore(store, path);
  if (!place.ok) return place;
  const { entry } = place.value;
  if (entry === null) return failure({ reason: "not_found" });
  if (path.segments.length === 0) return failure({ reason: "is_root" });
  if (store.rules.isProtected(path.segments)) return denied("protected_name");
  return success({ ...place.value, entry });
}

/** The key of the last name of `path`, whose directory is there. */
function keyAt(store: Store, { directoryId }: StorePlace, path: WorkspacePath): StorageKey {
  return store.keys.entry(directoryId, path.segments.at(-1) ?? "");
}

const walkPage = 200;

/** Every entry below a directory, whose own names are `segments`. */
async function* walkStore(
  store: Store,
  directoryId: string,
  segments: readonly string[],
): AsyncGenerator<{ readonly segments: readonly string[]; readonly record: EntryRecord }> {
  const directories: (readonly [string, readonly string[]])[] = [[directoryId, segments]];
  let directory: readonly [string, readonly string[]] | undefined;
  while ((directory = directories.pop()) !== undefined) {
    const [id, names] = directory;
    for await (const [name, record] of entriesOf(store, id, walkPage)) {
      const below = [...names, name];
      await nextTurn();
      yield { segments: below, record };
      if (record.kind === "directory") directories.push([record.id, below]);
    }
  }
}

/** What tells an entry from every other, wherever it is moved. */
function identityOf(entry: EntryRecord): string {
  return entry.kind === "file" ? entry.generation : entry.id;
}
