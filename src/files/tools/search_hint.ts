/** What a caller may have meant by a query that finds nothing. */

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
