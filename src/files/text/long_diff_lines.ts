/** Lines of a difference that are too long to be read: of each, what differs, and a little around it. */

/** Longer lines are shortened. */
const maxLineCharacters = 500;
/** Of what differs in a line, and of what is the same before and after it. */
const maxDifferingCharacters = 2_000;
const charactersAround = 60;

/** Lines with their signs, `-` and `+`; a removed line is compared with the added one in its place. */
export function shortenLines(lines: readonly string[]): readonly string[] {
  if (lines.every(({ length }) => length <= maxLineCharacters)) return lines;
  const removed = lines.filter((line) => line.startsWith("-"));
  const added = lines.filter((line) => line.startsWith("+"));
  let [removedAt, addedAt] = [0, 0];
  return lines.map((line) => {
    const other = line.startsWith("-") ? added[removedAt++] : line.startsWith("+") ? removed[addedAt++] : undefined;
    return line.length <= maxLineCharacters ? line : shorten(line, other);
  });
}

function shorten(line: string, other: string | undefined): string {
  let [start, rest] = [1, 0]; // behind the sign, and before the end
  if (other !== undefined) {
    const most = Math.min(line.length, other.length);
    while (start < most && line.charCodeAt(start) === other.charCodeAt(start)) start++;
    while (
      rest < most - start && line.charCodeAt(line.length - 1 - rest) === other.charCodeAt(other.length - 1 - rest)
    ) {
      rest++;
    }
  }
  const from = Math.max(1, start - charactersAround);
  const end = line.length - Math.max(0, rest - charactersAround);
  const to = Math.min(end, start + maxDifferingCharacters);
  const shown = line.slice(from, to).toWellFormed();
  const more = to === line.length ? "" : to === end ? "…" : `… (${end - to} characters more)`;
  return `${line.slice(0, 1)}${from > 1 ? "…" : ""}${shown}${more}`;
}
