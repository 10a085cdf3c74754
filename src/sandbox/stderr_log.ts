/** The log on standard error, as a configuration has it. */
import { writeSync } from "node:fs";
import process from "node:process";
import type { Config } from "../config/config.ts";
import { systemClock } from "../lib/clock.ts";
import { createJsonLog } from "../lib/json_log.ts";
import type { Log } from "../lib/log.ts";

/** Lines for people at a terminal, JSON elsewhere, unless the configuration says which. */
export function stderrLog({ logLevel, logFormat }: Pick<Config, "logLevel" | "logFormat">): Log {
  return createJsonLog({
    write: (lines) => void writeSync(process.stderr.fd, lines),
    level: logLevel,
    format: logFormat ?? (Deno.stderr.isTerminal() ? "text" : "json"),
    clock: systemClock,
  });
}
