/**
 * Patterns for searching text line by line, in time proportional to the text: plain text, or regular expressions in
 * RE2's syntax, which has no backreferences and no look-around and never backtracks.
 */
import { Buffer } from "node:buffer";
import {
  createFormsFinder,
  createTextFinder,
  endOfLine,
  escapeExpression,
  type Match,
  startOfLine,
  unicodeForms,
  wordClass,
} from "./finder.ts";
import {
  acceptsByte,
  anywhere,
  closureOf,
  createLineAutomaton,
  holdsMatch,
  isCharacter,
  isHeld,
  type LineAutomaton,
  lineStart,
  type Program,
  requiredText,
  type Requirement,
} from "./line_automaton.ts";
import { loadOnce } from "../../lib/program.ts";
import { failure, type Result, success } from "../../lib/result.ts";
import { type LongLineSearch, searchLongExpression, searchLongText } from "./long_line.ts";

/** Finds lines that match. */
export interface LinePattern {
  /** The offset of a byte in the first line that may match, of the lines from one offset to another (finder.ts); or -1. */
  findCandidate(characters: string, from: number, to: number): number;
  /** The offset of the first match in a line, or -1. */
  find(line: string): number;
  /** The first match at or after an offset of the line. */
  next(line: string, from: number): Match | null;
  /** Whether finding a match may take as long as the rest of the line is. */
  readonly isExpression: boolean;
  /** A text that is found as it is, in bytes (finder.ts) of its Unicode forms; `null` for any other query. */
  readonly literals: readonly string[] | null;
  /** How many characters `find` searches in one step, so that other callers do not wait. */
  readonly stepCharacters: number;
  /** Whether the query speaks of CR: it is then a part of the lines that end in CRLF. */
  readonly seesReturns: boolean;
  /** What a text holds that has a match, each; none where that is not known. */
  readonly screens: readonly RegExp[];
  /** Begins the search of a line that is longer than a step. */
  searchLong(): LongLineSearch;
  /** Of plain text: whether a line that was searched may have it but for its case. */
  readonly hasOtherCase: boolean;
}

/** What a caller searches for. */
export interface LineQuery {
  readonly text: string;
  readonly isRegularExpression: boolean;
  readonly ignoreCase: boolean;
  /** Only where no longer word, of any alphabet, holds the match. */
  readonly wholeWord?: boolean;
}

/** Why a query cannot be used; `detail` is the expression's error in words. */
type LineQueryRefusal =
  | { readonly reason: "empty" | "too_long" | "several_lines" | "too_complex" }
  | { readonly reason: "invalid_expression"; readonly detail: string };

const maxPlainLength = 1000;
const maxExpressionLength = 250;
const maxInstructions = 300;
/** Looking at a line that a screen has found takes as long as the automaton takes for so many bytes. */
const candidateCost = 200;
/** A screen is given up when it has cost as much as the automaton takes for so many bytes. */
const patience = 20_000;
const maxStepCharacters = 8192;
// matching takes up to some 50 ns for each character and instruction: this keeps a step near 20 ms
const maxStepWork = 400_000;
const startsWithWord = new RegExp(`^[${wordClass}]`, "u");
const endsWithWord = new RegExp(`[${wordClass}]$`, "u");
const maxRepetitions = 10_000; // what a count such as {100} multiplies; bounds the time to compile

/** Prepares a query. The engine for expressions is loaded when it is first needed. */
export async function createLinePattern(query: LineQuery): Promise<Result<LinePattern, LineQueryRefusal>> {
  const { text, isRegularExpression, ignoreCase, wholeWord = false } = query;
  const isPlain = !isRegularExpression && !ignoreCase && !wholeWord;
  const seesReturns = text.includes("\r") || (isRegularExpression && /\\r|\\x0d|\\x\{0*d\}/i.test(text));
  if (text === "") return failure({ reason: "empty" });
  if (text.length > (isPlain ? maxPlainLength : maxExpressionLength)) return failure({ reason: "too_long" });
  if (text.includes("\n")) return failure({ reason: "several_lines" });
  if (isRegularExpression || wholeWord) return await createExpressionPattern(query, seesReturns);
  const forms = text.length > maxExpressionLength ? [text] : unicodeForms(text); // one of macOS is longer
  const possible = forms.map(ignoreCase ? createCaselessScreen : createTextScreen).filter((each) => each !== null);
  const screen = possible.length < forms.length ? null : toExpression(...possible);
  const findCandidate: LinePattern["findCandidate"] = (characters, from, to) =>
    findByScreen(screen, characters, from, to);
  const next = createFormsFinder(forms, isPlain ? "" : "iu");
  let hasOtherCase = false;
  const find: LinePattern["find"] = (line) => {
    const match = next(line, 0);
    hasOtherCase ||= match === null; // the screen has found it in small or capital letters
    return match?.start ?? -1;
  };
  const screens = screen === null ? [] : [screen];
  const literals = isPlain ? forms.map(toByteCharacters) : null;
  return success({
    findCandidate,
    find,
    next,
    isExpression: false,
    literals,
    stepCharacters: maxStepCharacters,
    seesReturns,
    screens,
    searchLong: () => searchLongText(findCandidate, find),
    get hasOtherCase() {
      return screen === null || hasOtherCase || /[^\0-\x7f]/.test(text);
    },
  });
}

const loadRe2 = loadOnce(() => import("re2js"));

async function createExpressionPattern(
  { text, isRegularExpression, ignoreCase, wholeWord = false }: LineQuery,
  seesReturns: boolean,
): Promise<Result<LinePattern, LineQueryRefusal>> {
  if (isRegularExpression && repetitionsOf(text) > maxRepetitions) return failure({ reason: "too_complex" });
  const { RE2JS, RE2JSException } = await loadRe2();
  const flags = ignoreCase ? RE2JS.CASE_INSENSITIVE : 0;
  try {
    if (isRegularExpression) RE2JS.compile(text, flags); // an error is about what the caller wrote
    const written = isRegularExpression ? text : escapeExpression(text);
    const compiled = [...new Set([inAnyForm(written), written])].map((inner) =>
      RE2JS.compile(wholeWord ? asWholeWord(inner, isRegularExpression ? null : text) : inner, flags)
    );
    const expression = compiled.find((each) => each.programSize() <= maxInstructions);
    const instructions = expression?.programSize() ?? Infinity;
    if (expression === undefined) return failure({ reason: "too_complex" });
    const stepCharacters = Math.min(maxStepCharacters, Math.floor(maxStepWork / instructions));
    const program = expression.re2Input.prog as Program;
    const required = requiredText(expression.re2Input.prefilter as Requirement | null);
    const possible = [
      required === null ? null : createTextScreen(required),
      createStartScreen(program),
      required === null ? createHeldScreen(program) : null,
    ];
    const known = possible.filter((screen) => screen !== null);
    const screens = known.map((screen) => toExpression(screen));
    const automaton = createLineAutomaton(program);
    const shownGroup = wholeWord ? 1 : 0;
    const findFrom = (line: string, from: number): Match | null => {
      const matcher = expression.matcher(line);
      return matcher.find(from) ? { start: matcher.start(shownGroup), end: matcher.end() } : null;
    };
    return success({
      findCandidate: screenLines(screens, automaton),
      find: (line) => findFrom(line, 0)?.start ?? -1,
      next(line, from) { // what stands behind a whole word may stand before the next
        const matcher = expression.matcher(line);
        return matcher.find(from) ? { start: matcher.start(shownGroup), end: matcher.end(shownGroup) } : null;
      },
      isExpression: true,
      literals: null,
      stepCharacters,
      seesReturns,
      screens,
      searchLong: () => searchLongExpression({ automaton, partBytes: stepCharacters, findFrom }),
      hasOtherCase: true,
    });
  } catch (error) {
    if (!(error instanceof RE2JSException)) throw error;
    return failure({ reason: "invalid_expression", detail: error.message });
  }
}

/** RE2's word boundaries know ASCII alone. What is around the match is matched with it, which finds the same lines. */
function asWholeWord(expression: string, text: string | null): string {
  const quoting = expression.replaceAll("\\\\", "");
  const isOpen = quoting.lastIndexOf("\\Q") > quoting.lastIndexOf("\\E"); // the quotation goes on to the end
  const inner = isOpen ? `${expression}\\E` : expression;
  const needsStart = text === null || startsWithWord.test(text);
  const needsEnd = text === null || endsWithWord.test(text);
  return `${needsStart ? `(?:^|[^${wordClass}])` : ""}(${inner})${needsEnd ? `(?:$|[^${wordClass}])` : ""}`;
}

/** What is quoted, escaped, or in a class; else a character with its marks. */
const partsOfExpression =
  /\\Q[^]*?(?:\\E|$)|\\[^]|\[\^?\]?(?:\\[^]|\[:\^?\w+:\]|[^\]\\])*\]|(\P{M}\p{M}+|[^\0-\x7f])/gu;

/** The expression with each of its characters in either Unicode form; what is quoted or in a class stays. */
function inAnyForm(expression: string): string {
  return expression.replace(partsOfExpression, (whole, character?: string) => {
    const forms = character === undefined ? [] : unicodeForms(character);
    return forms.length > 1 ? `(?:${forms.join("|")})` : whole;
  });
}

/** The lines that pass both; a screen that most lines pass is given up. */
function screenLines(screens: readonly RegExp[], automaton: LineAutomaton): LinePattern["findCandidate"] {
  let used = 0;
  let spared = 0;
  return (characters, from, to) => {
    for (let start = from; start < to;) {
      const screen = screens[used];
      if (screen === undefined) return automaton.find(characters, start, to);
      const found = findByScreen(screen, characters, start, to);
      if (found === -1) return -1;
      const lineEnd = Math.min(endOfLine(characters, found) + 1, to);
      const match = automaton.find(characters, startOfLine(characters, found), lineEnd);
      if (match !== -1) return match;
      spared += found - start - candidateCost;
      if (spared < -patience) [used, spared] = [used + 1, 0];
      start = lineEnd;
    }
    return -1;
  };
}

function findByScreen(screen: RegExp | null, characters: string, from: number, to: number): number {
  if (from >= to) return -1;
  if (screen === null) return from;
  const isWhole = from === 0 && to === characters.length;
  const found = (isWhole ? characters : characters.slice(from, to)).search(screen);
  return found === -1 ? -1 : from + found;
}

/** The product of all counts in the expression, which bounds how far it grows when it is compiled. */
function repetitionsOf(expression: string): number {
  let product = 1;
  for (const [, least, most] of expression.matchAll(/\{(\d+)(?:,(\d*))?\}/g)) {
    product *= Math.max(1, Number(least), Number(most ?? 0));
  }
  return product;
}

/** The pattern for lines alone that hold all of these texts, and none of those. Lines longer than a step are not judged: a match in them may be missed. */
export function filterLines(
  pattern: LinePattern,
  { all, without, ignoreCase }: { all: readonly string[]; without: readonly string[]; ignoreCase: boolean },
): LinePattern {
  if (all.length === 0 && without.length === 0) return pattern;
  const hasForms = [...all, ...without].some((text) => unicodeForms(text).length > 1);
  const fold = (text: string): string => {
    const composed = hasForms ? text.normalize("NFC") : text;
    return ignoreCase ? composed.toLowerCase() : composed;
  };
  const holds = (text: string): (line: string) => boolean => {
    const find = createTextFinder(fold(text));
    return (line) => find(line, 0) !== -1;
  };
  const [needed, refused] = [all.map(holds), without.map(holds)];
  return {
    ...pattern,
    hasOtherCase: true,
    find(line) {
      const text = fold(line);
      const isWanted = needed.every((isIn) => isIn(text)) && !refused.some((isIn) => isIn(text));
      return isWanted ? pattern.find(line) : -1;
    },
    searchLong: () => ({
      isUnsure: true,
      *feed() {
        yield;
        return null;
      },
    }),
  };
}

/**
 * Screens are bytes of UTF-8 (see finder.ts) that a match holds: every match has them, not all that have them match.
 * V8 compiles their expression to code that passes over most bytes without looking at them. It repeats nothing but the
 * bytes of one character, so no text makes it slow. Without the start screen a search takes twice as long.
 */
type Screen = readonly Place[];

/** What may be at one character of a match. */
interface Place {
  /** The bytes of it, where it is one. */
  readonly bytes: readonly number[];
  /** Whether it may be another character, of several bytes. */
  readonly goesBeyond: boolean;
}

/** How much of a match a screen looks for: in the worst text, each byte is compared with so many. */
const maxCharacters = 16;
const maxScreenedCharacters = 12;
/** How much more often one of the common characters is met than one of the others. */
const commonRate = 8;
const asciiBytes = Array.from({ length: 0x80 }, (_, byte) => byte).filter((byte) => byte !== 10);
const firstByteBeyond = 0xc2;
const allRates = asciiBytes.reduce((sum, byte) => sum + rateOf(byte), commonRate);
/** The bytes of one character. */
const beyondAscii = "[\\xc2-\\xf4][\\x80-\\xbf]{1,3}";
/** What is beyond ASCII, or folds with such a character. */
const foldsBeyond = /[ks\u0080-\u{10ffff}]/iu;

/** Finds what one of the screens holds. */
function toExpression(...screens: readonly Screen[]): RegExp {
  const sourceOf = ({ bytes, goesBeyond }: Place): string => {
    const single = `[${bytes.map((byte) => `\\x${byte.toString(16).padStart(2, "0")}`).join("")}]`;
    return goesBeyond ? `(?:${single}|${beyondAscii})` : single;
  };
  return new RegExp(screens.map((screen) => screen.map(sourceOf).join("")).join("|"));
}

/** A text, in small or capital letters: that is found quicker than the exact text, and lines are looked at again. */
function createTextScreen(text: string): Screen | null {
  if (!text.isWellFormed()) return null; // half a character has no UTF-8
  return Array.from(toByteCharacters(text).slice(0, maxCharacters), (character) => {
    const cases = character < "\x80" ? [character.toLowerCase(), character.toUpperCase()] : [character];
    return { bytes: cases.map((each) => each.charCodeAt(0)), goesBeyond: false };
  });
}

/** A text whatever its letters' case, by Unicode's simple case folding. */
function createCaselessScreen(text: string): Screen | null {
  if (!text.isWellFormed()) return null;
  return Array.from(text).slice(0, maxCharacters).map((character) => {
    const literal = new RegExp(escapeExpression(character), "iu");
    const bytes = asciiBytes.filter((byte) => literal.test(String.fromCharCode(byte)));
    return { bytes, goesBeyond: foldsBeyond.test(character) };
  });
}

/** What the first characters of an expression's matches may be, as many as every match has. */
function createStartScreen(program: Program): Screen | null {
  const places: Place[] = [];
  // a match may end with its line at any of these characters
  let reached = closureOf(program, [program.start], anywhere);
  for (let count = 0; count < maxScreenedCharacters && !holdsMatch(program, reached); count++) {
    places.push(placeOf(program, reached));
    const taken = reached.filter((index) => isCharacter(program, index));
    reached = closureOf(program, taken.map((index) => program.inst[index]?.out ?? 0), anywhere & ~lineStart);
  }
  return places.length === 0 ? null : places;
}

/** The rarest character, by a rough measure, that every match contains. */
function createHeldScreen(program: Program): Screen | null {
  const rated = program.inst.flatMap((_, index) => {
    if (!isCharacter(program, index) || !isHeld(program, index)) return [];
    const place = placeOf(program, [index]);
    return [{ place, rate: shareOf(place) }];
  }).sort((one, other) => one.rate - other.rate);
  return rated[0] === undefined ? null : [rated[0].place];
}

/** Which part of all characters may be there, by a rough measure. */
function shareOf({ bytes, goesBeyond }: Place): number {
  return bytes.reduce((sum, byte) => sum + rateOf(byte), goesBeyond ? commonRate : 0) / allRates;
}

/** Blanks and small letters are common, as most of a text is. */
function rateOf(byte: number): number {
  return byte === 0x20 || (byte >= 0x61 && byte <= 0x7a) ? commonRate : 1;
}

/** A character that one of the instructions accepts. */
function placeOf(program: Program, indexes: readonly number[]): Place {
  return {
    bytes: asciiBytes.filter((byte) => indexes.some((index) => acceptsByte(program, index, byte))),
    goesBeyond: indexes.some((index) => acceptsByte(program, index, firstByteBeyond)),
  };
}

/** Where a text would be found in its bytes. */
function toByteCharacters(text: string): string {
  return Buffer.from(text).toString("latin1");
}
