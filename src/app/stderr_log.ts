/** The log on standard error, as a configuration has it. */
import type { ServerSettings } from "./config/server_settings.ts";
import { systemClock } from "../lib/clock.ts";
import { createJsonLog, type JsonLog, type WriteLines } from "../lib/json_log.ts";

/** Lines for people at a terminal, JSON elsewhere, unless the configuration says which. */
export function stderrLog({ logLevel, logFormat }: ServerSettings, write: WriteLines): JsonLog {
  return createJsonLog({
    write,
    level: logLevel,
    format: logFormat ?? (Deno.stderr.isTerminal() ? "text" : "json"),
    clock: systemClock,
  });
}
