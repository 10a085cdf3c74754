/** The workspace in a key-value store, for hosts without a disk. It has no links and no special files. */
import { type Clock, systemClock } from "../../lib/time.ts";
import { success } from "../../lib/result.ts";
import type { Storage } from "../../storage/mod.ts";
import { type AccessPatterns, createAccessRules } from "../workspace/access_rules.ts";
import { createKeyedMutex } from "../workspace/change.ts";
import type { WorkspacePath } from "../workspace/path.ts";
import {
  defaultWorkspaceLimits,
  type EntryInfo,
  type Outcome,
  type TrashLimits,
  type Workspace,
  type WorkspaceLimits,
} from "../workspace/port.ts";
import { copyStoreFile, receiveStoreFile, writeStoreFile } from "./write.ts";
import { sizeOf, sweepStore } from "./change.ts";
import { readStoreFile, readStoreFileInto } from "./content.ts";
import { createStoreKeys, findInStore, listStoreDirectory, type RecordedChange, type Store } from "./store.ts";
import { makeStoreDirectory, moveStoreEntry, removeStoreEntry } from "./rearrange.ts";
import { createStoredTrash, createStoreTrash, type StoreTrash } from "./trash.ts";

interface StoreWorkspaceOptions {
  /** Stays open when the workspace is closed. */
  readonly storage: Storage;
  /** Tells apart the workspaces in one store. Not empty. */
  readonly name: string;
  readonly limits?: Partial<WorkspaceLimits>;
  readonly access?: AccessPatterns;
  /** What is kept of what changes replace; for no time: what was kept is dropped. Default: nothing. */
  readonly trash?: TrashLimits;
  readonly clock?: Clock;
  /** Ids that never repeat. Default `crypto.randomUUID`. */
  readonly randomId?: () => string;
}

/** Opens the workspace. What crashes have left is swept before its first operation. */
export function openStoreWorkspace(options: StoreWorkspaceOptions): Workspace {
  const limits = { ...defaultWorkspaceLimits, ...options.limits };
  const opened: Store = {
    storage: options.storage,
    name: options.name,
    keys: createStoreKeys(options.name),
    rules: createAccessRules(options.access),
    limits,
    clock: options.clock ?? systemClock,
    randomId: options.randomId ?? (() => crypto.randomUUID()),
    trash: options.trash ?? null,
    change: null,
    changes: createKeyedMutex(),
    arriving: { bytes: 0 },
  };
  const kept = options.trash === undefined ? null : createStoreTrash(options.trash, opened);
  const trash = opened.trash !== null && opened.trash.keepMs > 0 ? kept : null;
  let swept: Promise<Store> | null = null;
  const store = (): Promise<Store> =>
    swept ??= sweepStore(opened).then(() => kept?.tidy(opened, opened.clock())).then(() => opened).catch(
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
  opened: Pick<Store, "limits" | "trash">,
  trash: StoreTrash | null,
  change: RecordedChange | null,
): Workspace {
  const { limits, trash: trashLimits } = opened;
  const changing = async (): Promise<Store> => ({ ...await store(), change: change ?? trash?.begin(null) ?? null });
  const settled = async <T>(operation: (store: Store) => Promise<T>): Promise<T> => {
    const outcome = await operation(await changing());
    if (trash?.isOverfull) await trash.tidy(await store());
    return outcome;
  };
  return {
    limits,
    read: async (path, range, known) => await readStoreFile(await store(), path, range, known),
    readInto: async (path, buffer, offset) => await readStoreFileInto(await store(), path, buffer, offset),
    stat: async (path) => await statStoreEntry(await store(), path),
    trueNames: ({ text }) => success([text]), // it has no links
    list: async (path, listOptions) => await listStoreDirectory(await store(), path, listOptions),
    write: (path, bytes, writeOptions) => settled((each) => writeStoreFile(each, path, bytes, writeOptions)),
    receive: (path, content, receiveOptions) =>
      settled((each) => receiveStoreFile(each, path, content, receiveOptions)),
    copy: (from, to, copyOptions) => settled((each) => copyStoreFile(each, from, to, copyOptions)),
    move: (from, to, moveOptions) => settled((each) => moveStoreEntry(each, from, to, moveOptions)),
    remove: (path, removeOptions) => settled((each) => removeStoreEntry(each, path, removeOptions)),
    makeDirectory: (path) => settled((each) => makeStoreDirectory(each, path)),
    trash: trash === null || trashLimits === null
      ? null
      : createStoredTrash(trash, { keepMs: trashLimits.keepMs, open: store, changing }),
    begin: (by, onChange) => workspaceWith(store, opened, trash, trash?.begin(by, onChange) ?? null),
    close: () => Promise.resolve(),
  };
}

async function statStoreEntry(store: Store, path: WorkspacePath): Promise<Outcome<EntryInfo>> {
  const found = await findInStore(store, path);
  if (!found.ok) return found;
  const { kind, modifiedAt } = found.value;
  return success({ kind, sizeBytes: sizeOf(found.value), modifiedAt });
}
