/** The ways in which a disk workspace reaches its files: each test of it holds for each of them. */
import type { Descriptor, KernelRoots } from "../../src/files/kernel/descriptor.ts";
import { loadKernel } from "../../src/files/kernel/kernel.ts";
import { type DiskWorkspaceOptions, openDiskWorkspace as open } from "../../src/files/disk/disk_workspace.ts";
import type { Workspace } from "../../src/files/workspace/port.ts";

/** One way. */
export interface DiskMode {
  readonly name: "kernel" | "checked";
  readonly kernel: KernelRoots | undefined;
}

const kernel = loadKernel();
/** The methods of every descriptor below: those of the kernel's own are frozen. */
const methods = Object.create(null) as Descriptor;
const innerOf = new WeakMap<object, Descriptor>();

/** The same roots, with descriptors whose methods a test may replace. */
function replaceable({ open, statusOf, readWhole }: KernelRoots): KernelRoots {
  const wrap = (value: unknown): unknown => {
    if (!(value instanceof kernelClass)) return value;
    const outer = Object.create(methods);
    innerOf.set(outer, value as Descriptor);
    return outer;
  };
  const unwrap = (value: unknown): unknown => typeof value === "object" && value && innerOf.get(value) || value;
  const first = open("/");
  const kernelClass = first.constructor as new () => unknown;
  first.close();
  for (const name of Object.getOwnPropertyNames(kernelClass.prototype)) {
    if (name === "constructor") continue;
    Reflect.set(methods, name, function (this: object, ...given: unknown[]) {
      const inner = innerOf.get(this) ?? this;
      return wrap(Reflect.apply(Reflect.get(inner, name), inner, given.map(unwrap)));
    });
  }
  return {
    open: (path) => wrap(open(path)) as Descriptor,
    statusOf,
    readWhole: (directory, path, buffer) => readWhole(unwrap(directory) as Descriptor, path, buffer),
  };
}

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
export function descriptorMethods(): Pick<Descriptor, "rename" | "removeDirectory" | "removeFile"> | null {
  return current === undefined ? null : methods;
}
