/** The ways in which a disk workspace reaches its files: each test of it holds for each of them. */
import type { Descriptor, KernelRoots } from "../../src/lib/kernel/descriptor.ts";
import { loadKernel } from "../../src/lib/kernel/kernel.ts";
import { methods, replaceable } from "./replaceable_kernel.ts";
import { type DiskWorkspaceOptions, openDiskWorkspace as open } from "../../src/files/disk/disk_workspace.ts";
import type { Workspace } from "../../src/files/workspace/port.ts";

/** One way. */
export interface DiskMode {
  readonly name: "kernel" | "checked";
  readonly kernel: KernelRoots | undefined;
}

const kernel = loadKernel();
/** Those that this system has. */
export const diskModes: readonly DiskMode[] = [
  ...kernel.available ? [{ name: "kernel", kernel: replaceable(kernel.roots) } as const] : [],
  { name: "checked", kernel: undefined },
];

let current: KernelRoots | undefined;

/** The way that the running test is about. */
export function currentMode(): DiskMode["name"] {
  return current === undefined ? "checked" : "kernel";
}

/** What that way takes, for another part than the workspace. */
export function currentKernel(): KernelRoots | undefined {
  return current;
}

/** Opens a workspace in the way that the running test is about. */
export function openDiskWorkspace(options: DiskWorkspaceOptions): Workspace {
  return open({ kernel: current, ...options });
}

/** The same as `Deno.test`, once for each way. */
export function testInEachMode(name: string, test: (context: Deno.TestContext) => unknown): void;
export function testInEachMode(definition: Deno.TestDefinition): void;
export function testInEachMode(
  what: string | Deno.TestDefinition,
  test: (context: Deno.TestContext) => unknown = () => {},
): void {
  const definition = typeof what === "string" ? { name: what, fn: test } : what;
  const [, skipped = "", name = ""] = /^(SKIPPED )?(.*)$/s.exec(definition.name) ?? [];
  for (const mode of diskModes) {
    Deno.test({
      ...definition,
      name: `${skipped}${mode.name}: ${name}`,
      async fn(context) {
        current = mode.kernel;
        await definition.fn(context);
      },
    });
  }
}

/** What the kernel's way is made of, while it is tested: a test puts another process's work between two steps there. */
export function descriptorMethods(): Pick<Descriptor, "rename" | "removeDirectory" | "removeFile" | "writeNow"> | null {
  return current === undefined ? null : methods;
}

/** Has something happen right before the next call of a method, and after it. */
export function before<Name extends string, T extends { [each in Name]: (...args: never[]) => unknown }>(
  object: T,
  name: Name,
  first: () => void,
  last: () => void = () => {},
): Disposable {
  const original = object[name];
  const restore = (): void => void Reflect.set(object, name, original);
  Reflect.set(object, name, function (this: unknown, ...args: never[]): unknown {
    restore();
    first();
    const result = original.apply(this, args);
    last();
    return result;
  });
  return { [Symbol.dispose]: restore };
}
