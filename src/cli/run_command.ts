/** Runs a command. Each command imports its code when it runs. */
import {
  type Config,
  type ConfigFile,
  type ConfigProblem,
  type ConfigSources,
  defaultConfigFileName,
  describeProblems,
  findSetting,
  type FoundSetting,
  isDeploy,
  loadConfig,
  lookAtPath,
  readAdded,
  readConfigFile,
  variableNames,
  warnOfMistypedNames,
} from "../app/mod.ts";
import type { Setting } from "../lib/settings.ts";
import { failure, problemText, type Result, success, UnusableError } from "../lib/result.ts";
import { homeDirectory, pathBelow } from "../lib/system_path.ts";
import { type Command, type CommandContext, type CommandStatus, endWith, type ExitStatus } from "./command.ts";
import { didYouMean } from "../lib/closest_word.ts";
import { faultyPath, systemFaultWords } from "../lib/system_fault.ts";
import { describeVersion, version } from "../lib/version.ts";
import { parseArguments } from "./arguments.ts";
import { commandHelpText, settingsHelpText } from "./command_help.ts";
import { commands as listedCommands, helpText } from "./commands.ts";
import { loadCommand } from "./load_commands.ts";
import { programName, withCommandLines } from "../lib/program_name.ts";

/** Reads when it is first asked, and then says which variables are mistyped. */
function readSettings(flags: CommandContext["flags"], say: CommandContext["say"], listens: boolean): {
  readonly load: () => Result<Config, readonly ConfigProblem[]>;
  readonly find: (setting: Setting<unknown>) => FoundSetting | undefined;
} {
  let config: Result<Config, readonly ConfigProblem[]> | undefined;
  const sources: Omit<ConfigSources, "file"> = {
    flags,
    env: environment,
    readFile: Deno.readTextFileSync,
    lookAt: lookAtPath,
    readAdded,
    listens,
  };
  let file: ConfigFile | null = null;
  const load = (): Result<Config, readonly ConfigProblem[]> => {
    const read = findConfigFile(flags["config"]);
    if (!read.ok) return read;
    file = read.value;
    const warning = warnOfMistypedNames(environmentNames());
    if (warning !== null) void say(warning);
    return loadConfig({ ...sources, file });
  };
  return { load: () => config ??= load(), find: (setting) => findSetting(setting, { ...sources, file }, []) };
}

function findConfigFile(path: string | undefined): Result<ConfigFile | null, readonly ConfigProblem[]> {
  if (isDeploy(environment)) {
    const hint = "is not read on Deno Deploy: set its settings as variables of the app";
    return path === undefined ? success(null) : failure([{ field: "--config", hint }]);
  }
  if (path !== undefined) return readConfigFile(path, { known: variableNames, mayBeAbsent: false });
  const home = homeDirectory();
  if (home === null) return success(null);
  return readConfigFile(pathBelow(home, defaultConfigFileName), { known: variableNames, mayBeAbsent: true });
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
  { print, say: write }: Pick<CommandContext, "print" | "say">,
): Promise<CommandStatus> {
  const say: CommandContext["say"] = (text) => write(typeof text === "string" ? withCommandLines(text) : text);
  const early = parseArguments(args, []); // with the flags of settings, enough to find the command's name
  const wantsHelp = early.help || early.words[0] === "help";
  const name = wantsHelp && early.words[0] === "help" ? early.words[1] : early.words[0];
  if (early.version || name === "version") {
    print(`portcullis ${await describeVersion()}\n`);
    return { status: 0 };
  }
  if (name === "settings" && wantsHelp) {
    print(settingsHelpText());
    return { status: 0 };
  }
  if (name === undefined && wantsHelp) {
    print(helpText(listedCommands, version));
    return { status: 0 };
  }
  const listed = listedCommands.find((each) => each.name === (name ?? "serve"));
  if (listed === undefined) {
    const names = listedCommands.map((each) => each.name);
    say(
      `error: there is no command ${JSON.stringify(name)}${didYouMean(name ?? "", [...names, "help", "version"])}\n` +
        `hint: commands are ${names.join(", ")}; see \`${programName()} --help\`\n`,
    );
    return { status: 2 };
  }
  const command = await loadCommand(listed);
  if (wantsHelp) {
    print(commandHelpText(command));
    return { status: 0 };
  }
  const parsed = parseArguments(args, Object.keys(command.flags), Object.keys(command.switches ?? {}));
  const { flags, problems } = parsed;
  const words = name === undefined ? parsed.words : parsed.words.slice(1);
  const settings = readSettings(flags, say, listeningCommands.includes(command.name));
  const load: CommandContext["loadConfig"] = () => {
    const config = settings.load();
    return config.ok ? config : failure([...problems, ...config.error]);
  };
  if (problems.length > 0) {
    const config = load();
    say(describeProblems(config.ok ? problems : config.error, command.name));
    return { status: 2 };
  }
  if (command.takesNoWords && words.length > 0) {
    say(`error: ${command.name} takes no words, but got ${words.map((word) => JSON.stringify(word)).join(", ")}\n`);
    return { status: 2 };
  }
  const status = await runToEnd(command, { words, flags, loadConfig: load, findSetting: settings.find, print, say });
  return { status, isServer: command.isServer ?? false };
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
    context.say(`error: ${command.name} failed: ${path === null ? "" : `${path}: `}${words}\n`);
    return 1;
  }
}
