/** The commands of the program: what they may use, their list, and the help that shows it. */
import type { Config, ConfigProblem, FoundSetting } from "../app/mod.ts";
import { lastWords, programName } from "../lib/program_name.ts";
import type { Setting } from "../lib/settings.ts";
import type { Result } from "../lib/result.ts";
import { version } from "../lib/version.ts";

/** 0: done, 1: refused or failed, 2: usage error. */
export type ExitStatus = 0 | 1 | 2;

/** How a command ended. */
export interface CommandStatus {
  readonly status: ExitStatus;
  readonly isServer?: boolean;
}

/** What a command may use. It never touches the process itself. */
export interface CommandContext {
  /** The words after the command's name that are not flags. */
  readonly words: readonly string[];
  /** The values of the command's own flags. */
  readonly flags: Readonly<Record<string, string | undefined>>;
  /** The configuration, from flags, environment and file. */
  readonly loadConfig: () => Result<Config, readonly ConfigProblem[]>;
  /** The text in force of one setting, with its source. */
  readonly findSetting: (setting: Setting<unknown>) => FoundSetting | undefined;
  /** Standard output: only what a script wants to read. Never throws; the promise says whether it was written. */
  readonly print: (text: string) => void | Promise<boolean>;
  /** Standard error: everything else. Otherwise as `print`. */
  readonly say: (text: string | Uint8Array) => void | Promise<boolean>;
}

/** A flag that takes a value. */
interface Flag {
  /** What the value is, as help shows it after the flag. */
  readonly value: string;
  /** Its purpose, and which values it accepts. */
  readonly help: string;
}

/** What a command does, and how it is called. */
export interface CommandWork {
  /** How it is called, a line each. */
  readonly usage: readonly string[];
  /** Further lines of its help. */
  readonly remarks?: readonly string[];
  /** Words after its name are refused. */
  readonly takesNoWords?: true;
  /** Its own flags beside the settings. */
  readonly flags?: Readonly<Record<string, Flag>>;
  /** Its own flags that take no value, with what they are for. */
  readonly switches?: Readonly<Record<string, string>>;
  /** A server keeps working when its output cannot be written, and does not wait for a reader at its end. */
  readonly isServer?: true;
  readonly run: (context: CommandContext) => ExitStatus | Promise<ExitStatus>;
}

/** Says why a command ends without having done its work. */
export function endWith(say: CommandContext["say"], text: string, status: ExitStatus = 1): ExitStatus {
  void say(status === 0 ? text : lastWords(text));
  return status;
}

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

/** The list; run_command.ts has what each does. */
export const commands = (Object.keys(summaries) as CommandName[]).map((name) => ({ name, summary: summaries[name] }));

const nameWidth = 15;

/** The text of `--help`: all commands on one screen, and where more is. */
export function helpText(): string {
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
