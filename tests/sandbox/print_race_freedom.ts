/** Prints, a line each, whether directories are race-free. */
import process from "node:process";
import { raceFreedomOf } from "../../src/sandbox/race_freedom.ts";

for (const directory of Deno.args) process.stdout.write(`${raceFreedomOf(directory).raceFree}\n`);
