/** The difference of two texts by lines, as short as it can be, and never longer than a caller wants to read. */
import { loadOnce } from "../../lib/program.ts";
import { nextTurn, type Working } from "../../lib/turns.ts";
import { countLineEnds } from "./finder.ts";

/** Longer lines are shortened. */
const maxLineCharacters = 500;
/** Of what differs in a line, and of what is the same before and after it. */
const maxDifferingCharacters = 2_000;
const charactersAround = 60;

/** Lines with their signs, `-` and `+`; a removed line is compared with the added one in its place. */
function shortenLines(lines: readonly string[]): readonly string[] {
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

/** Lines that are shown; what is beyond is only counted. */
const maxShownLines = 40;
const maxShownCharacters = 8_000;
/** Steps of the search for the shortest difference, whose time grows with their square. */
const maxEditLength = 400;
/** Lines in which the texts may differ for it to be searched for at all. */
const maxComparedLines = 20_000;

/** So many are looked through before others may have their turn. */
const pieceCharacters = 65_536;

/** Hunks without context, such as `@@ -2 +2 @@`, then lines with `-` and `+`; empty when the texts are equal. `work`: see `nextTurn`. */
export async function differenceOf(before: string, after: string, work?: Working): Promise<string> {
  if (before === after) return "";
  const middle = differingLines(before, after);
  let shift = 0;
  for (let from = 0, to; from < middle.start; from = to) {
    await nextTurn(work);
    to = Math.min(middle.start, from + pieceCharacters);
    shift += countLineEnds(before.slice(from, to));
  }
  const [old, new_] = [before.slice(middle.start, middle.oldEnd), after.slice(middle.start, middle.newEnd)];
  const [removed = 0, added = 0] = [old, new_].map((text) => text.split("\n", maxComparedLines + 2).length - 1);
  await nextTurn(work);
  const hunks = removed + added > maxComparedLines ? null : await shortestHunks(old, new_, 0);
  return hunks === null ? firstLines(old, new_, shift) : show(hunks, shift);
}

const loadDiff = loadOnce(() => import("diff"));

/** Where the texts differ, with `context` lines around each place; `null` where the search for that takes too long. */
export async function shortestHunks(before: string, after: string, context: number) {
  const { structuredPatch } = await loadDiff(); // some 20 ms, which a start does not wait for
  return structuredPatch("", "", before, after, "", "", { context, maxEditLength })?.hunks ?? null;
}

/** From the first line that differs to the last. */
function differingLines(before: string, after: string): { start: number; oldEnd: number; newEnd: number } {
  const most = Math.min(before.length, after.length);
  let start = 0;
  while (start < most && isSame(before, start, after, start)) start += pieceCharacters;
  while (start < most && before.charCodeAt(start) === after.charCodeAt(start)) start++;
  let [oldEnd, newEnd] = [before.length, after.length];
  while (
    Math.min(oldEnd, newEnd) - start >= pieceCharacters &&
    isSame(before, oldEnd - pieceCharacters, after, newEnd - pieceCharacters)
  ) {
    oldEnd -= pieceCharacters;
    newEnd -= pieceCharacters;
  }
  while (oldEnd > start && newEnd > start && before.charCodeAt(oldEnd - 1) === after.charCodeAt(newEnd - 1)) {
    oldEnd--;
    newEnd--;
  }
  // what is the same at the end begins with a whole line in both
  const isAtLine = [before[oldEnd - 1], after[newEnd - 1]].every((last) => last === "\n");
  const rest = isAtLine ? 0 : endOfLine(before, oldEnd) - oldEnd;
  return {
    start: start === 0 ? 0 : before.lastIndexOf("\n", start - 1) + 1,
    oldEnd: oldEnd + rest,
    newEnd: newEnd + rest,
  };
}

/** Whether the pieces that begin at these places are the same: the runtime compares them at several GB a second. */
function isSame(one: string, from: number, other: string, otherFrom: number): boolean {
  return one.slice(from, from + pieceCharacters) === other.slice(otherFrom, otherFrom + pieceCharacters);
}

function endOfLine(text: string, at: number): number {
  const end = text.indexOf("\n", at);
  return end === -1 ? text.length : end + 1;
}

function show(hunks: NonNullable<Awaited<ReturnType<typeof shortestHunks>>>, shift: number): string {
  const shown: string[] = [];
  let lines = 0;
  let characters = 0;
  for (const [index, hunk] of hunks.entries()) {
    const hunkLines = shortenLines(hunk.lines);
    const text = hunkLines.join("\n");
    lines += hunkLines.length;
    characters += text.length;
    if (index > 0 && (lines > maxShownLines || characters > maxShownCharacters)) {
      shown.push(`(and ${hunks.length - index} further ${hunks.length - index === 1 ? "place" : "places"})`);
      break;
    }
    const isCut = hunkLines.length > maxShownLines || text.length > maxShownCharacters;
    shown.push(
      `@@ -${range(hunk.oldStart + shift, hunk.oldLines)} +${range(hunk.newStart + shift, hunk.newLines)} @@`,
      isCut ? someOf(hunkLines) : text,
    );
  }
  return shown.join("\n");
}

/** As many removed lines as added ones: of a passage in which all lines change, both sides are seen. */
function someOf(lines: readonly string[]): string {
  const removed = lines.filter((line) => line.startsWith("-"));
  const added = lines.filter((line) => line.startsWith("+"));
  const shownRemoved = Math.max(maxShownLines / 2, maxShownLines - added.length);
  const shownAdded = Math.max(maxShownLines / 2, maxShownLines - removed.length);
  const parts = [removed.slice(0, shownRemoved), added.slice(0, shownAdded)].filter(({ length }) => length > 0);
  return [
    ...parts.map((part) => cut(part, maxShownCharacters / parts.length)),
    `(cut; lines removed: ${removed.length}, added: ${added.length})`,
  ].join("\n");
}

/** The beginning of a difference that is too large to be compared line by line. */
function firstLines(before: string, after: string, shift: number): string {
  const some = Math.floor(maxShownLines / 8);
  const mark = (sign: string, text: string): string[] => headOf(text, some).map((line) => `${sign}${line}`);
  return [
    `@@ -${shift + 1} +${shift + 1} @@`,
    cut(mark("-", before), maxShownCharacters / 2),
    cut(mark("+", after), maxShownCharacters / 2),
    "(the difference is too large to show more of it)",
  ].join("\n");
}

function headOf(text: string, lines: number): readonly string[] {
  let end = 0;
  for (let line = 0; line < lines && end < text.length; line++) end = endOfLine(text, end);
  return text.slice(0, end).replace(/\n$/, "").split("\n");
}

function cut(lines: readonly string[], characters: number): string {
  return lines.join("\n").slice(0, characters).toWellFormed();
}

/** Of no lines, a unified diff names the line before. */
function range(start: number, lines: number): string {
  return lines === 1 ? String(start) : `${lines === 0 ? start - 1 : start},${lines}`;
}
