/**
 * Patterns for searching text line by line, in time proportional to the text: plain text, or regular expressions in
 * RE2's syntax, which has no backreferences and no look-around and never backtracks.
 */
import { failure, type Result, success } from "../lib/result.ts";

/** Finds lines that match. */
export interface LinePattern {
  /** The offset of the first match in the lines from `from` on, which is the start of a line; or -1. */
  find(text: string, from: number): number;
}

/** What a caller searches for. */
export interface LineQuery {
  readonly text: string;
  readonly isRegularExpression: boolean;
  readonly ignoreCase: boolean;
}

/** Why a query cannot be used; `detail` is the expression's error in words. */
export type LineQueryRefusal =
  | { readonly reason: "empty" | "too_long" | "several_lines" }
  | { readonly reason: "invalid_expression"; readonly detail: string };

const maxQueryLength = 1000;

/** Prepares a query. The engine for expressions is loaded when it is first needed. */
export async function createLinePattern(query: LineQuery): Promise<Result<LinePattern, LineQueryRefusal>> {
  const { text, isRegularExpression, ignoreCase } = query;
  if (text === "") return failure({ reason: "empty" });
  if (text.length > maxQueryLength) return failure({ reason: "too_long" });
  if (text.includes("\n")) return failure({ reason: "several_lines" });
  if (!isRegularExpression && !ignoreCase) return success({ find: (subject, from) => subject.indexOf(text, from) });
  const { RE2JS, RE2JSException } = await import("re2js");
  try {
    const flags = RE2JS.MULTILINE | (ignoreCase ? RE2JS.CASE_INSENSITIVE : 0);
    const expression = RE2JS.compile(isRegularExpression ? text : RE2JS.quote(text), flags);
    return success({ find: (subject, from) => findInLines(expression, subject, from) });
  } catch (error) {
    if (!(error instanceof RE2JSException)) throw error;
    return failure({ reason: "invalid_expression", detail: error.message });
  }
}

interface Expression {
  matcher(subject: string): { find(): boolean; start(): number };
}

/** Each line on its own: a search across lines could run through the rest of the text again for every line. */
function findInLines(expression: Expression, subject: string, from: number): number {
  for (let lineStart = from; lineStart < subject.length;) {
    const newline = subject.indexOf("\n", lineStart);
    const lineEnd = newline === -1 ? subject.length : newline;
    const matcher = expression.matcher(subject.slice(lineStart, lineEnd));
    if (matcher.find()) return lineStart + matcher.start();
    lineStart = lineEnd + 1;
  }
  return -1;
}
