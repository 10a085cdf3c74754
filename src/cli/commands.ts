/** The list of commands, and `--help`: all of them on one screen. */
import { programName } from "../lib/program_name.ts";
import type { Command } from "./command.ts";

/** Every command, in the order of the help. Help and docs/commands.md are made from this list. */
const summaries = {
  serve: "start the server (the default)",
  stdio: "serve one client over standard input and output",
  connect: "print how a client connects, in its own format",
  token: "create, list and revoke access tokens for scripts",
  users: "add, list and lock out the people who may sign in",
  clients: "create OAuth clients for programs, list and remove clients",
  keys: "rotate and list signing keys",
  workspace: "add, list and remove directories of the workspace",
  trash: "list and restore what agents replaced or deleted",
  audit: "search the stored audit, verify that it is as it was written",
  connections: "say why a client does not connect, or the server not start",
  notify: "send a notice to NOTIFY_URL as a test",
  doctor: "check settings, files, database, address, Ollama, ServiceNow",
  config: "print the settings in force, and where each comes from",
  "hash-password": "print a passphrase's hash for OWNER_PASSWORD_HASH",
  backup: "copy database and master key, also while the server runs",
  restore: "make a data directory out of a backup",
  healthcheck: "exit with 0 when the server on this machine is healthy",
} as const;

export type CommandName = keyof typeof summaries;

/** A command in the list; load_commands.ts has what it does. */
export interface ListedCommand {
  readonly name: CommandName;
  readonly summary: string;
}

export const commands: readonly ListedCommand[] = (Object.keys(summaries) as CommandName[])
  .map((name) => ({ name, summary: summaries[name] }));

const nameWidth = 15;

/** The commands, and where more is. */
export function helpText(commands: readonly Pick<Command, "name" | "summary">[], version: string): string {
  const program = programName();
  return [
    `Portcullis ${version}: an MCP server with sign-in, confined files and a local model`,
    `Usage: ${program} [COMMAND] [FLAGS]`,
    ...commands.map(({ name, summary }) => `  ${name.padEnd(nameWidth)}${summary}`),
    `${program} help COMMAND   its flags and what they accept`,
    `${program} config --all   every setting explained`,
    "",
  ].join("\n");
}
