/** Values as parts of encoded queries. Fields and operators are this server's own; a value can be nothing but a value. */
import { failure, type Result, success } from "../lib/result.ts";

const maxValueCharacters = 200;

/**
 * A value as part of a query: one line, `^` as `^^`. Refuses what begins like a script: the instance evaluates
 * `javascript:` values.
 */
export function toQueryValue(text: string): Result<string, string> {
  const value = text.replace(/[\p{Cc}\p{Cf}\u2028\u2029]+/gu, " ").trim();
  if (value === "") return failure("must not be empty");
  if (value.length > maxValueCharacters) return failure(`must have at most ${maxValueCharacters} characters`);
  if (/^javascript\s*:/i.test(value)) return failure("must not be a script");
  return success(value.replaceAll("^", "^^"));
}

/** `^OR` binds to the term before it. */
export function anyOf(terms: readonly string[]): string {
  return terms.join("^OR");
}
