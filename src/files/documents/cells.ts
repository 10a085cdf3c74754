/** Names of cells and columns in sheets. */

export function columnName(column: number): string {
  return column < 1 ? "" : columnName(Math.floor((column - 1) / 26)) + String.fromCharCode(65 + (column - 1) % 26);
}

export function columnNumber(letters: string): number {
  return [...letters].reduce((number, letter) => number * 26 + letter.charCodeAt(0) - 64, 0);
}

/** The column and row of "B7", from 1, or `null`. */
export function parseCell(name: string): { column: number; row: number } | null {
  const [, letters, digits] = /^\$?([A-Z]{1,3})\$?(\d{1,7})$/.exec(name) ?? [];
  return letters === undefined ? null : { column: columnNumber(letters), row: Number(digits) };
}
