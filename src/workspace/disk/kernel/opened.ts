import type { Descriptor } from "../../../kernel/descriptor.ts";

/** Closes a descriptor at the end of a block. */
export class Opened implements Disposable {
  constructor(readonly descriptor: Descriptor) {}

  [Symbol.dispose](): void {
    this.descriptor.close();
  }
}
