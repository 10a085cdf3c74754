/** Terms of encoded queries: text, true or false, and one of several values. */
import { type Result, success } from "../lib/result.ts";
import { invalidInput, type ServicenowFailure } from "./failure.ts";
import type { Condition, Operator } from "./conditions.ts";
import { anyOf, toQueryValue } from "./query_value.ts";

/** A condition that compares with a value. */
export interface Comparison extends Pick<Condition, "value" | "listed"> {
  readonly operator: Operator;
}

/** A term, and the same in words. */
export type Term = Result<{ readonly term: string; readonly words: string }, ServicenowFailure>;

const encoded: Readonly<Record<Operator, string>> = {
  "=": "=",
  "!=": "!=",
  ">": ">",
  ">=": ">=",
  "<": "<",
  "<=": "<=",
  "contains": "LIKE",
  "not contains": "NOT LIKE",
  "starts with": "STARTSWITH",
};

export function textTerm(path: string, { operator, value, listed }: Comparison): Term {
  const separator = listed === "never" ? null : listed === "words" ? /\s*(?:\||,|\bor\b)\s*/i : /\s*\|\s*/;
  const parts = separator === null ? [value] : value.split(separator).filter((part) => part !== "");
  const values: string[] = [];
  for (const part of parts) {
    const checked = toQueryValue(part);
    if (!checked.ok) return invalidInput(`${path} ${checked.error}`);
    values.push(checked.value);
  }
  if (values.length === 0) return invalidInput(`${path} must not be empty`);
  return /^[<>]/.test(operator) && values.length > 1
    ? invalidInput(`${path} ${operator} takes one value`)
    : termsOf(path, operator, values, parts.map((part) => part.trim()));
}

export function booleanTerm(path: string, operator: Operator, value: string): Term {
  const isTrue = /^(true|yes|y|1|on)$/i.test(value);
  if (!isTrue && !/^(false|no|n|0|off)$/i.test(value)) return invalidInput(`${path} is true or false`);
  if (operator !== "=" && operator !== "!=") return invalidInput(`${path} is true or false: use =`);
  const wanted = String(isTrue === (operator === "="));
  return success({ term: `${path}=${wanted}`, words: `${path} is ${wanted}` });
}

/** One term for several values: any of them, or none of them. */
export function termsOf(
  path: string,
  operator: Operator,
  values: readonly string[],
  labels: readonly string[],
): Term {
  const checked = values.map((value) => `${path}${encoded[operator]}${value}`);
  const isNegative = operator === "!=" || operator === "not contains";
  const term = isNegative ? checked.join("^") : anyOf(checked);
  const verb = operator === "=" ? "is" : operator === "!=" ? "is not" : operator;
  return success({ term, words: `${path} ${verb} ${labels.join(isNegative ? " nor " : " or ")}` });
}
