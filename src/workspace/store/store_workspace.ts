/** The workspace in a key-value store, for hosts without a disk of their own. It has no links and no special files. */
import { type Clock, systemClock } from "../../lib/time/clock.ts";
import { failure, success } from "../../lib/result.ts";
import type { Storage } from "../../storage/port.ts";
import { type AccessPatterns, createAccessRules } from "../access_rules.ts";
import { createKeyedMutex } from "../keyed_mutex.ts";
import type { WorkspacePath } from "../path.ts";
import { defaultWorkspaceLimits, type EntryInfo, type Outcome, type Workspace, type WorkspaceLimits } from "../port.ts";
import { sweepStore } from "./change.ts";
import { readStoreFile, readStoreFileInto } from "./content.ts";
import { findInStore, type Store } from "./context.ts";
import { receiveStoreFile } from "./receive.ts";
import { makeStoreDirectory, moveStoreEntry, removeStoreEntry } from "./rearrange.ts";
import { createStoreKeys } from "./records.ts";
import { listStoreDirectory } from "./tree.ts";
import { copyStoreFile, writeStoreFile } from "./write.ts";

interface StoreWorkspaceOptions {
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
    changes: createKeyedMutex(),
    arriving: { bytes: 0 },
  };
  let swept: Promise<Store> | null = null;
  const store = (): Promise<Store> =>
    swept ??= sweepStore(opened).then(() => opened).catch((error: unknown) => {
      swept = null; // the next operation tries again
      throw error;
    });
  return {
    limits,
    read: async (path, range) => await readStoreFile(await store(), path, range),
    readInto: async (path, buffer, offset) => await readStoreFileInto(await store(), path, buffer, offset),
    stat: async (path) => await statStoreEntry(await store(), path),
    list: async (path, listOptions) => await listStoreDirectory(await store(), path, listOptions),
    write: async (path, bytes, writeOptions) => await writeStoreFile(await store(), path, bytes, writeOptions),
    receive: async (path, content, receiveOptions) =>
      await receiveStoreFile(await store(), path, content, receiveOptions),
    copy: async (from, to, copyOptions) => await copyStoreFile(await store(), from, to, copyOptions),
    move: async (from, to, moveOptions) => await moveStoreEntry(await store(), from, to, moveOptions),
    remove: async (path, removeOptions) => await removeStoreEntry(await store(), path, removeOptions),
    makeDirectory: async (path) => await makeStoreDirectory(await store(), path),
    close: () => Promise.resolve(),
  };
}

async function statStoreEntry(store: Store, path: WorkspacePath): Promise<Outcome<EntryInfo>> {
  const found = await findInStore(store, path);
  if (!found.ok) return failure(found.error);
  const { kind, modifiedAt } = found.value;
  return success({ kind, sizeBytes: found.value.kind === "file" ? found.value.sizeBytes : 0, modifiedAt });
}
