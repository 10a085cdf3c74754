/** `stdio`: serves one MCP client over standard input and output, for clients that start their servers themselves. */
import { type Config, giveUp, realPathBelow } from "../app/mod.ts";
import { loadInstallation, loadKernelBinding, loadStdioApp } from "../app/later.ts";
import process from "node:process";
import { systemClock } from "../lib/time.ts";
import { createOutput, stderrLog } from "../lib/log.ts";
import { withConfig } from "./action.ts";
import type { CommandContext, CommandWork, ExitStatus } from "./command.ts";
import { stopRequested } from "./welcome.ts";

/** Standard output carries the protocol and nothing else; the log goes to standard error. */
export const stdioCommand: CommandWork = {
  usage: ["stdio [FLAGS]"],
  takesNoWords: true,
  isServer: true,
  run: withConfig(stdio),
};

async function stdio(config: Config, { say }: CommandContext): Promise<ExitStatus> {
  process.env = {}; // libraries that look for their variables later find none, instead of an exception
  const { openInstallation } = await loadInstallation(); // see action.ts
  const { runStdio } = await loadStdioApp();
  const log = stderrLog(config.server, say);
  const installation = await openInstallation(config.storage, systemClock, { log });
  const { loadWorkspaceKernel } = await loadKernelBinding();
  const kernel = loadWorkspaceKernel(config.workspace.directories.map(({ path }) => realPathBelow(path)));
  // Files and network stay open: a grant of everything can only be given up by whole kinds.
  giveUp(["env", "run", "ffi", "sys", "import"]);
  if (Deno.stdin.isTerminal()) {
    say("waiting for an MCP client; `portcullis connect` prints how to make one start this\n");
  }
  const stdout = createOutput(Deno.stdout);
  const stop = new AbortController();
  const { asked, insisted } = stopRequested(() => performance.now());
  void asked.then(() => stop.abort());
  try {
    const serving = runStdio(config, {
      ...installation,
      kernel,
      input: Deno.stdin.readable,
      output: new WritableStream({
        async write(bytes) {
          if (!await stdout.write(bytes)) throw new Error("standard output cannot be written");
        },
      }),
      stop: stop.signal,
      log,
      clock: systemClock,
    });
    return await Promise.race([serving.then(() => 0 as const), insisted.then(() => 1 as const)]);
  } finally {
    await log.flush();
    await installation.storage.close();
  }
}
