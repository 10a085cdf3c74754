/** Runs a command. Each command imports its code when it runs. */
import * as app from "../app/mod.ts";
import type { Config, ConfigFile, ConfigProblem } from "../app/mod.ts";
import { closestWord, didYouMean } from "../lib/suggestible.ts";
import { acceptedText, type Setting } from "../lib/settings.ts";
import { commands as listedCommands, endWith, helpText } from "./command.ts";
import type { CommandContext, CommandName, CommandStatus, CommandWork, ExitStatus } from "./command.ts";
import { programName, setGivenFlags } from "../lib/program_name.ts";
import { failure, problemText, type Result, success, UnusableError } from "../lib/result.ts";
import { homeDirectory, pathBelow } from "../lib/system_path.ts";
import { faultyPath, systemFaultWords } from "../lib/system_fault.ts";
import { describeVersion } from "../lib/version.ts";
import { loadProgramModule } from "../lib/program.ts";

/** Reads when it is first asked, and then says which variables are mistyped. */
function readSettings(flags: CommandContext["flags"], say: CommandContext["say"], listens: boolean) {
  let config: Result<Config, readonly ConfigProblem[]> | undefined;
  const disk = { readFile: Deno.readTextFileSync, lookAt: app.lookAtPath, readAdded: app.readAdded };
  const sources = { flags, env: environment, ...disk, listens };
  let file: ConfigFile | null = null;
  const load = (): Result<Config, readonly ConfigProblem[]> => {
    const read = findConfigFile(flags["config"]);
    if (!read.ok) return read;
    file = read.value;
    const warning = app.warnOfMistypedNames(environmentNames());
    if (warning !== null) void say(warning);
    return app.loadConfig({ ...sources, file });
  };
  const find = (setting: Setting<unknown>) => app.findSetting(setting, { ...sources, file }, []);
  return { load: () => config ??= load(), find };
}

function findConfigFile(path: string | undefined): Result<ConfigFile | null, readonly ConfigProblem[]> {
  if (app.isDeploy(environment)) {
    const hint = "is not read on Deno Deploy: set its settings as variables of the app";
    return path === undefined ? success(null) : failure([{ field: "--config", hint }]);
  }
  if (path !== undefined) return app.readConfigFile(path, { known: app.variableNames, mayBeAbsent: false });
  const home = homeDirectory();
  if (home === null) return success(null);
  return app.readConfigFile(pathBelow(home, app.defaultConfigFileName), {
    known: app.variableNames,
    mayBeAbsent: true,
  });
}

/** One variable at a time: the program may be allowed to read only some of them. */
const environment: Readonly<Record<string, string | undefined>> = new Proxy<Record<string, string | undefined>>({}, {
  get: (_, name) => typeof name === "string" ? Deno.env.get(name) : undefined,
});

/** All names, where all may be read. */
function environmentNames(): readonly string[] {
  return Deno.permissions.querySync({ name: "env" }).state === "granted" ? Object.keys(Deno.env.toObject()) : [];
}

/** Commands that listen, or report on a server that does: they need the settings for it. */
const listeningCommands = ["serve", "connect", "doctor", "config"];

/** Runs the command that the arguments name; `serve` when they name none. */
export async function runCommand(
  args: readonly string[],
  { print, say }: Pick<CommandContext, "print" | "say">,
): Promise<CommandStatus> {
  const early = parseArguments(args, []); // with the flags of settings, enough to find the command's name
  const wantsHelp = early.help || early.words[0] === "help";
  const name = wantsHelp && early.words[0] === "help" ? early.words[1] : early.words[0];
  const answer = (text: string): CommandStatus => {
    void print(text);
    return { status: 0 };
  };
  if (early.version || name === "version") return answer(`portcullis ${await describeVersion()}\n`);
  if (name === "settings" && wantsHelp) return answer(settingsHelpText());
  if (name === undefined && wantsHelp) return answer(helpText());
  const listed = listedCommands.find((each) => each.name === (name ?? "serve"));
  if (listed === undefined) {
    const names = listedCommands.map((each) => each.name);
    const mistake = `there is no command ${JSON.stringify(name)}${
      didYouMean(name ?? "", [...names, "help", "version"])
    }`;
    const hint = `commands are ${names.join(", ")}; see \`${programName()} --help\``;
    return { status: endWith(say, `error: ${mistake}\nhint: ${hint}\n`, 2) };
  }
  const command = await loadCommand(listed);
  if (wantsHelp) return answer(commandHelpText(command));
  const parsed = parseArguments(args, Object.keys(command.flags ?? {}), Object.keys(command.switches ?? {}));
  const { flags, problems } = parsed;
  setGivenFlags(flags);
  const words = name === undefined ? parsed.words : parsed.words.slice(1);
  const settings = readSettings(flags, say, listeningCommands.includes(command.name));
  const load: CommandContext["loadConfig"] = () => {
    const config = settings.load();
    return config.ok ? config : failure([...problems, ...config.error]);
  };
  if (problems.length > 0) {
    const config = load();
    return { status: endWith(say, app.describeProblems(config.ok ? problems : config.error, command.name), 2) };
  }
  if (command.takesNoWords && words.length > 0) {
    const given = words.map((word) => JSON.stringify(word)).join(", ");
    return { status: endWith(say, `error: ${command.name} takes no words, but got ${given}\n`, 2) };
  }
  const status = await runToEnd(command, { words, flags, loadConfig: load, findSetting: settings.find, print, say });
  return { status, isServer: command.isServer ?? false };
}

/** The code of each command. No import names its file: Deno reads all that imports name before it runs a module. */
const work: Readonly<Record<CommandName, () => Promise<CommandWork>>> = {
  serve: async () => (await code<typeof import("./serve_command.ts")>("serve")).serveCommand,
  stdio: async () => (await code<typeof import("./stdio_command.ts")>("stdio")).stdioCommand,
  connect: async () => (await code<typeof import("./connect_command.ts")>("connect")).connectCommand,
  token: async () => (await code<typeof import("./token_command.ts")>("token")).tokenCommand,
  users: async () => (await code<typeof import("./users_command.ts")>("users")).usersCommand,
  clients: async () => (await code<typeof import("./clients_command.ts")>("clients")).clientsCommand,
  keys: async () => (await code<typeof import("./keys_command.ts")>("keys")).keysCommand,
  audit: async () => (await code<typeof import("./audit_command.ts")>("audit")).auditCommand,
  workspace: async () => (await code<typeof import("./workspace_command.ts")>("workspace")).workspaceCommand,
  trash: async () => (await code<typeof import("./trash_command.ts")>("trash")).trashCommand,
  connections: async () => (await code<typeof import("./connections_command.ts")>("connections")).connectionsCommand,
  notify: async () => (await code<typeof import("./notify_command.ts")>("notify")).notifyCommand,
  doctor: async () => (await code<typeof import("./doctor_command.ts")>("doctor")).doctorCommand,
  config: async () => (await code<typeof import("./config_command.ts")>("config")).configCommand,
  "hash-password": async () =>
    (await code<typeof import("./hash_password_command.ts")>("hash_password")).hashPasswordCommand,
  backup: async () => (await code<typeof import("./backup_command.ts")>("backup")).backupCommand,
  restore: async () => (await code<typeof import("./backup_command.ts")>("backup")).restoreCommand,
  healthcheck: async () => (await code<typeof import("./healthcheck_command.ts")>("healthcheck")).healthcheckCommand,
};

const code = <Module>(file: string): Promise<Module> => loadProgramModule(`src/cli/${file}_command.ts`);

/** One command of the program: its place in the list, and what it does. */
interface Command extends CommandWork {
  readonly name: string;
  readonly summary: string;
}

/** A command of the list, with what it does. */
export async function loadCommand(listed: typeof listedCommands[number]): Promise<Command> {
  return { ...listed, ...await work[listed.name]() };
}

/** What cannot be used, and an unforeseen error of the system, become a message; anything else is a bug, and keeps its stack. */
export async function runToEnd(command: Command, context: CommandContext): Promise<ExitStatus> {
  try {
    return await command.run(context);
  } catch (error) {
    if (error instanceof UnusableError) return endWith(context.say, problemText(error));
    const words = systemFaultWords(error);
    if (words === null) throw error;
    const path = faultyPath(error);
    return endWith(context.say, `error: ${command.name} failed: ${path === null ? "" : `${path}: `}${words}\n`);
  }
}

// Each command's own page of help.

const flagWidth = 23;
/** Beside the flags the help keeps to 100 columns, but for a longer word. */
const lineOfHelp = /\S(?:.{0,74}|\S*)(?= |$)/g;

/** A server's own flags are the settings; for other commands one line says where those are. */
function commandHelpText(command: Command): string {
  const program = programName();
  const own = ownHelpText(command, program);
  if (command.isServer) return `${own}\n${settingsHelpText()}`;
  return `${own}\nIt takes the flags of settings, too, such as --data-dir: \`${program} help settings\` lists them.\n`;
}

/** The settings that are flags. */
function settingsHelpText(): string {
  return [
    "Settings as flags, for every command",
    flagText("--config FILE", "settings as KEY=value lines (default ~/.portcullis.env, if it is there)"),
    ...app.settings.flatMap(settingFlagText),
    "",
    `\`${programName()} config --all\` explains every setting.`,
    "",
  ].join("\n");
}

export function ownHelpText(
  { name, summary, usage, remarks = [], flags = {}, switches = {} }: Command,
  program: string,
): string {
  const own = [
    ...Object.entries(flags).map(([flag, { value, help }]) => flagText(`--${flag} ${value}`, help)),
    ...Object.entries(switches).map(([flag, help]) => flagText(`--${flag}`, help)),
  ];
  return [
    `${program} ${name}: ${summary}`,
    "",
    "Usage",
    ...usage.map((line) => `  ${program} ${line}`),
    ...remarks.length === 0 ? [] : ["", ...remarks],
    ...own.length === 0 ? [] : ["", "Flags", ...own],
    "",
  ].join("\n");
}

function settingFlagText(setting: Setting<unknown>): readonly string[] {
  if (setting.flag === undefined) return [];
  const accepted = acceptedText(setting);
  return [flagText(`--${setting.flag} VALUE`, accepted === "" ? setting.help : `${setting.help} (${accepted})`)];
}

function flagText(flag: string, help: string): string {
  const lines = help.match(lineOfHelp) ?? [""];
  return lines.map((line, at) => `  ${(at === 0 ? flag : "").padEnd(flagWidth)}${line}`).join("\n");
}

// Splits arguments into words and flags, and reports every mistake at once.

const settingFlags: readonly string[] = app.settings
  .flatMap((setting) => "flag" in setting && setting.flag !== undefined ? [setting.flag] : []);

/** Flags that every command takes, because all read the settings. */
export const commonFlags: readonly string[] = [...settingFlags, "config"];

/**
 * Takes `--flag value` and `--flag=value`, and switches without a value; after `--`, everything is a word. The problems
 * are flags that are unknown or lack their value.
 */
export function parseArguments(
  args: readonly string[],
  commandFlags: readonly string[],
  switches: readonly string[] = [],
) {
  const words: string[] = [];
  const flags: Record<string, string | undefined> = {};
  const problems: ConfigProblem[] = [];
  const known = [...commonFlags, ...commandFlags];
  let help = false;
  let version = false;
  for (let at = 0; at < args.length; at++) {
    const arg = args[at] ?? "";
    if (arg === "--") {
      words.push(...args.slice(at + 1));
      break;
    }
    if (arg === "--help" || arg === "-h") help = true;
    else if (["--version", "-V", "-v"].includes(arg)) version = true;
    else if (!arg.startsWith("-")) words.push(arg);
    else {
      const [, name = "", inline] = /^--?([^=]*)(?:=([^]*))?$/.exec(arg) ?? [];
      const next = args[at + 1];
      const takesNext = inline === undefined && next !== undefined && !next.startsWith("--");
      if (arg.startsWith("--") && switches.includes(name)) {
        if (inline === undefined) flags[name] = "on";
        else problems.push({ field: `--${name}`, hint: "takes no value" });
      } else if (!arg.startsWith("--") || !known.includes(name)) {
        // Not shown: its value may be a secret meant for another flag.
        problems.push({ field: arg.split("=", 1)[0] ?? arg, hint: unknownFlag(name, [...known, ...switches]) });
        if (takesNext && !next.startsWith("-")) at += 1;
      } else if (inline === undefined && !takesNext) {
        problems.push({ field: `--${name}`, hint: "needs a value" });
      } else {
        flags[name] = inline ?? next ?? "";
        if (inline === undefined) at += 1;
      }
    }
  }
  return { words, flags, help, version, problems };
}

/** Beyond a few mistakes, a flag that begins alike is what was meant. */
const prefixLength = 3;

function unknownFlag(name: string, known: readonly string[]): string {
  const closest = closestWord(name, known) ??
    known.find((flag) => name.length > prefixLength && flag.startsWith(name.slice(0, prefixLength))) ?? null;
  return closest === null ? "there is no such flag here" : `there is no such flag; did you mean --${closest}?`;
}
