/** Makes, moves and removes entries of the store-backed workspace. */
import { failure, success } from "../../lib/result.ts";
import { checkBelow, checkMoved, checkNewNames, maxJudgeMilliseconds } from "../workspace/access_rules.ts";
import type { Left } from "../workspace/change.ts";
import type { WorkspacePath } from "../workspace/path.ts";
import { denied, type Outcome, type PairRefusal, refusedAt, type Workspace } from "../workspace/port.ts";
import type { StorageKey } from "../../storage/mod.ts";
import { applyChange, identityOf, keptOf, putBelow, sizeOf, type StoreChange } from "./change.ts";
import { type EntryRecord, resolveInStore, type Store, type StorePlace, walkStore } from "./store.ts";

/** The operations of the port that move, delete and make entries. */
export function rearrangingOf(store: Store): Pick<Workspace, "move" | "remove" | "makeDirectory"> {
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
export function isLeft(entry: EntryRecord, { identity, sha256 }: Left): boolean {
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
