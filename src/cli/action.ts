/** Commands with several actions, such as `token create`. */
import { describeProblems, type Installation } from "../app/mod.ts";
import { loadInstallation } from "../app/later.ts";
import { type Clock, systemClock } from "../lib/time.ts";
import { type CommandContext, type CommandWork, endWith, type ExitStatus } from "./command.ts";
import { didYouMean } from "../lib/closest_word.ts";
import { programName } from "../lib/program_name.ts";

/** An open installation, with the clock of the command. */
export interface OpenInstallation extends Installation {
  readonly clock: Clock;
}

async function withInstallation(
  { loadConfig, say }: CommandContext,
  work: (installation: OpenInstallation) => Promise<ExitStatus>,
): Promise<ExitStatus> {
  const config = loadConfig();
  if (!config.ok) return endWith(say, describeProblems(config.error), 2);
  const { openInstallation } = await loadInstallation(); // with the storage
  const installation = await openInstallation(config.value.storage, systemClock);
  try {
    return await work({ ...installation, clock: systemClock });
  } finally {
    await installation.storage.close();
  }
}

export interface Action {
  readonly name: string;
  /** The names of the words after it, as in its usage. */
  readonly words: readonly string[];
  /** The command's own flags and switches that it takes. */
  readonly flags?: readonly string[];
  readonly run: (context: CommandContext, words: readonly string[]) => ExitStatus | Promise<ExitStatus>;
}

type Callable = Pick<CommandWork, "usage" | "flags" | "switches">;

/** A command whose first word names what it does. */
export function commandOf(
  { actions, ...command }: Omit<CommandWork, "run"> & { readonly actions: readonly Action[] },
): CommandWork {
  return { ...command, run: (context) => runAction(command, actions, context) };
}

/** Runs the action that the first word names, or says what is wrong with the command line. */
async function runAction(
  command: Callable,
  actions: readonly Action[],
  context: CommandContext,
): Promise<ExitStatus> {
  const [first, ...rest] = context.words;
  const action = actions.find((each) => each.name === first);
  const mistake = action === undefined
    ? unknownAction(command, first, actions)
    : mistakeIn(command, action, rest, context.flags);
  if (mistake === null && action !== undefined) return await action.run(context, rest);
  const usage = command.usage.filter((line) => action === undefined || line.startsWith(`${nameOf(command)} ${first}`));
  context.say(`error: ${mistake}\nhint: ${usage.map((line) => `${programName()} ${line}`).join("\n      ")}\n`);
  return 2;
}

/** Each line of its usage starts with its name. */
function nameOf({ usage: [line = ""] }: Callable): string {
  return line.split(" ", 1)[0] ?? "";
}

function unknownAction(command: Callable, word: string | undefined, actions: readonly Action[]): string {
  const known = actions.map((each) => each.name);
  return word === undefined
    ? `${nameOf(command)} needs one of: ${known.join(", ")}`
    : `there is no \`${nameOf(command)} ${printable(word)}\`${didYouMean(word, known)}`;
}

function mistakeIn(
  command: Callable,
  action: Action,
  words: readonly string[],
  flags: CommandContext["flags"],
): string | null {
  const called = `\`${nameOf(command)} ${action.name}\``;
  const missing = action.words[words.length];
  if (missing !== undefined) return `${missing} is missing: ${called} needs it`;
  const extra = words[action.words.length];
  if (extra !== undefined) return `${called} does not take ${JSON.stringify(printable(extra))}`;
  const own = [...Object.keys(command.flags), ...Object.keys(command.switches ?? {})];
  const foreign = own.find((flag) => flags[flag] !== undefined && !action.flags?.includes(flag));
  return foreign === undefined ? null : `${called} does not take --${foreign}`;
}

/** Control characters never reach the terminal. */
export function printable(word: string): string {
  return word.replaceAll(/\p{C}/gu, "?");
}

/** An action on the opened installation, by the functions of a module that is loaded when the action runs. */
export function administered<Operations>(
  load: () => Promise<Operations>,
  run: (
    operations: Operations,
    installation: OpenInstallation,
    context: CommandContext,
    words: readonly string[],
  ) => ExitStatus | Promise<ExitStatus>,
): Action["run"] {
  return async (context, words) => {
    return await withInstallation(
      context,
      async (installation) => await run(await load(), installation, context, words),
    );
  };
}

interface Table {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly string[])[];
  /** Said when there are no rows. */
  readonly whenEmpty: string;
}

/** The heading goes to standard error, so that a script reads only entries. */
export async function printTable(
  { columns, rows, whenEmpty }: Table,
  { print, say }: Pick<CommandContext, "print" | "say">,
): Promise<void> {
  if (rows.length === 0) return void await say(`${whenEmpty}\n`);
  const widths = columns.map((column, at) => Math.max(column.length, ...rows.map((row) => row[at]?.length ?? 0)));
  const toLine = (cells: readonly string[]): string =>
    `${cells.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join("  ").trimEnd()}\n`;
  await say(toLine(columns)); // written out before the first row, which goes to another stream
  await print(rows.map(toLine).join(""));
}
