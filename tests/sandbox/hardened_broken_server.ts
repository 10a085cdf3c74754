/** {@link ./broken_server.ts}, launched as `harden` launches the server. Argument: Deno's cache directory. */
import { readFileSync, writeSync } from "node:fs";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { loadConfig } from "../../src/app/config/config.ts";
import { launchHardened, sourceProgram } from "../../src/app/sandbox/landlock.ts";

const config = loadConfig({ flags: {}, env: process.env, readFile: (path) => readFileSync(path, "utf8") });
if (!config.ok) throw new Error(JSON.stringify(config.error));
const [, , denoDir = ""] = Deno.args;
const root = fileURLToPath(new URL("../..", import.meta.url));
const problem = launchHardened(config.value, sourceProgram(root, denoDir, ["tests/sandbox/broken_server.ts"]));
writeSync(process.stderr.fd, problem);
process.exit(1);
