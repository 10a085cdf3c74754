/** What a caller may have meant by a query that finds nothing. */
import type { LineQuery } from "../text/line_pattern.ts";

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

/** To be shown where nothing was found; `null` where the query says what it means. */
export function hintFor(query: string, { regex }: { readonly regex: boolean }): string | null {
  if (regex) return query.includes("\\|") ? "in RE2 \\| is a plain |; write | for alternatives" : null;
  const looksLikeOne = expressionLike.some((sign) => sign.test(query));
  return looksLikeOne ? "searched as plain text; pass regex: true for an expression" : null;
}

/** The query but for what slips: case, straight and curly quotes, dashes, whole words; `null` where it has none of these. */
export function relaxedQuery(
  query: string,
  { regex, ignore_case: ignoreCase, whole_word: wholeWord }: {
    readonly regex: boolean;
    readonly ignore_case: boolean;
    readonly whole_word: boolean;
  },
): LineQuery | null {
  if (regex) return null;
  const text = query.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&")
    .replace(/['‘’‚′]/g, "['‘’‚′]").replace(/["“”„″]/g, '["“”„″]').replace(/[-‐‑‒–—−]/g, "[-‐‑‒–—−]");
  const hasSigns = /['‘’‚′"“”„″‐‑‒–—−-]/.test(query);
  const hasCase = !ignoreCase && query.toLowerCase() !== query.toUpperCase();
  return hasSigns || hasCase || wholeWord ? { text, isRegularExpression: true, ignoreCase: true } : null;
}
