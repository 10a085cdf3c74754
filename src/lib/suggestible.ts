/** What a refusal or an answer suggests: the word that a mistyped one was meant to be, and no name that a rule keeps from the caller. */
import { createAsyncContext } from "./program.ts";

interface Suggestible {
  /** Whether a path of the workspace may be named, wherever it leads. */
  path(path: string): boolean | Promise<boolean>;
  /** Whether a table, or a path as it is written, may be named. */
  place(name: string): boolean;
  /** Whether the call may read on in another table, or a file by another name, on which the rules that decided say nothing. */
  table(name: string): boolean;
  /** The same of a file that it chooses itself. */
  file(path: string): boolean | Promise<boolean>;
}

const yes = (): boolean => true;
/** Of the judge's own look at what is there now. */
export const unjudged: Suggestible = { path: yes, place: yes, table: yes, file: yes };

/** Of the call that runs; without one, everything may be named. */
export const suggestible = createAsyncContext<Suggestible>();

export async function maySuggestPath(path: string): Promise<boolean> {
  return await suggestible.current()?.path(path) ?? true;
}

export function maySuggestPlace(name: string): boolean {
  return suggestible.current()?.place(name) ?? true;
}

export function mayReadOnIn(table: string): boolean {
  return suggestible.current()?.table(table) ?? true;
}

export async function mayGoOnAt(path: string): Promise<boolean> {
  return await suggestible.current()?.file(path) ?? true;
}

/** A longer word is never close to a known one. */
const maxWordCharacters = 64;
const maxMistakes = 2;

/** The known word that is the fewest mistakes away: at most one for each three letters, and two in all; else `null`. */
export function closestWord(word: string, known: readonly string[]): string | null {
  if (word.length > maxWordCharacters) return null;
  let closest: string | null = null;
  let fewest = Math.min(maxMistakes, Math.floor(word.length / 3)) + 1;
  for (const candidate of known) {
    if (Math.abs(candidate.length - word.length) >= fewest || lettersApart(word, candidate) >= fewest) continue;
    const mistakes = mistakesBetween(word, candidate, fewest);
    if (mistakes < fewest) [closest, fewest] = [candidate, mistakes];
  }
  return closest;
}

/** How many characters of `a` are not in `b`: each of them is a mistake, and most words differ in more than a few. */
function lettersApart(a: string, b: string): number {
  let apart = 0;
  for (let index = 0; index < a.length; index++) {
    if (!b.includes(a.charAt(index))) apart += 1;
  }
  return apart;
}

/** Characters left out, added, replaced, or exchanged with their neighbour (optimal string alignment); `Infinity` from `enough` on. */
function mistakesBetween(a: string, b: string, enough: number): number {
  let before: number[] = [];
  let above = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row++) {
    const current = [row];
    for (let column = 1; column <= b.length; column++) {
      const isSame = a[row - 1] === b[column - 1];
      const isExchanged = row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1];
      current[column] = Math.min(
        (above[column] ?? 0) + 1,
        (current[column - 1] ?? 0) + 1,
        (above[column - 1] ?? 0) + (isSame ? 0 : 1),
        isExchanged ? (before[column - 2] ?? 0) + 1 : Infinity,
      );
    }
    if (Math.min(...above, ...current) >= enough) return Infinity;
    [before, above] = [above, current];
  }
  return above[b.length] ?? Infinity;
}

/** The question for a person, or nothing. */
export function didYouMean(word: string, known: readonly string[]): string {
  const closest = closestWord(word, known);
  return closest === null ? "" : `; did you mean ${closest}?`;
}
