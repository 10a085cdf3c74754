/** What a caller may have meant by a query that finds nothing. */
import type { LineQuery } from "../text/line_pattern.ts";
import { showWritten } from "../workspace/file_display.ts";
import type { Notice } from "./list_walk.ts";

/** What plain text seldom holds, and expressions do: `a|b`, `.*`, `\d`, `\.`, `[a-z]`, `x{2}`, `(?i)`, `^x`, `x$`. */
const expressionLike = [
  /[^\s|]\|[^\s|]/,
  /[.)\]][*+?]/,
  /\\[bdswBDSW.()[\]{}|+*?^$]/,
  /\[[^\]\s]*(?:[a-z]-[a-z]|[A-Z]-[A-Z]|\d-\d)/,
  /\{\d+,?\d*\}/,
  /\(\?/,
  /^\^./,
  /.\$$/,
];

/** `/x/i`, as in other languages. */
const slashed = /^\/(.+)\/([dgimsuvy]*)$/;
/** What is a line end alone, as `\n`, or wants to go over one, as `(?s)`; plain text may be a path, as `C:\new`. */
const lineEnds = /(?<!\\)(?:\\\\)*\\(?:n|x0a)|\(\?[imU]*s[imU]*[:)]/i;
const plainLineEnds = /\\n(?!\w)/;
const mayBeLineEnd = /\\[sDSW]|\[\^/;
const byLine = "each line is searched by itself: search for one of its lines, with context for those around it";

/** To be shown where nothing was found; `null` where the query says what it means. */
export function hintFor(query: string, { regex }: { readonly regex: boolean }): Notice | null {
  const [, inner = "", flags = ""] = slashed.exec(query) ?? [];
  const isLikeOne = (text: string): boolean => expressionLike.some((sign) => sign.test(text));
  if (inner !== "" && (regex || flags !== "" || isLikeOne(inner))) {
    const caseless = flags.includes("i") ? ", ignore_case: true" : "";
    return remedy(`write the expression without slashes: query ${showWritten(inner)}, regex: true${caseless}`);
  }
  if ((regex ? lineEnds : plainLineEnds).test(query)) return remedy(byLine);
  if (!regex) return isLikeOne(query) ? remedy("searched as plain text; pass regex: true for an expression") : null;
  if (query.includes("\\|")) return remedy("in RE2 \\| is a plain |; write | for alternatives");
  return mayBeLineEnd.test(query) ? { words: byLine, isRemedy: false } : null;
}

function remedy(words: string): Notice {
  return { words, isRemedy: true };
}

/** The query but for what slips: case, straight and curly quotes, dashes, whole words; `null` where it has none of these. */
export function relaxedQuery(
  query: string,
  { regex, ignore_case: ignoreCase, whole_word: wholeWord, mayHaveOtherCase }: {
    readonly regex: boolean;
    readonly ignore_case: boolean;
    readonly whole_word: boolean;
    readonly mayHaveOtherCase: boolean;
  },
): LineQuery | null {
  if (regex) return null;
  const text = query.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&")
    .replace(/['‘’‚′]/g, "['‘’‚′]").replace(/["“”„″]/g, '["“”„″]').replace(/[-‐‑‒–—−]/g, "[-‐‑‒–—−]");
  const hasSigns = /['‘’‚′"“”„″‐‑‒–—−-]/.test(query);
  const hasCase = !ignoreCase && mayHaveOtherCase && query.toLowerCase() !== query.toUpperCase();
  return hasSigns || hasCase || wholeWord ? { text, isRegularExpression: true, ignoreCase: true } : null;
}
