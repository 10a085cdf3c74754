/** Exact replacements in a text, and the unified diff that shows them: pure functions. */
import { failure, type Result, success } from "../lib/result.ts";

/** Why a replacement is refused. `count` is how often the old text is there. */
export type EditRefusal =
  | { readonly reason: "empty_old_text" }
  | { readonly reason: "same_text" }
  | { readonly reason: "not_there" }
  | { readonly reason: "not_unique"; readonly count: number };

/** A text with its replacements made. */
export interface EditedText {
  readonly text: string;
  /** How many replacements there are. */
  readonly count: number;
  readonly diff: string;
}

/** What to replace. */
export interface Replacement {
  readonly oldText: string;
  readonly newText: string;
  /** Every occurrence; otherwise exactly one must be there. */
  readonly all: boolean;
}

interface Change {
  /** Line numbers from 0; the end is not included. */
  readonly oldStart: number;
  readonly oldEnd: number;
  readonly newLines: readonly string[];
}

const contextLines = 3;

/** Replaces `oldText`, found from the start without overlaps. `name` is the file's name in the diff. */
export function replaceText(
  text: string,
  { oldText, newText, all }: Replacement,
  name: string,
): Result<EditedText, EditRefusal> {
  if (oldText === "") return failure({ reason: "empty_old_text" });
  if (oldText === newText) return failure({ reason: "same_text" });
  const starts = findAll(text, oldText);
  if (starts.length === 0) return failure({ reason: "not_there" });
  if (starts.length > 1 && !all) return failure({ reason: "not_unique", count: starts.length });
  const edited = text.split(oldText).join(newText);
  return success({ text: edited, count: starts.length, diff: toDiff(text, starts, oldText.length, newText, name) });
}

function findAll(text: string, wanted: string): number[] {
  const starts: number[] = [];
  for (let at = text.indexOf(wanted); at !== -1; at = text.indexOf(wanted, at + wanted.length)) starts.push(at);
  return starts;
}

function toDiff(text: string, starts: readonly number[], oldLength: number, newText: string, name: string): string {
  const lines = splitLines(text);
  const hunks = groupChanges(toChanges(text, lines, starts, oldLength, newText), lines.length);
  const output = [`--- a/${name}`, `+++ b/${name}`];
  let growth = 0;
  for (const { start, end, changes } of hunks) {
    const body: string[] = [];
    let at = start;
    let newCount = 0;
    for (const { oldStart, oldEnd, newLines } of changes) {
      append(body, toDiffLines(" ", lines.slice(at, oldStart)));
      append(body, toDiffLines("-", lines.slice(oldStart, oldEnd)));
      append(body, toDiffLines("+", newLines));
      newCount += oldStart - at + newLines.length;
      at = oldEnd;
    }
    append(body, toDiffLines(" ", lines.slice(at, end)));
    newCount += end - at;
    output.push(`@@ -${toRange(start, end - start)} +${toRange(start + growth, newCount)} @@`);
    append(output, body);
    growth += newCount - (end - start);
  }
  return `${output.join("\n")}\n`;
}

/** One by one: as arguments of `push`, the lines of a large file would overflow the stack. */
function append(lines: string[], more: readonly string[]): void {
  for (const line of more) lines.push(line);
}

/** The lines, each with its own end. */
function splitLines(text: string): string[] {
  return text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
}

/** The changed lines; replacements that touch the same line are one change. */
function toChanges(
  text: string,
  lines: readonly string[],
  starts: readonly number[],
  oldLength: number,
  newText: string,
): Change[] {
  const changes: Change[] = [];
  let line = 0;
  let lineOffset = 0;
  for (let index = 0; index < starts.length;) {
    const first = starts[index] ?? 0;
    while (lineOffset + (lines[line]?.length ?? Infinity) <= first) lineOffset += lines[line++]?.length ?? 0;
    const oldStart = line;
    let replaced = text.slice(lineOffset, first);
    let position = first;
    // take in all lines up to the end of the last replacement that touches them
    for (;;) {
      const next = starts[index];
      const lineEnd = lineOffset + (lines[line]?.length ?? 0);
      if (next !== undefined && next < lineEnd) {
        replaced += text.slice(position, next) + newText;
        position = next + oldLength;
        index++;
      } else if (position > lineEnd || (position === lineEnd && !replaced.endsWith("\n") && line + 1 < lines.length)) {
        lineOffset = lineEnd;
        line++;
      } else {
        replaced += text.slice(position, lineEnd);
        lineOffset = lineEnd;
        line++;
        break;
      }
    }
    changes.push({ oldStart, oldEnd: line, newLines: splitLines(replaced) });
  }
  return changes;
}

interface Hunk {
  readonly start: number;
  end: number;
  readonly changes: Change[];
}

function groupChanges(changes: readonly Change[], lineCount: number): Hunk[] {
  const hunks: Hunk[] = [];
  for (const change of changes) {
    const start = Math.max(0, change.oldStart - contextLines);
    const end = Math.min(lineCount, change.oldEnd + contextLines);
    const last = hunks.at(-1);
    if (last !== undefined && start <= last.end) {
      last.end = end;
      last.changes.push(change);
    } else {
      hunks.push({ start, end, changes: [change] });
    }
  }
  return hunks;
}

function toDiffLines(mark: string, lines: readonly string[]): string[] {
  return lines.map((line) =>
    line.endsWith("\n") ? mark + line.slice(0, -1) : `${mark}${line}\n\\ No newline at end of file`
  );
}

function toRange(start: number, count: number): string {
  return `${count === 0 ? start : start + 1},${count}`;
}
