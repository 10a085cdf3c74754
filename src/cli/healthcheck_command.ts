/** `healthcheck`: asks the server on this machine for its health, for containers without curl. */
import { type Config, servesTls } from "../app/mod.ts";
import { withConfig } from "./action.ts";
import { type CommandContext, type CommandWork, type ExitStatus } from "./command.ts";

/** Exits with 0 when `/health` of the configured port answers 200, else with 1. */
export const healthcheckCommand: CommandWork = {
  usage: ["healthcheck [--host HOST] [--port PORT]"],
  takesNoWords: true,
  run: withConfig(healthcheck),
};

async function healthcheck({ http }: Config, { say }: CommandContext): Promise<ExitStatus> {
  const { host, port } = http;
  const { askHealth } = await import("../lib/endpoint.ts"); // see action.ts
  const outcome = await askHealth({ host, port, usesTls: servesTls(http) });
  if (typeof outcome !== "string" && outcome.status === 200) return 0;
  say(`error: /health on port ${port} ${typeof outcome === "string" ? outcome : `answered ${outcome.status}`}\n`);
  return 1;
}
