/** Frees memory that the C library keeps, and prints how many megabytes it had, and has when some are returned. */
import { loadKernel } from "../../src/lib/kernel/kernel.ts";

const kernel = loadKernel();
if (!kernel.available) throw new Error(kernel.reason);
const { gc } = globalThis as unknown as { readonly gc: () => void };
const megabytes = (): number => Deno.memoryUsage().rss / 1_048_576;
const blocks = Array.from({ length: 4_000 }, () => new Uint8Array(16_384).fill(1));
const between = blocks.filter((_, index) => index % 100 === 0); // so that no end of the heap is free
blocks.length = 0;
const before = megabytes();
gc();
while (megabytes() > before - 30) { // V8 frees on a thread of its own
  kernel.returnFreedMemory();
  await new Promise((resolve) => setTimeout(resolve, 20));
}
await Deno.stdout.write(
  new TextEncoder().encode(`${between.length} kept, ${Math.round(before - megabytes())} MB returned\n`),
);
