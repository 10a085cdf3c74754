/** `harden`: `serve`, in a process from which Linux keeps every file that it does not need. */
import { homedir } from "node:os";
import { join } from "node:path";
import { describeProblems } from "../../config/describe_problems.ts";
import type { CommandContext, CommandWork, ExitStatus } from "../command.ts";

/** Takes the settings that `serve` takes; `deno task start:hardened` has the permissions that it needs. */
export const hardenCommand: CommandWork = {
  usage: ["harden [FLAGS]"],
  remarks: ["Needs Linux 6.2 or later. `deno task start:hardened` runs it with the permissions that it needs."],
  takesNoWords: true,
  flags: {},
  run: harden,
};

async function harden({ flags, loadConfig, say }: CommandContext): Promise<ExitStatus> {
  const config = loadConfig();
  if (!config.ok) {
    say(describeProblems(config.error));
    return 2;
  }
  const { launchHardened } = await import("../../sandbox/launch_hardened.ts");
  const denoDir = Deno.env.get("DENO_DIR") ?? cacheOf(homedir()); // Deno's own variable, no setting of ours
  if (denoDir === null) {
    say("error: this user has no home directory\nhint: set HOME, or DENO_DIR to the cache that Deno uses\n");
    return 1;
  }
  const root = new URL("../../..", import.meta.url).pathname;
  const settings = Object.entries(flags).map(([name, value]) => `--${name}=${value ?? ""}`);
  const problem = launchHardened(config.value, {
    root,
    args: [join(root, "main.ts"), "serve", ...settings],
    denoDir,
  });
  say(`error: ${problem}\nhint: start it without: deno task start\n`);
  return 1;
}

function cacheOf(home: string | null): string | null {
  const cacheHome = Deno.env.get("XDG_CACHE_HOME") ?? (home === null ? null : join(home, ".cache"));
  return cacheHome === null ? null : join(cacheHome, "deno");
}
