/** Prints the inodes of a directory's files, as the kernel's interface has them and as stat(1) does. */
import { loadKernel } from "../../src/lib/kernel/kernel.ts";

const [path = ""] = Deno.args;
const kernel = loadKernel();
if (!kernel.available) throw new Error(kernel.reason);
const names = Array.from(Deno.readDirSync(path), ({ name }) => name).sort();
const directory = kernel.roots.open(path);
const ours = names.map((name) => directory.statusOf(name)?.ino);
const { stdout } = new Deno.Command("stat", { args: ["-c", "%i", ...names], cwd: path }).outputSync();
const told = new TextDecoder().decode(stdout).trim().split("\n");
Deno.stdout.writeSync(new TextEncoder().encode(`${ours.join(" ")}\n${told.join(" ")}\n`));
