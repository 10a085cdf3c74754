/**
 * Patterns for searching text line by line, in time proportional to the text: plain text, or regular expressions in
 * RE2's syntax, which has no backreferences and no look-around and never backtracks.
 */
import { Buffer } from "node:buffer";
import { findPlaces } from "./edit.ts";
import { loadOnce } from "../../lib/program.ts";
import { failure, type Result, success } from "../../lib/result.ts";
import { createTextFinder, endOfLine, escapeExpression, startOfLine, unicodeForms, wordClass } from "./finder.ts";
import type { ByteText } from "./finder.ts";

/** Where a match begins and ends. */
interface Match {
  readonly start: number;
  readonly end: number;
}

/** Finds lines that match. */
export interface LinePattern {
  /** An offset in the first line that may match, of the lines from one offset to another; -1 where none does. */
  findCandidate(text: ByteText, from: number, to: number): number;
  /** What V8's engine finds wherever there may be a match; `null` where nothing is known that each match holds. */
  readonly screen: RegExp | null;
  /** The first match at or after an offset of the line, or of a part of it. */
  next(line: string, from: number): Match | null;
  /** Whether finding a match may take as long as the rest of the line is. */
  readonly isExpression: boolean;
  /** Whether it says something of what follows a match, which a part of a line may not hold. */
  readonly looksAhead: boolean;
  /** Of a line that is longer than a step, and so searched in parts, or not at all: whether its matches are found. */
  readonly inParts: "all_found" | "some_missed" | "nothing_found";
  /** How many characters are searched in one step, so that other callers do not wait. */
  readonly stepCharacters: number;
  /** Whether the query speaks of CR: it is then a part of the lines that end in CRLF. */
  readonly seesReturns: boolean;
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
const maxStepCharacters = 64 * 1024;
// matching takes up to some 50 ns for each character and instruction: this keeps a step near 20 ms
const maxStepWork = 400_000;
/** The beginning of a plain text that is looked for first: it is compared anew at each place of a line. */
const maxScreenedBytes = 32;
/** Lines of a stretch that may match are looked at one by one in a part of it that is no longer. */
const minStretchBytes = 512;
const startsWithWord = new RegExp(`^[${wordClass}]`, "u");
const endsWithWord = new RegExp(`[${wordClass}]$`, "u");
const maxRepetitions = 10_000; // what a count such as {100} multiplies; bounds the time to compile
const beyondAscii = /[^\0-\x7f]/;

/** Prepares a query. The engine for expressions is loaded when it is first needed. */
export async function createLinePattern(query: LineQuery): Promise<Result<LinePattern, LineQueryRefusal>> {
  const { text, isRegularExpression, ignoreCase, wholeWord = false } = query;
  const isPlain = !isRegularExpression && !ignoreCase && !wholeWord;
  if (text === "") return failure({ reason: "empty" });
  if (text.length > (isPlain ? maxPlainLength : maxExpressionLength)) return failure({ reason: "too_long" });
  if (text.includes("\n")) return failure({ reason: "several_lines" });
  const isByExpression = isRegularExpression || wholeWord || (ignoreCase && beyondAscii.test(text));
  return isByExpression ? await createExpressionPattern(query) : success(createTextPattern(text, ignoreCase));
}

function createTextPattern(text: string, ignoreCase: boolean): LinePattern {
  const forms = text.length > maxExpressionLength ? [text] : unicodeForms(text); // one of macOS is longer
  // in any case, which costs nothing: lines are looked at again. Half a character has no bytes that could be looked for
  const sources = forms.map((form) => escapeExpression(Buffer.from(form).toString("latin1", 0, maxScreenedBytes)));
  const screen = text.isWellFormed() ? new RegExp(sources.join("|"), "i") : null;
  const next = createFormsFinder(forms, ignoreCase ? "i" : "");
  let hasOtherCase = screen === null || beyondAscii.test(text);
  return {
    screen,
    findCandidate({ characters }, from, to) {
      if (screen === null) return from;
      const found = (to - from === characters.length ? characters : characters.slice(from, to)).search(screen);
      return found === -1 ? -1 : from + found;
    },
    next(line, from) {
      const match = next(line, from);
      hasOtherCase ||= match === null && from === 0; // the screen has found its beginning in any case
      return match;
    },
    isExpression: false,
    looksAhead: false,
    inParts: "all_found",
    stepCharacters: maxStepCharacters,
    seesReturns: text.includes("\r"),
    get hasOtherCase() {
      return hasOtherCase;
    },
  };
}

const loadRe2 = loadOnce(() => import("re2js"));

async function createExpressionPattern(
  { text: given, isRegularExpression, ignoreCase, wholeWord = false }: LineQuery,
): Promise<Result<LinePattern, LineQueryRefusal>> {
  const text = isRegularExpression ? inRe2(given) : given;
  if (isRegularExpression && repetitionsOf(text) > maxRepetitions) return failure({ reason: "too_complex" });
  const { RE2JS, RE2JSException } = await loadRe2();
  const flags = ignoreCase ? RE2JS.CASE_INSENSITIVE : 0;
  try {
    if (isRegularExpression) RE2JS.compile(text, flags); // an error is about what the caller wrote
    const written = isRegularExpression ? text : escapeExpression(text);
    const source = [...new Set([inAnyForm(written), written])]
      .map((inner) => wholeWord ? asWholeWord(inner, isRegularExpression ? null : text) : inner)
      .find((each) => RE2JS.compile(each, flags).programSize() <= maxInstructions);
    if (source === undefined) return failure({ reason: "too_complex" });
    const expression = RE2JS.compile(source, flags);
    // in a text of many lines it holds where it does in one of them, unless it speaks of the text's own start or end
    const inLines = /\\[Az]|\(\?[a-zA-Z]*-/.test(source) ? null : RE2JS.compile(source, flags | RE2JS.MULTILINE);
    const seesReturns = text.includes("\r") || (isRegularExpression && /\\r|\\x0d|\\x\{0*d\}/i.test(text));
    const mayHold = ({ decode }: ByteText, from: number, to: number): boolean => {
      if (inLines === null || to - from > stepCharacters + 1) return true;
      const text = decode(from, to);
      const lines = seesReturns ? text : text.replaceAll("\r\n", "\n");
      return inLines.test(lines.endsWith("\n") ? lines.slice(0, -1) : lines); // behind the last end is no line
    };
    const stepCharacters = Math.min(maxStepCharacters, Math.floor(maxStepWork / expression.programSize()));
    // without a loop each instruction takes one character at most, of two units; parts overlap by a quarter
    const isShort = !isRegularExpression ||
      (!/[*+]|\{\d+,\}/.test(text) && 2 * expression.programSize() <= stepCharacters >> 2);
    const shownGroup = wholeWord ? 1 : 0;
    const screen = isRegularExpression ? screenOf(text, ignoreCase) : null;
    const plain = isRegularExpression || beyondAscii.test(text) ? null : createTextPattern(text, ignoreCase);
    /** Where the lines end of which one holds it. */
    let short: { readonly lines: ByteText; readonly end: number } | null = null;
    /** Lines that hold it somewhere. Most hold it nowhere, which one look at all of them tells. */
    let held: { readonly lines: ByteText; readonly to: number } | null = null;
    return success({
      screen: plain === null ? screen : plain.screen,
      findCandidate(lines, given, to) {
        if (plain !== null) return plain.findCandidate(lines, given, to);
        const screened = screen === null ? 0 : lines.characters.slice(given, to).search(screen);
        if (screened === -1) return -1;
        const from = Math.max(given, startOfLine(lines.characters, given + screened));
        if (short?.lines === lines && from < short.end) return from;
        if (held?.lines !== lines || held.to !== to) {
          if (!mayHold(lines, from, to)) return -1;
          held = { lines, to };
        }
        const endFrom = (at: number): number => Math.min(endOfLine(lines.characters, at) + 1, to);
        let [low, size] = [from, minStretchBytes];
        let high = endFrom(low + size);
        for (; !mayHold(lines, low, high); high = endFrom(low + size)) { // more of the lines each time
          if (high === to) return -1;
          [low, size] = [high, 2 * size];
        }
        for (let middle; high - low > minStretchBytes && (middle = endFrom((low + high) >> 1)) < high;) {
          if (mayHold(lines, low, middle)) high = middle;
          else low = middle;
        }
        short = { lines, end: high };
        return low;
      },
      next(line, from) { // what stands behind a whole word may stand before the next
        if (line.length > minStretchBytes && !expression.test(line)) return null; // much quicker
        const matcher = expression.matcher(line);
        return matcher.find(from) ? { start: matcher.start(shownGroup), end: matcher.end(shownGroup) } : null;
      },
      isExpression: true,
      looksAhead: wholeWord || /[$]|\\[bBz]/.test(text),
      inParts: isShort ? "all_found" : "some_missed",
      stepCharacters,
      seesReturns,
      hasOtherCase: true,
    });
  } catch (error) {
    if (!(error instanceof RE2JSException)) throw error;
    return failure({ reason: "invalid_expression", detail: error.message });
  }
}

/** What JavaScript, Python and PCRE write otherwise and mean the same: `\u00e9`, `\Z`, and `(?u)` at the beginning. */
function inRe2(expression: string): string {
  return expression.replace(
    /^\(\?([a-z]*)u([a-z]*)\)/,
    (_, before: string, after: string) => before + after === "" ? "" : `(?${before}${after})`,
  ).replace(
    /\\Q[^]*?(?:\\E|$)|\\u(?:([\da-f]{4})|\{([\da-f]{1,6})\})|\\[^]/gi,
    (whole, code?: string, braced = code) => braced !== undefined ? `\\x{${braced}}` : whole === "\\Z" ? "\\z" : whole,
  );
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
  { all, without, ignoreCase, wholeWord = false }: {
    readonly all: readonly string[];
    readonly without: readonly string[];
    readonly ignoreCase: boolean;
    readonly wholeWord?: boolean;
  },
): LinePattern {
  if (all.length === 0 && without.length === 0) return pattern;
  const hasForms = [...all, ...without].some((text) => unicodeForms(text).length > 1);
  const fold = (text: string): string => {
    const composed = hasForms ? text.normalize("NFC") : text;
    return ignoreCase ? composed.toLowerCase() : composed;
  };
  const holds = (text: string): (line: string) => boolean => {
    const wanted = fold(text);
    if (wholeWord) return (line) => findPlaces(line, wanted, true).some((at) => at !== -1);
    const find = createTextFinder(wanted);
    return (line) => find(line, 0) !== -1;
  };
  const [needed, refused] = [all.map(holds), without.map(holds)];
  return {
    ...pattern,
    hasOtherCase: true,
    inParts: "nothing_found",
    next(line, from) {
      if (from > 0) return pattern.next(line, from); // the line was judged with its first match
      const text = fold(line);
      const isWanted = needed.every((isIn) => isIn(text)) && !refused.some((isIn) => isIn(text));
      return isWanted ? pattern.next(line, from) : null;
    },
  };
}

/** Finds the first of some forms of a text; `flags` of an expression: `i` for any case. Forms are short. */
function createFormsFinder(
  forms: readonly string[],
  flags: "" | "i" = "",
): (text: string, from: number) => Match | null {
  const [only = "", ...others] = forms;
  if (flags === "" && others.length === 0) {
    const find = createTextFinder(only);
    return (text, from) => {
      const start = find(text, from);
      return start === -1 ? null : { start, end: start + only.length };
    };
  }
  // literals of V8's own engine: at each place they are compared and there is nothing to go back to
  const expression = new RegExp(forms.map(escapeExpression).join("|"), `g${flags}`);
  return (text, from) => {
    expression.lastIndex = from;
    const [found] = expression.exec(text) ?? [];
    return found === undefined ? null : { start: expression.lastIndex - found.length, end: expression.lastIndex };
  };
}

// * What every match of an expression holds, as an expression for V8's own engine, which looks through text ten times as
// fast as RE2's: `dle\s` of `ne+dle\s+in`. It has neither loops nor choices, so there is nothing to go back to.

/** One ASCII character, a group's begin or end, or what says too little of the text; anything else is not understood. */
const token =
  /(?<one>\\[dws]|\\[^\w\s]|\[(?!\^)(?:\\[dws]|\\[^\w\s]|[^\]\[\\^])+\]|[^\\^$.|?*+()[\]{}])|(?<open>\((?:\?:|(?!\?)))|(?<close>\))|[.^$|]|\\[bBDWS]|\[\^(?:\\[^]|[^\]\\[])+\]/y;
const quantifier = /(?:[*+?]|\{(?<least>\d+)(?<more>,\d*)?\})\??/y;
/** Of one character that is repeated. */
const maxRepeated = 32;
/** What says less is in nearly every line. A class of 16 of ASCII's 128 characters has three bits. */
const leastBits = 3;

/** What a run of characters says: the more bits, the fewer texts hold it. */
interface Run {
  readonly source: string;
  readonly bits: number;
}

const nothing: Run = { source: "", bits: 0 };

/** `null` where nothing is known that most texts lack. Texts are those of UTF-8's bytes, one character each. */
export function screenOf(expression: string, ignoreCase: boolean): RegExp | null {
  if (beyondAscii.test(expression)) return null;
  let best = nothing;
  let run = nothing;
  const end = (): void => {
    if (run.bits > best.bits) best = run;
    run = nothing;
  };
  let depth = 0;
  for (let at = 0; at < expression.length;) {
    token.lastIndex = at;
    const found = token.exec(expression);
    if (found === null || (found[0] === "|" && depth === 0)) return null;
    const { one, open, close } = found.groups ?? {};
    quantifier.lastIndex = token.lastIndex;
    const times = open === undefined ? quantifier.exec(expression) : null;
    at = times === null ? token.lastIndex : quantifier.lastIndex;
    if (open !== undefined) depth++;
    else if (close !== undefined) depth--;
    const least = times === null || times[0].startsWith("+") ? 1 : Number(times.groups?.["least"] ?? 0);
    // in any case, k and s stand for characters beyond ASCII, too
    const isKnown = one !== undefined && depth === 0 && !(ignoreCase && /[ks[]|\\w/i.test(one));
    if (!isKnown || least === 0) {
      end();
      continue;
    }
    const repeated = Math.min(least, maxRepeated);
    const own = { source: one.repeat(repeated), bits: bitsOf(one) * repeated };
    run = { source: run.source + own.source, bits: run.bits + own.bits };
    const isExact = times === null || (times.groups?.["least"] !== undefined && times.groups["more"] === undefined);
    if (isExact && repeated === least) continue;
    end();
    run = own; // the last of the loop stands before what follows
  }
  end();
  return best.bits < leastBits ? null : new RegExp(best.source, ignoreCase ? "i" : "");
}

function bitsOf(one: string): number {
  const expression = new RegExp(`^${one}$`);
  const fitting = Array.from({ length: 128 }, (_, code) => String.fromCharCode(code)).filter((each) =>
    expression.test(each)
  );
  return Math.log2(128 / Math.max(1, fitting.length));
}
