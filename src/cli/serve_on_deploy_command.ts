/** `serve` on Deno Deploy: no worker, no flags; one signal, and a few seconds after it. */
import type { Config } from "../app/mod.ts";
import { loadDeployServer } from "../app/later.ts";
import { systemClock } from "../lib/time.ts";
import { createJsonLog } from "../lib/log.ts";
import type { Tool } from "../mcp/mod.ts";
import type { CommandContext, ExitStatus } from "./command.ts";
import { stopRequested, welcomeText } from "./welcome.ts";

/** Runs the server until the platform stops this instance; with further tools, for programs built on this one. */
export async function serveOnDeploy(
  config: Config,
  { print, say }: Pick<CommandContext, "print" | "say">,
  extraTools: readonly Tool[],
): Promise<ExitStatus> {
  // Before the start: from then on the signal may come.
  const { asked, insisted } = stopRequested(() => performance.now());
  const log = createJsonLog({ write: say, level: config.server.logLevel ?? "info", clock: systemClock });
  const { startDeployServer } = await loadDeployServer();
  const server = await startDeployServer(config, { log, clock: systemClock, extraTools });
  await Promise.race([say(welcomeText(config, server)), asked]);
  print(`portcullis listening on ${server.serverUrl}\n`);
  await asked;
  log.write("info", "stopping");
  const status = await Promise.race([server.stop().then((): ExitStatus => 0), insisted.then((): ExitStatus => 1)]);
  await log.flush();
  return status;
}
