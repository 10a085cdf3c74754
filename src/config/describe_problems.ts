/** Configuration problems in words, all at once. */
import type { ConfigProblem } from "./config.ts";

/** `error:` then one line a problem: field, value, hint. */
export function describeProblems(problems: readonly ConfigProblem[]): string {
  const lines = problems.map(({ field, value, hint }) => `  ${field} = ${value}: ${hint}`);
  const count = problems.length === 1 ? "1 setting is" : `${problems.length} settings are`;
  return `error: ${count} not usable\n${lines.join("\n")}\nhint: \`main.ts --help\` lists every setting\n`;
}
