/** `--help`: the commands on one screen. */
import { programName } from "../lib/program_name.ts";
import type { Command } from "./command.ts";

const nameWidth = 15;

/** The commands, and where more is. */
export function helpText(commands: readonly Pick<Command, "name" | "summary">[], version: string): string {
  const program = programName();
  return [
    `Portcullis ${version}: an MCP server with sign-in, confined files and a local model`,
    `Usage: ${program} [COMMAND] [FLAGS]`,
    ...commands.map(({ name, summary }) => `  ${name.padEnd(nameWidth)}${summary}`),
    "",
    `${program} help COMMAND   its flags and what they accept`,
    `${program} config --all   every setting explained`,
    "",
  ].join("\n");
}
