/** The kernel's way to files for a process that kills itself before its n-th change, as {@link ./killing_fs.ts} does. */
import type { Descriptor, KernelRoots } from "../../src/lib/kernel/descriptor.ts";
import { die, isTime } from "./killing_fs.ts";
import { methods, replaceable } from "./replaceable_kernel.ts";

// The class of descriptors is frozen while its module runs: not in this process, which counts its calls.
const { freeze } = Object;
Object.freeze = <T>(value: T): T => value;
const { loadKernel } = await import("../../src/lib/kernel/kernel.ts");
Object.freeze = freeze;

const changes = [
  ...["makeDirectory", "removeFile", "removeDirectory", "link", "rename", "renameNew"] as const,
  ...["writeNow", "flush", "setMode", "setOwner"] as const,
] satisfies readonly (keyof Descriptor)[];
const makes: ReadonlySet<string> = new Set(["create", "append", "create_lock"]);

/** Every descriptor's changes are counted with those of node:fs from here on. */
export function killingKernel(): KernelRoots {
  const kernel = loadKernel();
  if (!kernel.available) throw new Error("the kernel's way is not there");
  const roots = replaceable(kernel.roots);
  const replace = (name: keyof Descriptor, isChange: (args: readonly unknown[]) => boolean): void => {
    const real = methods[name] as (...args: unknown[]) => unknown;
    const killing = function (this: unknown, ...args: unknown[]): unknown {
      if (isChange(args) && isTime()) die();
      return Reflect.apply(real, this, args);
    };
    Object.defineProperty(methods, name, { value: killing });
  };
  for (const name of changes) replace(name, () => true);
  replace("tryOpen", ([, purpose]) => makes.has(String(purpose)));
  const { write } = methods;
  /** Two steps: nothing of it, and half of it. */
  const killingWrite = async function (this: unknown, bytes: Uint8Array<ArrayBuffer>): Promise<void> {
    if (isTime()) die();
    if (isTime()) {
      await Reflect.apply(write, this, [bytes.subarray(0, bytes.byteLength >> 1)]);
      die();
    }
    await Reflect.apply(write, this, [bytes]);
  };
  Object.defineProperty(methods, "write", { value: killingWrite });
  return roots;
}
