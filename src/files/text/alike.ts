/** Where a text has nearly the passage that an edit looked for: what was copied wrongly is found again by its line. */
import { createTextFinder } from "./finder.ts";

/** What differs, and the line at which the passage begins, from 1. */
export interface Alike {
  /**
   * `words`: it is only there within longer words; `numbers`: without its line numbers; `rest`: only its first line is; `beginning`:
   * only the beginning of that.
   */
  readonly but: "words" | "numbers" | "blanks" | "signs" | "rest" | "beginning";
  readonly line: number;
}

/** Longer texts are not compared: the search makes copies of them. */
const maxComparedCharacters = 1_100_000;
/** A first line that is shorter is anywhere. */
const minLineCharacters = 4;
const minBeginningCharacters = 8;

/** The first passage of the text that is nearly the wanted one; `null` where there is none. */
export function findAlike(text: string, wanted: string, wholeWord: boolean): Alike | null {
  if (text.length > maxComparedCharacters) return null;
  if (wholeWord) {
    const at = createTextFinder(wanted)(text, 0);
    if (at !== -1) return { but: "words", line: lineAt(text, at) };
  }
  const numberless = withoutNumbers(wanted);
  const unnumbered = numberless === null ? -1 : createTextFinder(numberless)(withLf(text), 0);
  if (unnumbered !== -1) return { but: "numbers", line: lineAt(withLf(text), unnumbered) };
  const blanks = lineOfFolded(text, wanted, withoutBlanks);
  if (blanks !== null) return { but: "blanks", line: blanks };
  const signs = lineOfFolded(text, wanted, folded);
  return signs === null ? firstLine(text, wanted) : { but: "signs", line: signs };
}

/** The passage without the numbers that reads and searches put before lines; `null` where not all lines have one. */
function withoutNumbers(wanted: string): string | null {
  const lines = withLf(wanted).split("\n");
  const isEnded = lines.at(-1) === "";
  const passage = (isEnded ? lines.slice(0, -1) : lines).map((line) =>
    /^ *\d+(?:\t|[:-] ?)([^]*)$/.exec(line)?.[1] ?? null
  );
  if (passage.includes(null) || passage.every((line) => line?.trim() === "")) return null;
  return passage.join("\n") + (isEnded ? "\n" : "");
}

function withLf(text: string): string {
  return text.replaceAll("\r\n", "\n");
}

function withoutBlanks(text: string): string {
  return text.replace(/\s+/gu, "");
}

/** Without blanks, in small letters, with plain quotes and dashes; each character as long as it was. */
function folded(text: string): string {
  return withoutBlanks(text).replace(/[\u2018\u2019]/g, "'").replace(/[\u201c\u201d]/g, '"').replace(/\p{Pd}/gu, "-")
    .split("\u0130").map((part) => part.toLowerCase()).join("\u0130"); // the one letter whose small form is longer
}

/** The line at which the wanted passage begins in the folded text. */
function lineOfFolded(text: string, wanted: string, fold: (text: string) => string): number | null {
  const passage = fold(wanted);
  const at = passage === "" ? -1 : createTextFinder(passage)(fold(text), 0);
  if (at === -1) return null;
  let line = 1;
  let seen = 0;
  for (const unit of text) {
    if (unit === "\n") line++;
    else if (!/\s/u.test(unit) && (seen += unit.length) > at) break;
  }
  return line;
}

/** Where the first line of a passage is, or a half of it at least, if that is at one place. */
function firstLine(text: string, wanted: string): Alike | null {
  const [first = "", ...rest] = wanted.trim().split("\n");
  const line = first.trim();
  if (rest.length > 0 && line.length >= minLineCharacters) {
    const at = onlyPlace(text, line);
    if (at !== null) return { but: "rest", line: lineAt(text, at) };
  }
  for (const share of [3 / 4, 1 / 2]) {
    const beginning = line.slice(0, Math.floor(line.length * share));
    const at = beginning.length < minBeginningCharacters ? null : onlyPlace(text, beginning);
    if (at !== null) return { but: "beginning", line: lineAt(text, at) };
  }
  return null;
}

function onlyPlace(text: string, passage: string): number | null {
  const find = createTextFinder(passage);
  const at = find(text, 0);
  return at === -1 || find(text, at + 1) !== -1 ? null : at;
}

function lineAt(text: string, offset: number): number {
  let line = 1;
  for (let at = text.indexOf("\n"); at !== -1 && at < offset; at = text.indexOf("\n", at + 1)) line++;
  return line;
}
