import type { Descriptor } from "../kernel/descriptor.ts";

/** Closes a descriptor at the end of a block. */
export class Opened implements Disposable {
  constructor(readonly descriptor: Descriptor) {}

  [Symbol.dispose](): void {
    this.descriptor.close();
  }
}

/** What `use` makes of a descriptor, which is closed then: for one statement, where Deno's bundler drops a `using`. */
export function withOpened<T>(descriptor: Descriptor, use: (descriptor: Descriptor) => T): T {
  try {
    return use(descriptor);
  } finally {
    descriptor.close();
  }
}
