/** What a caller may have meant by a query that finds nothing. */

/** What plain text seldom holds, and expressions do: `a|b`, `.*`, `\\d`, `[a-z]`, `x{2}`, `(?i)`, `^x`, `x$`. */
const expressionLike =
  /[^\s|]\|[^\s|]|[.)\]][*+?]|\\[a-zA-Z.()[\]{}|+*?^$\\/-]|\[[^\]\s]*\]|\{\d+,?\d*\}|\(\?|^\^.|.\$$/;
/** Alternatives as grep has them without -E. */
const basicExpression = /\\[|()+?{}]/;

interface SearchedAs {
  readonly regex: boolean;
}

/** To be shown where nothing was found; `null` where the query says what it means. */
export function hintFor(query: string, { regex }: SearchedAs): string | null {
  if (!regex) return expressionLike.test(query) ? "searched as plain text; pass regex: true for an expression" : null;
  return basicExpression.test(query) ? "in RE2 a backslash makes | ( ) + ? { } plain characters; leave it out" : null;
}
