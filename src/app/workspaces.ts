/** The workspaces that a configuration names: one for all or one for each user, on a disk or in the storage. */
import {
  type AccessPatterns,
  createDiskWatch,
  createUserWorkspaces,
  createWorkspaceWatches,
  defaultWorkspaceLimits,
  type KernelAccess,
  type KernelRoots,
  loadStoreWorkspace,
  loadWatch,
  maxTrashBytes,
  openDiskWorkspace,
  rootPath,
  userDirectoryName,
  type Workspace,
  type WorkspaceSource,
  type WorkspaceWatches,
  type WorkspaceWatchesOptions,
} from "../files/mod.ts";
import { pathBelow } from "../lib/system_path.ts";
import type { WorkspaceSettings } from "../files/mod_settings.ts";
import type { Parts } from "./installation.ts";

/** One workspace for all, or one for each user, opened at the first use. */
export async function openWorkspaces(settings: WorkspaceSettings, parts: Parts) {
  const open = await workspaceOpener(settings, parts);
  const users = createUserWorkspaces(open);
  const shared = settings.sharing === "shared" ? open(null) : null;
  const opened = (): readonly Workspace[] => shared === null ? [...users.opened()] : [shared];
  const source: WorkspaceSource = shared ?? ((principal) => users.of(principal));
  const watches = await watchWorkspaces(settings, parts);
  return {
    source,
    watches,
    /** Whether the shared workspace, or of those for each user any that is open, can be reached. */
    async isThere(): Promise<boolean> {
      for (const workspace of opened()) if (await isThere(workspace)) return true;
      return opened().length === 0;
    },
    /** Drops what at `now` is kept for too long. */
    async tidy(now: number): Promise<void> {
      for (const { trash } of opened()) await trash?.tidy(now);
    },
    async close(): Promise<void> {
      await watches.close();
      await (shared ?? users).close();
    },
  };
}

/** A lost storage is not a lost workspace: its own probe reports it. */
async function isThere(workspace: Workspace): Promise<boolean> {
  const looked = await Promise.resolve(workspace.stat(rootPath)).catch(() => null);
  return looked === null || looked.ok;
}

/** Opens the shared workspace (`null`) or the one of a user's directory name, where the configuration says. */
export async function workspaceOpener(
  settings: WorkspaceSettings,
  { storage, clock, bounds, kernel }: Pick<Parts, "storage" | "clock" | "kernel"> & Partial<Pick<Parts, "bounds">>,
): Promise<(directory: string | null) => Workspace> {
  const { maxWriteBytes, quotaBytes = null, trashKeepMs } = settings;
  const limits = { ...defaultWorkspaceLimits, maxWriteBytes, maxTotalBytes: quotaBytes, ...bounds?.workspace };
  const trash = { keepMs: trashKeepMs, maxBytes: maxTrashBytes };
  const access = accessOf(settings);
  if (settings.store === "storage") {
    const { openStoreWorkspace } = await loadStoreWorkspace();
    return (directory) => openStoreWorkspace({ storage, name: storeNameOf(directory), limits, access, clock, trash });
  }
  const options = { limits, access, clock, trash, ...kernelOf(kernel) };
  return (directory) => openDiskWorkspace({ root: pathBelow(settings.dir, directory ?? ""), ...options });
}

/** Where a user's files are, for people. */
export function placeOfFiles({ store, sharing, dir }: WorkspaceSettings, userId: string): string {
  const isShared = sharing === "shared";
  if (store === "storage") return isShared ? "in the database, shared" : "in the database, your own";
  return isShared ? dir : pathBelow(dir, userDirectoryName(userId));
}

/** Whether changes can be undone. */
export function keepsChanges({ trashKeepMs }: WorkspaceSettings): boolean {
  return trashKeepMs > 0;
}

/** A colon is in no directory name: no user's workspace is ever the shared one (`null`). */
function storeNameOf(directory: string | null): string {
  return directory === null ? "shared" : `user:${directory}`;
}

/** Watches of what {@link openWorkspaces} opens: they begin with their first listener. */
async function watchWorkspaces(
  settings: WorkspaceSettings,
  { storage, clock, log, kernel }: Parts,
): Promise<WorkspaceWatches> {
  const onFailure = (error: unknown): void => log.write("error", "workspace_watch_failed", { error: String(error) });
  const isShared = settings.sharing === "shared";
  const nameOf: WorkspaceWatchesOptions["nameOf"] = ({ subject }) => isShared ? "" : userDirectoryName(subject);
  const access = accessOf(settings);
  if (settings.store === "storage") {
    const { createStoreWatch } = await loadWatch();
    const stored = { access, storage, clock, log };
    const open = (name: string) => createStoreWatch({ ...stored, name: storeNameOf(isShared ? null : name) });
    return createWorkspaceWatches({ nameOf, open, onFailure });
  }
  const confined = kernelOf(kernel);
  const open = (name: string) =>
    createDiskWatch({ access, onFailure, root: pathBelow(settings.dir, name), ...confined });
  return createWorkspaceWatches({ nameOf, open, onFailure });
}

function kernelOf(kernel: KernelAccess | undefined): { readonly kernel?: KernelRoots } {
  return kernel?.available ? { kernel: kernel.roots } : {};
}

function accessOf({ deniedNames = [] }: WorkspaceSettings): AccessPatterns {
  return { denied: deniedNames };
}
