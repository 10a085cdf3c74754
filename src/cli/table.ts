/** Lists, aligned for people, one entry a line for scripts. */
import type { CommandContext } from "./command.ts";

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
