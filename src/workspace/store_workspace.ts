/** The workspace in a key-value store, for hosts without a disk of their own. It has no links and no special files. */
import { type Clock, systemClock } from "../lib/clock.ts";
import { failure, success } from "../lib/result.ts";
import type { Storage } from "../storage/port.ts";
import { type AccessPatterns, createAccessRules } from "./access_rules.ts";
import { createKeyedMutex } from "./keyed_mutex.ts";
import type { WorkspacePath } from "./path.ts";
import { defaultWorkspaceLimits, type EntryInfo, type Outcome, type Workspace, type WorkspaceLimits } from "./port.ts";
import { sweepStore } from "./store_change.ts";
import { readStoreFile } from "./store_content.ts";
import { findInStore, type Store } from "./store_context.ts";
import {
  copyStoreFile,
  makeStoreDirectory,
  moveStoreEntry,
  removeStoreEntry,
  writeStoreFile,
} from "./store_operations.ts";
import { createStoreKeys } from "./store_records.ts";
import { listStoreDirectory } from "./store_tree.ts";

/** Settings of a store-backed workspace. */
export interface StoreWorkspaceOptions {
  /** Stays open when the workspace is closed. */
  readonly storage: Storage;
  /** Tells apart the workspaces in one store. Not empty. */
  readonly name: string;
  readonly limits?: Partial<WorkspaceLimits>;
  readonly access?: AccessPatterns;
  readonly clock?: Clock;
  /** Ids that never repeat. Default `crypto.randomUUID`. */
  readonly randomId?: () => string;
}

/** Opens the workspace and sweeps what crashes have left. */
export async function openStoreWorkspace(options: StoreWorkspaceOptions): Promise<Workspace> {
  const limits = { ...defaultWorkspaceLimits, ...options.limits };
  const store: Store = {
    storage: options.storage,
    keys: createStoreKeys(options.name),
    rules: createAccessRules(options.access),
    limits,
    clock: options.clock ?? systemClock,
    randomId: options.randomId ?? (() => crypto.randomUUID()),
    changes: createKeyedMutex(),
  };
  await sweepStore(store);
  return {
    limits,
    read: (path, range) => readStoreFile(store, path, range),
    stat: (path) => statStoreEntry(store, path),
    list: (path, listOptions) => listStoreDirectory(store, path, listOptions),
    write: (path, bytes, writeOptions) => writeStoreFile(store, path, bytes, writeOptions),
    copy: (from, to, copyOptions) => copyStoreFile(store, from, to, copyOptions),
    move: (from, to, moveOptions) => moveStoreEntry(store, from, to, moveOptions),
    remove: (path, removeOptions) => removeStoreEntry(store, path, removeOptions),
    makeDirectory: (path) => makeStoreDirectory(store, path),
    close: () => Promise.resolve(),
  };
}

async function statStoreEntry(store: Store, path: WorkspacePath): Promise<Outcome<EntryInfo>> {
  const found = await findInStore(store, path);
  if (!found.ok) return failure(found.error);
  const { kind, modifiedAt } = found.value;
  return success({ kind, sizeBytes: found.value.kind === "file" ? found.value.sizeBytes : 0, modifiedAt });
}
