/**
 * Patterns for searching text line by line, in time proportional to the text: plain text, or regular expressions in
 * RE2's syntax, which has no backreferences and no look-around and never backtracks.
 */
import { failure, type Result, success } from "../../lib/result.ts";
import { requiredLiteral } from "./required_literal.ts";
import { createTextFinder, type TextFinder } from "./finder.ts";

/** Finds lines that match. */
export interface LinePattern {
  /** Text that every matching line holds; `null` when nothing is known. */
  readonly required: string | null;
  /** The offset of the first match in the lines from `from` to `to`, the starts of two lines or the end; or -1. */
  find(text: string, from: number, to: number): number;
  /** How many characters are searched in one step that keeps nobody waiting; longer lines are searched up to here. */
  readonly stepCharacters: number;
}

/** What a caller searches for. */
interface LineQuery {
  readonly text: string;
  readonly isRegularExpression: boolean;
  readonly ignoreCase: boolean;
}

/** Why a query cannot be used; `detail` is the expression's error in words. */
export type LineQueryRefusal =
  | { readonly reason: "empty" | "too_long" | "several_lines" | "too_complex" }
  | { readonly reason: "invalid_expression"; readonly detail: string };

const maxPlainLength = 1000;
const maxExpressionLength = 250;
const maxInstructions = 300;
const maxStepCharacters = 8192;
// matching takes up to some 50 ns for each character and instruction: this keeps a step near 20 ms
const maxStepWork = 400_000;
const maxRepetitions = 10_000; // what a count such as {100} multiplies; bounds the time to compile

/** Prepares a query. The engine for expressions is loaded when it is first needed. */
export async function createLinePattern(query: LineQuery): Promise<Result<LinePattern, LineQueryRefusal>> {
  const { text, isRegularExpression, ignoreCase } = query;
  const isPlain = !isRegularExpression && !ignoreCase;
  if (text === "") return failure({ reason: "empty" });
  if (text.length > (isPlain ? maxPlainLength : maxExpressionLength)) return failure({ reason: "too_long" });
  if (text.includes("\n")) return failure({ reason: "several_lines" });
  if (isPlain) {
    const finder = createTextFinder(text);
    const find = (subject: string, from: number, to: number) => findPlain(finder, subject, from, to);
    return success({ required: text, find, stepCharacters: maxStepCharacters });
  }
  if (!isRegularExpression) {
    // a literal of V8's own engine: at each place it is compared and there is nothing to go back to
    const literal = new RegExp(text.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&"), "iu");
    const find = (subject: string, from: number, to: number) => findLiteral(literal, subject, from, to);
    return success({ required: null, find, stepCharacters: maxStepCharacters });
  }
  if (repetitionsOf(text) > maxRepetitions) return failure({ reason: "too_complex" });
  const { RE2JS, RE2JSException } = await import("re2js");
  try {
    const flags = ignoreCase ? RE2JS.CASE_INSENSITIVE : 0;
    const expression = RE2JS.compile(text, flags);
    const instructions = expression.programSize();
    if (instructions > maxInstructions) return failure({ reason: "too_complex" });
    const stepCharacters = Math.min(maxStepCharacters, Math.floor(maxStepWork / instructions));
    const required = ignoreCase ? null : requiredLiteral(text);
    const search = { expression, required: required === null ? null : createTextFinder(required), stepCharacters };
    return success({
      required,
      find: (subject, from, to) => findInLines(search, subject, from, to),
      stepCharacters,
    });
  } catch (error) {
    if (!(error instanceof RE2JSException)) throw error;
    return failure({ reason: "invalid_expression", detail: error.message });
  }
}

function findPlain(finder: TextFinder, subject: string, from: number, to: number): number {
  const found = finder(subject.slice(from, to), 0);
  return found === -1 ? -1 : from + found;
}

function findLiteral(literal: RegExp, subject: string, from: number, to: number): number {
  const found = subject.slice(from, to).search(literal);
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

interface ExpressionSearch {
  readonly expression: { matcher(subject: string): { find(): boolean; start(): number } };
  readonly required: TextFinder | null;
  readonly stepCharacters: number;
}

/**
 * Each line on its own: a search across lines could run through the rest of the text again for every line. Of lines
 * without end, as in minified files, only the start is searched. Lines without the required text are passed over.
 */
function findInLines(
  { expression, required, stepCharacters }: ExpressionSearch,
  subject: string,
  from: number,
  to: number,
): number {
  for (let lineStart = from; lineStart < to;) {
    if (required !== null) {
      const held = findPlain(required, subject, lineStart, to);
      if (held === -1) return -1;
      lineStart = held === lineStart ? lineStart : Math.max(lineStart, subject.lastIndexOf("\n", held - 1) + 1);
    }
    const newline = subject.indexOf("\n", lineStart);
    const lineEnd = newline === -1 ? subject.length : newline;
    const line = subject.slice(lineStart, Math.min(lineEnd, lineStart + stepCharacters));
    const matcher = expression.matcher(line);
    if (matcher.find()) return lineStart + matcher.start();
    lineStart = lineEnd + 1;
  }
  return -1;
}
