/** `harden`: `serve`, in a process from which Linux keeps every file that it does not need. */
import { describeProblems } from "../app/mod.ts";
import { loadLandlock } from "../app/later.ts";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { type CommandContext, type CommandWork, endWith, type ExitStatus } from "./command.ts";
import { commandLine } from "../lib/program_name.ts";

/** Takes the settings that `serve` takes; `deno task start:hardened` has the permissions that it needs. */
export const hardenCommand: CommandWork = {
  usage: ["harden [FLAGS]"],
  remarks: ["Needs Linux 6.2 or later."],
  takesNoWords: true,
  flags: {},
  run: harden,
};

async function harden({ flags, loadConfig, say }: CommandContext): Promise<ExitStatus> {
  const config = loadConfig();
  if (!config.ok) return endWith(say, describeProblems(config.error), 2);
  const { launchHardened } = await loadLandlock();
  const settings = Object.entries(flags).map(([name, value]) => `--${name}=${value ?? ""}`);
  const program = Deno.build.standalone ? { reads: [], args: ["serve", ...settings] } : await fromSource(settings);
  if (typeof program === "string") return endWith(say, program);
  const problem = launchHardened(config.value, program);
  say(`error: ${problem}\nhint: start it without: ${commandLine("serve")}\n`);
  return 1;
}

/** The program as Deno runs it, from its sources or a bundle; in words why it cannot be. */
async function fromSource(settings: readonly string[]) {
  const { sourceProgram } = await loadLandlock();
  const denoDir = Deno.env.get("DENO_DIR") ?? cacheOf(homedir()); // Deno's own variable, no setting of ours
  if (denoDir === null) {
    return "error: this user has no home directory\nhint: set HOME, or DENO_DIR to the cache that Deno uses\n";
  }
  if (!Deno.mainModule.startsWith("file:")) {
    return "error: the program is not on this machine's disk\nhint: download it, and start it from there\n";
  }
  // Deno parses what its cache does not hold yet, and asks /proc for the main thread's stack: under Landlock it would panic
  await (await import("./serve_workers_command.ts")).loadWorkerParts();
  const main = fileURLToPath(Deno.mainModule);
  // a bundle has no configuration file, and Landlock would keep Deno from one that lies above it
  const config = main.endsWith(".js") ? ["--no-config", "--no-lock", "--no-remote", "--no-npm"] : [];
  return sourceProgram(dirname(main), denoDir, [...config, main, "serve", ...settings]);
}

function cacheOf(home: string | null): string | null {
  const cacheHome = Deno.env.get("XDG_CACHE_HOME") ?? (home === null ? null : join(home, ".cache"));
  return cacheHome === null ? null : join(cacheHome, "deno");
}
