/** The kernel's way to files with descriptors whose methods tests may replace: those of the kernel's own are frozen. */
import { type Descriptor, KernelError, type KernelRoots } from "../../src/lib/kernel/descriptor.ts";

/** The methods of every descriptor below: those of the kernel's own are frozen. */
export const methods = Object.create(null) as Descriptor;
const innerOf = new WeakMap<object, Descriptor>();

/** The same roots, with descriptors whose methods a test may replace. */
export function replaceable({ open, statusOf }: KernelRoots): KernelRoots {
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
  methods.open = function (this: Descriptor, path, purpose) { // by the method that may have been replaced
    const opened = this.tryOpen(path, purpose);
    if (typeof opened === "string") throw new KernelError(opened);
    return opened;
  };
  return {
    open: (path) => wrap(open(path)) as Descriptor,
    statusOf,
  };
}

/** As a file system refuses them that has no second names. */
export function refuseLinks(): void {
  const link = (): never => {
    throw new KernelError("EPERM");
  };
  Object.defineProperty(methods, "link", { value: link });
}
