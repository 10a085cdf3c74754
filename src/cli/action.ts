/** Commands of several actions, such as `token create`: finds the action that the words name. */
import type { Administration } from "../administration.ts";
import type { Command, CommandContext, ExitStatus } from "./command.ts";

/** One action of a command. */
export interface Action {
  readonly name: string;
  /** How many words follow it. */
  readonly words: number;
  readonly run: (
    administration: Administration,
    context: CommandContext,
    words: readonly string[],
  ) => Promise<ExitStatus>;
}

/** Runs the action that the first word names, or says how the command is called. */
export async function runAction(
  { name, usage }: Pick<Command, "name" | "usage">,
  actions: readonly Action[],
  context: CommandContext,
): Promise<ExitStatus> {
  const [first, ...rest] = context.words;
  const action = actions.find((each) => each.name === first);
  if (action === undefined || rest.length !== action.words) {
    context.say(`error: not a ${name} command\nhint: ${usage.map((line) => `main.ts ${line}`).join("\n      ")}\n`);
    return 2;
  }
  // Loaded here and not above: a start of `serve` reads this file too, and is not to wait for all behind it.
  const { withAdministration } = await import("./with_administration.ts");
  return await withAdministration(context, (administration) => action.run(administration, context, rest));
}
