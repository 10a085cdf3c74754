/** Lists for people and for scripts. */
import type { CommandContext } from "./command.ts";

interface Table {
  /** Names of the columns. */
  readonly columns: readonly string[];
  readonly rows: readonly (readonly string[])[];
  /** Said when there are no rows. */
  readonly whenEmpty: string;
}

/** Prints the rows. The heading goes to standard error: a script reads nothing but entries. */
export async function printTable(
  { columns, rows, whenEmpty }: Table,
  { print, say }: Pick<CommandContext, "print" | "say">,
): Promise<void> {
  if (rows.length === 0) return void await say(`${whenEmpty}\n`);
  const widths = columns.map((column, at) => Math.max(column.length, ...rows.map((row) => row[at]?.length ?? 0)));
  const toLine = (cells: readonly string[]): string =>
    `${cells.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join("  ").trimEnd()}\n`;
  await say(toLine(columns)); // before the first row, which takes another way to the same terminal
  await print(rows.map(toLine).join(""));
}
