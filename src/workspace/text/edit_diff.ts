/** The unified diff of one text's replacements, made no longer than it may be: lines beyond that are only counted. */

interface TextReplacements {
  readonly text: string;
  /** What lies before, between and behind the replaced pieces. */
  readonly kept: readonly string[];
  /** Of each replaced piece. */
  readonly oldLength: number;
  readonly newText: string;
}

/** Changed lines; replacements that touch the same line are one change. Offsets and line numbers start at 0. */
interface Change {
  readonly from: number;
  readonly to: number;
  readonly startLine: number;
  readonly endLine: number;
  readonly newText: string;
}

const contextLines = 3;
const cutNotice = "(the diff is longer and cut here)\n";

/** The diff; its two first lines name the file. */
export function toEditDiff(
  replacements: TextReplacements,
  { name, maxCharacters }: { readonly name: string; readonly maxCharacters: number },
): string {
  const { text } = replacements;
  const changes = changesOf(replacements);
  let output = `--- a/${name}\n+++ b/${name}\n`;
  let growth = 0;
  let next = changes.next();
  while (!next.done && output.length <= maxCharacters) {
    const first = next.value;
    const lead = Math.min(contextLines, first.startLine);
    const start = first.startLine - lead;
    let at = startOfLinesBefore(text, first.from, lead);
    let line = start;
    let newCount = 0;
    let body = "";
    const add = (mark: string, lines: string): void => {
      body = addLines(body, mark, lines, maxCharacters);
    };
    do {
      const { from, to, startLine, endLine, newText } = next.value;
      add(" ", text.slice(at, from));
      add("-", text.slice(from, to));
      add("+", newText);
      newCount += startLine - line + countLines(newText);
      [at, line] = [to, endLine];
      next = changes.next();
    } while (!next.done && next.value.startLine - line <= 2 * contextLines);
    const trail = firstLines(text, at, contextLines);
    add(" ", trail);
    const trailLines = countLines(trail);
    const oldCount = line + trailLines - start;
    newCount += trailLines;
    output += `@@ -${toRange(start, oldCount)} +${toRange(start + growth, newCount)} @@\n${body}`;
    growth += newCount - oldCount;
  }
  return cut(output, maxCharacters);
}

function* changesOf({ text, kept, oldLength, newText }: TextReplacements): Generator<Change, undefined> {
  let line = 0;
  let lineStart = 0;
  let lineEnd = endOfLine(text, 0); // looked for once a line: a line may hold a million replacements
  let start = 0; // of the replaced piece that is next
  const toNextLine = (): void => {
    lineStart = lineEnd;
    lineEnd = endOfLine(text, lineEnd);
    line++;
  };
  const starts = kept.length - 1;
  for (let index = 0; index < starts;) {
    start += kept[index]?.length ?? 0;
    while (lineEnd <= start && lineEnd > lineStart) toNextLine();
    const startLine = line;
    const from = lineStart;
    let replaced = "";
    let endsLine = false;
    const add = (piece: string): void => {
      replaced += piece;
      if (piece !== "") endsLine = piece.endsWith("\n"); // asking all of `replaced` would copy it for each line
    };
    add(text.slice(lineStart, start));
    // all lines up to the end of the last replacement that touches them
    for (;;) {
      add(newText);
      let position = start + oldLength;
      index++;
      let isNextHere = false;
      for (;;) {
        const nextStart = index < starts ? position + (kept[index]?.length ?? 0) : Infinity;
        isNextHere = nextStart < lineEnd;
        if (isNextHere) break;
        const isJoined = position > lineEnd || (position === lineEnd && !endsLine && lineEnd < text.length);
        if (!isJoined) add(text.slice(position, lineEnd));
        toNextLine();
        if (!isJoined) break;
      }
      if (!isNextHere) {
        start = position;
        break;
      }
      add(kept[index] ?? "");
      start = position + (kept[index]?.length ?? 0);
      position = start;
    }
    yield { from, to: lineStart, startLine, endLine: line, newText: replaced };
  }
  return undefined;
}

function addLines(body: string, mark: string, lines: string, maxCharacters: number): string {
  for (let at = 0; at < lines.length && body.length <= maxCharacters;) {
    const end = endOfLine(lines, at);
    body += mark + lines.slice(at, Math.min(end, at + maxCharacters + 1));
    if (lines[end - 1] !== "\n") body += "\n\\ No newline at end of file\n";
    at = end;
  }
  return body;
}

/** The offset after the line that `from` is in. */
function endOfLine(text: string, from: number): number {
  const newline = text.indexOf("\n", from);
  return newline === -1 ? text.length : newline + 1;
}

function startOfLinesBefore(text: string, lineStart: number, count: number): number {
  let start = lineStart;
  for (let left = count; left > 0; left--) start = start < 2 ? 0 : text.lastIndexOf("\n", start - 2) + 1;
  return start;
}

function firstLines(text: string, from: number, count: number): string {
  let end = from;
  for (let left = count; left > 0 && end < text.length; left--) end = endOfLine(text, end);
  return text.slice(from, end);
}

function countLines(text: string): number {
  let count = 0;
  for (let at = 0; at < text.length; at = endOfLine(text, at)) count++;
  return count;
}

function cut(diff: string, maxCharacters: number): string {
  if (diff.length <= maxCharacters) return diff;
  const end = diff.lastIndexOf("\n", maxCharacters) + 1;
  return diff.slice(0, end === 0 ? maxCharacters : end).toWellFormed() + cutNotice;
}

function toRange(start: number, count: number): string {
  return `${count === 0 ? start : start + 1},${count}`;
}
