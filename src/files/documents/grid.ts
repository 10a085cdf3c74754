/** Sheets as Markdown tables with the coordinates by which cells are asked for. */
import { columnName } from "./cells.ts";
import { type DocumentBudget, type DocumentText, nameWords } from "./document.ts";
import { countOf, oneLine, toTable } from "./flow.ts";

/** Merged ranges that are named. */
const maxMerged = 100;

export interface SheetRow {
  readonly number: number;
  readonly isHidden: boolean;
  /** By column, from 1; only those with text. */
  readonly cells: Map<number, string>;
}

export interface Sheet {
  readonly name: string;
  readonly isHidden: boolean;
  readonly rows: readonly SheetRow[];
  readonly hiddenColumns: ReadonlySet<number>;
  readonly merged?: readonly string[];
  /** What lies over the cells. */
  readonly drawn?: readonly string[];
}

/** A workbook's sheets: rows and columns without text are left out, their numbers and letters tell. */
export function toSheets(sheets: readonly Sheet[], budget: DocumentBudget): Pick<DocumentText, "summary" | "parts"> {
  const told: string[] = [];
  const parts = sheets.map(({ name: written, isHidden, rows, hiddenColumns, merged = [], drawn = [] }) => {
    const name = oneLine(written); // it is a line of the text, and stands before matches
    const filled = rows.filter(({ cells }) => cells.size > 0);
    const columns = [...new Set(filled.flatMap(({ cells }) => [...cells.keys()]))].sort((one, other) => one - other);
    const size = `${countOf(filled.length, "row")}, ${countOf(columns.length, "column")}`;
    told.push(`${nameWords(name)} (${isHidden ? "hidden, " : ""}${size})`);
    budget.take(filled.length * columns.length * 3);
    const hidden = (is: boolean) => is ? " (hidden)" : "";
    const table = toTable([
      ["", ...columns.map((column) => `${columnName(column)}${hidden(hiddenColumns.has(column))}`)],
      ...filled.map((row) => [
        `${row.number}${hidden(row.isHidden)}`,
        ...columns.map((column) => row.cells.get(column) ?? ""),
      ]),
    ]);
    const tail = merged.length === 0 ? "" : `\n\nMerged cells: ${oneLine(merged.slice(0, maxMerged).join(", "))}`;
    const over = drawn.map((each) => `\n\n${oneLine(each)}`).join("");
    return { name, text: `${filled.length === 0 ? "(empty)" : table}${tail}${over}` };
  });
  return { summary: `${countOf(sheets.length, "sheet")}: ${told.join(", ")}`, parts };
}

/** A value with the formula that it is counted by. */
export function withFormula(value: string, formula: string): string {
  return formula === "" ? value : `=${formula} → ${value === "" ? "(no value kept)" : value}`;
}

/** A number as it was typed, without the noise of its 17th digit. */
export function toNumberText(number: number): string {
  return String(Number.isInteger(number) ? number : Number(number.toPrecision(15)));
}
