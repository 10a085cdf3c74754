/** Figures in columns. */
import process from "node:process";

/** One line: a name, then figures; what is not known says so. */
export function row(name: string, ...figures: readonly (string | number)[]): string {
  const cells = figures.map((figure) =>
    (typeof figure === "string" ? figure : Number.isNaN(figure) ? "not known" : figure.toFixed(figure < 100 ? 2 : 0))
      .padStart(18)
  );
  return `${name.padEnd(38)}${cells.join("")}\n`;
}

/** Writes to standard output. */
export function print(text: string): void {
  process.stdout.write(text);
}

/** The middle one of some figures; `NaN` of none. */
export function median(figures: readonly number[]): number {
  const sorted = figures.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}
