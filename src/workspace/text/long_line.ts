/** Looks for an expression in a line that is too long for one step, a window at a time around what the automaton finds. */
import type { ByteText } from "./byte_text.ts";
import type { LineAutomaton } from "./line_automaton.ts";

/** How an expression is found in a long line. */
export interface LongLinePattern {
  readonly automaton: LineAutomaton;
  /** Bytes of a window: the time for one is that of a step. */
  readonly windowBytes: number;
  /** The offset of the first match at or after `from`, or -1; what is before is only looked back at. */
  findFrom(window: string, from: number): number;
}

/** A match in a long line, with the text around it. */
interface WindowMatch {
  readonly text: string;
  /** Where the match starts in the text. */
  readonly at: number;
  readonly hasBefore: boolean;
  readonly hasAfter: boolean;
}

/** The first match in the line from `start` to `end`, of which the automaton found one to end near `candidate`. */
export function* findInLongLine(
  { characters, decode }: ByteText,
  { automaton, windowBytes, findFrom }: LongLinePattern,
  { start, end, candidate }: { readonly start: number; readonly end: number; readonly candidate: number },
): Generator<undefined, WindowMatch | null> {
  const after = windowBytes >> 2;
  for (let near = candidate; near !== -1;) {
    const from = characterStart(characters, Math.max(start, near - 3 * after));
    const to = near + after >= end ? end : characterStart(characters, near + after);
    const text = decode(from, to);
    // the first character only says what comes before: an anchor does not hold behind it
    const at = findFrom(text, from === start ? 0 : (text.codePointAt(0) ?? 0) > 0xffff ? 2 : 1);
    if (at !== -1) return { text, at, hasBefore: from > start, hasAfter: to < end };
    if (to === end) return null;
    yield;
    near = automaton(characters, to - after, end); // once more, what may have begun in this window
    if (near !== -1) near = Math.max(near, to + 2 * after);
  }
  return null;
}

/** The start of the character that the byte at `offset` is in, or of the next. */
function characterStart(characters: string, offset: number): number {
  let at = offset;
  while (at < characters.length && (characters.charCodeAt(at) & 0xc0) === 0x80) at++;
  return at;
}
