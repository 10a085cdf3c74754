/** Configuration problems in words, all at once. */
import { programName } from "../../lib/program_name.ts";
import type { ConfigProblem } from "./problem.ts";

/** `error:` then one line a problem: field, value, hint. Where only flags of a command are wrong, its help is the hint. */
export function describeProblems(problems: readonly ConfigProblem[], command?: string): string {
  const lines = problems.map(({ field, value, hint }) =>
    `  ${field}${value === undefined ? "" : ` = ${value}`}: ${hint}`
  );
  const areFlags = command !== undefined && problems.every(({ field }) => field.startsWith("-"));
  const noun = areFlags ? "flag" : "setting";
  const count = problems.length === 1 ? `1 ${noun} is` : `${problems.length} ${noun}s are`;
  const help = areFlags
    ? `\`${programName()} ${command} --help\` lists its flags`
    : `\`${programName()} config --all\` explains every setting`;
  return `error: ${count} not usable\n${lines.join("\n")}\nhint: ${help}\n`;
}
