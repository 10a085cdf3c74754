/** Has the kernel confine the workspace's directories. */
import { confineRoots, type KernelAccess, loadKernel } from "../../lib/kernel/kernel.ts";

/** Loads the library, and gives up the permission: what is left opens these, by their real paths, and what is below. */
export function loadWorkspaceKernel(directories: readonly string[]): KernelAccess {
  const loaded = loadKernel();
  Deno.permissions.revokeSync({ name: "ffi" });
  return loaded.available ? { ...loaded, roots: confineRoots(loaded.roots, directories) } : loaded;
}
