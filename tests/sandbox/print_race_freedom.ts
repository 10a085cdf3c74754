/** Prints, a line each, whether directories are race-free without the kernel's help. */
import process from "node:process";
import { raceFreedomOf } from "../../src/app/sandbox/describe_wall.ts";

const without = { available: false, reason: "this is a test" } as const;
for (const directory of Deno.args) process.stdout.write(`${raceFreedomOf(directory, without).raceFree}\n`);
