/** Has the kernel confine the workspace's directory. */
import { confineRoots, type KernelAccess, loadKernel } from "../../files/kernel/kernel.ts";

/** Loads the library, and gives up the permission: what is left opens `directory`, by its real path, and what is below. */
export function loadWorkspaceKernel(directory: string): KernelAccess {
  const loaded = loadKernel();
  Deno.permissions.revokeSync({ name: "ffi" });
  return loaded.available ? { ...loaded, roots: confineRoots(loaded.roots, directory) } : loaded;
}
