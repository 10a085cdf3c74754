/**
 * Arguments to command to exit status. Every start loads what is imported here, so each command imports its work when it
 * runs: Node's modules alone would double the time of a start.
 */
import { describeProblems } from "../config/describe_problems.ts";
import { didYouMean } from "../lib/closest_word.ts";
import { createOutput } from "../lib/log/output.ts";
import { pause } from "../lib/time/pause.ts";
import { programName } from "../lib/program_name.ts";
import { failure } from "../lib/result.ts";
import { faultyPath, systemFaultWords } from "../lib/system_fault.ts";
import { version, versionText } from "../version.ts";
import { parseArguments } from "./arguments.ts";
import type { Command, CommandContext, ExitStatus } from "./command.ts";
import { commands } from "./commands.ts";
import { readSettings } from "./read_settings.ts";
import { commandHelpText, helpText } from "./help.ts";

/** How long a server that ends waits for its last output to be read. */
const serverFlushMs = 1_000;

/** Runs the command that the arguments name; `serve` when they name none. */
export async function run(args: readonly string[]): Promise<ExitStatus> {
  const stdout = createOutput(Deno.stdout);
  const stderr = createOutput(Deno.stderr);
  const { status, isServer = false } = await runCommand(args, { print: stdout.write, say: stderr.write });
  const flushed = Promise.all([stdout.flush(), stderr.flush()]);
  if (isServer) {
    await Promise.race([flushed, pause(serverFlushMs)]);
    return status;
  }
  await flushed;
  // A reader that left, such as `head`, is no error.
  if (stdout.state === "failed") {
    await stderr.write("error: standard output cannot be written\nhint: is the disk full?\n");
  }
  return status === 0 && stdout.state === "failed" ? 1 : status;
}

async function runCommand(
  args: readonly string[],
  { print, say }: Pick<CommandContext, "print" | "say">,
): Promise<{ readonly status: ExitStatus; readonly isServer?: boolean }> {
  const allFlags = commands.flatMap((command) => Object.keys(command.flags));
  const switches = commands.flatMap((command) => Object.keys(command.switches ?? {}));
  const parsed = parseArguments(args, allFlags, switches);
  const wantsHelp = parsed.help || parsed.words[0] === "help";
  const [first, ...words] = parsed.words[0] === "help" ? parsed.words.slice(1) : parsed.words;
  if (parsed.version || first === "version") {
    print(`portcullis ${versionText}\n`);
    return { status: 0 };
  }
  if (first === undefined && wantsHelp) {
    print(helpText(commands, version));
    return { status: 0 };
  }
  const name = first ?? "serve";
  const command = commands.find((each) => each.name === name);
  if (command === undefined) {
    const names = commands.map((each) => each.name);
    say(
      `error: there is no command ${JSON.stringify(name)}${didYouMean(name, [...names, "help", "version"])}\n` +
        `hint: commands are ${names.join(", ")}; see \`${programName()} --help\`\n`,
    );
    return { status: 2 };
  }
  if (wantsHelp) {
    print(commandHelpText(command));
    return { status: 0 };
  }
  // Parsed again with the flags of this command alone.
  const { flags, problems } = parseArguments(args, Object.keys(command.flags), Object.keys(command.switches ?? {}));
  const settings = readSettings(flags, say);
  const load: CommandContext["loadConfig"] = () => {
    const config = settings.load();
    return config.ok ? config : failure([...problems, ...config.error]);
  };
  if (problems.length > 0) {
    const config = load();
    say(describeProblems(config.ok ? problems : config.error, name));
    return { status: 2 };
  }
  if (command.takesNoWords && words.length > 0) {
    say(`error: ${name} takes no words, but got ${words.map((word) => JSON.stringify(word)).join(", ")}\n`);
    return { status: 2 };
  }
  const status = await runToEnd(command, { words, flags, loadConfig: load, findSetting: settings.find, print, say });
  return { status, isServer: command.isServer ?? false };
}

/** An unforeseen error of the system becomes a message; anything else is a bug, and keeps its stack. */
async function runToEnd(command: Command, context: CommandContext): Promise<ExitStatus> {
  try {
    return await command.run(context);
  } catch (error) {
    const words = systemFaultWords(error);
    if (words === null) throw error;
    const path = faultyPath(error);
    context.say(`error: ${command.name} failed: ${path === null ? "" : `${path}: `}${words}\n`);
    return 1;
  }
}
