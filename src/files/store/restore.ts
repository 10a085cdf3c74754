/** Puts what a change kept back into the tree. Rules, names and quotas are judged as for any new entry. */
import { failure, success } from "../../lib/result.ts";
import type { Kept, KeptItem, Left } from "../workspace/change.ts";
import { checkNewNames } from "../workspace/new_names.ts";
import type { WorkspacePath } from "../workspace/path.ts";
import type { Outcome } from "../workspace/port.ts";
import { applyChange, keyAt, putBelow, type StoreChange, storedIdentityOf, storedKeptOf } from "./change.ts";
import { goneOf } from "./sweep.ts";
import { resolveInStore, type Store } from "./context.ts";
import { nothing } from "./rearrange.ts";
import { type EntryRecord, parseStep } from "./records.ts";
import { walkStore } from "./tree.ts";

/** Whether an entry is as it was left. */
export function isLeft(entry: EntryRecord, { identity, sha256 }: Left): boolean {
  if (identity !== undefined) return storedIdentityOf(entry) === identity;
  return entry.kind === "file" && entry.sha256 === sha256;
}

/** Puts the item at `path`: where nothing is, or with `left` in the place of the file that is there as it was left. */
export async function restoreStoreEntry(
  store: Store,
  item: KeptItem,
  path: WorkspacePath,
  left: Left | undefined,
): Promise<Outcome<null>> {
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
    const { entry: there, existing, checks } = place.value;
    const named = checkNewNames(store.rules, path.segments, existing, record.step.path === path.text);
    if (!named.ok) return named;
    if (left === undefined && there !== null) return failure({ reason: "already_exists" });
    if (left !== undefined && (there === null || !isLeft(there, left))) return failure({ reason: "conflict" });
    if (there !== null && (there.kind !== "file" || entry.kind !== "file")) return failure({ reason: "not_a_file" });
    const placed = there === null
      ? putBelow(store, place.value, path.segments, entry)
      : { puts: [{ key: keyAt(store, place.value, path), value: entry }], memberships: [] };
    const size: Pick<Kept, "sizeBytes" | "entries"> = kept ?? { sizeBytes: 0, entries: 1 };
    return success({
      ...nothing,
      checks: [...checks, { key: stepKey, version: stored.version }],
      puts: [...placed.puts, { key: stepKey, value: { ...record, entry: null } }],
      memberships: placed.memberships,
      told: { paths: [path], isListChanged: there === null },
      addedBytes: size.sizeBytes - (there?.kind === "file" ? there.sizeBytes : 0),
      addedEntries: there === null ? size.entries + placed.puts.length - 1 : 0,
      gone: there === null ? [] : [goneOf(there)],
      step: {
        step: {
          op: "put",
          path: path.text,
          kind: entry.kind,
          made: there === null ? placed.puts.length - 1 : 0,
          created: there === null,
          kept: there === null ? null : storedKeptOf(store, there),
          left: { identity: storedIdentityOf(entry) },
          source: item,
        },
        entry: there,
      },
      value: null,
    });
  });
}

/** What is denied or protected today must not come back with a tree. */
async function judgeKept(store: Store, entry: EntryRecord, path: WorkspacePath): Promise<Outcome<null>> {
  if (entry.kind === "file") return success(null);
  for await (const { segments } of walkStore(store, entry.id, path.segments)) {
    if (store.rules.isDenied(segments)) return failure({ reason: "denied", because: "denied_name" });
    if (store.rules.isProtected(segments)) return failure({ reason: "denied", because: "protected_name" });
  }
  return success(null);
}
