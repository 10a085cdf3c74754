/**
 * The worker's way to the kernel. It is the first module that the worker evaluates: when any other code runs, the
 * library is loaded, the permission is given up, and what is left opens nothing but the workspace's directory, whose
 * path the main thread gave the worker as its name.
 */
import { type KernelAccess, loadKernel } from "../kernel/kernel.ts";
import { confineRoots } from "../kernel/confined_roots.ts";
import { workspaceOfWorker } from "./worker_name.ts";

/** Whether the worker's workspace is confined by the kernel, or why not. */
export const workspaceKernel: KernelAccess = loadForWorkspace();

function loadForWorkspace(): KernelAccess {
  const directory = workspaceOfWorker(Reflect.get(globalThis, "name"));
  const loaded: KernelAccess = directory === null
    ? { available: false, reason: "foreign functions are not permitted (--allow-ffi)" }
    : loadKernel();
  Deno.permissions.revokeSync({ name: "ffi" });
  return loaded.available && directory !== null ? { ...loaded, roots: confineRoots(loaded.roots, directory) } : loaded;
}
