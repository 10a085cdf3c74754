/**
 * The worker's way to the kernel. It is the first module that the worker evaluates: when any other code runs, the
 * library is loaded, the permission is given up, and what is left opens nothing but the workspace's directories, whose
 * paths the main thread gave the worker as its name.
 */
import { type KernelAccess, loadWorkspaceKernel } from "../../lib/kernel/kernel.ts";

const name: unknown = Reflect.get(globalThis, "name");
const directories = typeof name === "string" && name.startsWith("[") ? JSON.parse(name) as string[] : null;

/** Whether the worker's workspace is confined by the kernel, or why not. */
export const workspaceKernel: KernelAccess = directories === null
  ? { available: false, reason: "foreign functions are not permitted (--allow-ffi)" }
  : loadWorkspaceKernel(directories);
