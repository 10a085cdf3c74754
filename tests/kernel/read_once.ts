/** Reads the file `f` of the directory that is given, through the binding. */
import { loadKernel } from "../../src/lib/kernel/kernel.ts";

const kernel = loadKernel();
if (!kernel.available) throw new Error(kernel.reason);
const root = kernel.roots.open(Deno.args[0] ?? "");
const file = root.open("f", "read");
const buffer = new Uint8Array(100);
file.read(buffer, 0);
file.close();
root.close();
