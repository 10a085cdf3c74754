/** Commands with several actions, such as `token create`. */
import { type Config, describeProblems, type Installation } from "../app/mod.ts";
import { loadInstallation } from "../app/later.ts";
import { type Clock, systemClock } from "../lib/time.ts";
import { type CommandContext, type CommandWork, endWith, type ExitStatus } from "./command.ts";
import { didYouMean } from "../lib/suggestible.ts";
import { commandLine } from "../lib/program_name.ts";

type Ending = ExitStatus | Promise<ExitStatus>;

/** Runs with the configuration, or says what is wrong with it. */
export function withConfig(run: (config: Config, context: CommandContext) => Ending): CommandWork["run"] {
  return (context) => {
    const config = context.loadConfig();
    return config.ok ? run(config.value, context) : endWith(context.say, describeProblems(config.error), 2);
  };
}

/** An open installation, with its configuration and the clock of the command. */
export interface OpenInstallation extends Installation {
  readonly config: Config;
  readonly clock: Clock;
}

/** What a command's first word can name. */
export interface Action {
  /** The command's own flags and switches that it takes. */
  readonly flags?: readonly string[];
  /** The words of its context are those after its own name. */
  readonly run: CommandWork["run"];
}

type Actions = Readonly<Record<string, Action>>;
type Callable = Pick<CommandWork, "usage" | "flags" | "switches">;

/** A command whose first word names what it does. Each line of its usage starts with its name. */
export function commandOf(
  { actions, ...command }: Omit<CommandWork, "run"> & { readonly actions: Actions },
): CommandWork {
  return { ...command, run: (context) => runAction(command, actions, context) };
}

/** Runs the action that the first word names, or says what is wrong with the command line. */
async function runAction(command: Callable, actions: Actions, context: CommandContext): Promise<ExitStatus> {
  const [first = "", ...words] = context.words;
  const [name = ""] = command.usage[0]?.split(" ", 1) ?? [];
  const action = Object.hasOwn(actions, first) ? actions[first] : undefined;
  const own = command.usage.filter((line) => line.startsWith(`${name} ${first}`));
  const known = Object.keys(actions);
  let mistake: string | null;
  if (first === "") mistake = `${name} needs one of: ${known.join(", ")}`;
  else if (action === undefined) {
    mistake = `there is no \`${name} ${printable(first)}\`${didYouMean(first, known)}`;
  } else {
    mistake = mistakeIn(`\`${name} ${first}\``, { ...command, usage: own }, action, words, context.flags);
    if (mistake === null) return await action.run({ ...context, words });
  }
  const usage = action === undefined ? command.usage : own;
  return endWith(context.say, `error: ${mistake}\nhint: ${usage.map(commandLine).join("\n      ")}\n`, 2);
}

function mistakeIn(
  called: string,
  { usage: [line = ""], flags = {}, switches = {} }: Callable,
  action: Action,
  words: readonly string[],
  given: CommandContext["flags"],
): string | null {
  const needed = line.replaceAll(/\[.*?\]|--\S+ \S+/g, "").split(" ").filter((word) => /^[A-Z=]+$/.test(word));
  const missing = needed[words.length];
  if (missing !== undefined) return `${missing} is missing: ${called} needs it`;
  const extra = words[needed.length];
  if (extra !== undefined) return `${called} does not take ${JSON.stringify(printable(extra))}`;
  const foreign = [...Object.keys(flags), ...Object.keys(switches)]
    .find((flag) => given[flag] !== undefined && !action.flags?.includes(flag));
  return foreign === undefined ? null : `${called} does not take --${foreign}`;
}

/** Control characters never reach the terminal. */
export function printable(word: string): string {
  return word.replaceAll(/\p{C}/gu, "?");
}

/** An action on the opened installation, by the functions of a module that is loaded when the action runs. */
export function administered<Operations>(
  load: () => Promise<Operations>,
  work: (operations: Operations, installation: OpenInstallation, context: CommandContext) => Ending,
  flags: readonly string[] = [],
): Action {
  const run = withConfig(async (config, context) => {
    const { openInstallation } = await loadInstallation(); // with the storage
    const installation = await openInstallation(config.storage, systemClock);
    try {
      return await work(await load(), { ...installation, config, clock: systemClock }, context);
    } finally {
      await installation.storage.close();
    }
  });
  return { flags, run };
}

interface Table {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly string[])[];
  /** Said when there are no rows. */
  readonly whenEmpty: string;
}

/** Ends a command with a table. The heading goes to standard error, so that a script reads only entries. */
export async function printTable(
  { columns, rows, whenEmpty }: Table,
  { print, say }: Pick<CommandContext, "print" | "say">,
): Promise<ExitStatus> {
  if (rows.length === 0) {
    await say(`${whenEmpty}\n`);
    return 0;
  }
  const widths = columns.map((column, at) => Math.max(column.length, ...rows.map((row) => row[at]?.length ?? 0)));
  const toLine = (cells: readonly string[]): string =>
    `${cells.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join("  ").trimEnd()}\n`;
  await say(toLine(columns)); // written out before the first row, which goes to another stream
  await print(rows.map(toLine).join(""));
  return 0;
}
