/** `serve --workers`: several workers on one port. Loaded by its place, since one worker needs none of it. */
import { loadSandboxedWorkers, loadStdioApp } from "../app/later.ts";
import type { Config, SandboxedServer } from "../app/mod.ts";
import { systemTimers } from "../lib/time.ts";
import type { CommandContext } from "./command.ts";

export async function startWorkers(config: Config, entry: URL, say: CommandContext["say"]): Promise<SandboxedServer> {
  const [{ restartPolicy, startSandboxedWorkers }, { stderrLog }] = await Promise.all([
    loadSandboxedWorkers(),
    loadStdioApp(),
  ]);
  return startSandboxedWorkers(config, entry, {
    log: stderrLog(config.server, say),
    writeLog: say,
    clock: systemTimers.elapsed,
    policy: restartPolicy,
  });
}
