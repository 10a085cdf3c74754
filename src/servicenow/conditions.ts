/** Conditions as callers write them, one a line: `state = In Progress`, `assigned_to is empty`, `opened_at > last week`. */
import { failure, type Result, success } from "../lib/result.ts";
import { invalidInput, type ServicenowFailure } from "./failure.ts";

type Operator = "=" | "!=" | ">" | ">=" | "<" | "<=" | "contains" | "not contains" | "starts with";

export interface Condition {
  readonly field: string;
  readonly operator: Operator | "is empty" | "is not empty";
  readonly value: string;
  /** Whether it is enough that this one holds instead of the one before. */
  readonly isAlternative?: boolean;
  /** How the value lists alternatives: `a|b` always, after `in` and `contains` by commas or "or" too, in quotes not at all. */
  readonly listed?: "words" | "never";
}

const maxConditions = 20;
const maxCharacters = 4_000;

const signs: Readonly<Record<string, Operator>> = {
  "=": "=",
  "==": "=",
  "!=": "!=",
  "<>": "!=",
  ">": ">",
  ">=": ">=",
  "<": "<",
  "<=": "<=",
  "~": "contains",
  "!~": "not contains",
};
const words: Readonly<Record<string, Operator>> = {
  "is not": "!=",
  "is": "=",
  "in": "=",
  "not in": "!=",
  "does not contain": "not contains",
  "not contains": "not contains",
  "contains": "contains",
  "not like": "not contains",
  "like": "contains",
  "on": "=",
  "starts with": "starts with",
  "startswith": "starts with",
  "after": ">",
  "before": "<",
  "since": ">=",
};
const blankValue = /^(is empty|is not empty|isempty|isnotempty)$/i;
/** A name or a label, in any language. */
const field = String.raw`\p{L}[\p{L}\p{M}\w ./-]{0,99}?`;
const blank = "is empty|is not empty|isempty|isnotempty";
const wordOperators = Object.keys(words).join("|");
const withSign = new RegExp(String.raw`^(${field})\s*(!=|<>|>=|<=|==|!~|=|>|<|~)\s*([^]*)$`, "u");
const withBlank = new RegExp(String.raw`^(${field})\s+(${blank})$`, "iu");
const withWord = new RegExp(String.raw`^(${field})\s+(${wordOperators})\s+([^]+)$`, "iu");
const withRange = new RegExp(String.raw`^(${field})\s+(?:is )?between\s+([^]+?)\s+and\s+([^]+)$`, "iu");
/** Where a further condition begins on the same line: the name of a field without blanks, and an operator. */
const oneWord = String.raw`\p{L}[\p{L}\p{M}\w./-]{0,99}`;
const nextCondition = new RegExp(
  String.raw`;(?=\s*${field}\s*(?:[!<>=]=?|<>|!?~))|` +
    String.raw`\s+(and|or)\s+(?=${oneWord}\s*(?:[!<>]?=|<>|[<>]|!?~|\s(?:${blank}|(?:${wordOperators})\s)))`,
  "giu",
);
/** A further term of an encoded query: as part of a value it would be looked for, and found nowhere. */
const encodedTerm = /\^(?:ORDERBY|GROUPBY|(?:OR|NQ)?[a-z][\w.]*\s*(?:=|!=|[<>]|[A-Z]{2,}))/;

export function parseConditions(text: string): Result<readonly Condition[], string> {
  if (text.length > maxCharacters) return failure(`where must have at most ${maxCharacters} characters`);
  const lines = text.split(/\r?\n/).flatMap(splitLine).filter(({ text: line }) => line !== "");
  if (lines.length > maxConditions) return failure(`where takes at most ${maxConditions} conditions`);
  const conditions: Condition[] = [];
  let isAfterRange = false;
  for (const { text: line, isAlternative } of lines) {
    const shown = line.slice(0, 80).toWellFormed();
    if (encodedTerm.test(line) && !/["']$/.test(line)) {
      return failure(`"${shown}" looks like an encoded query: write one condition a line`);
    }
    const [, named = "", from = "", until = ""] = withRange.exec(line) ?? [];
    if (isAlternative && (named !== "" || isAfterRange)) {
      return failure(`"${shown}" and a range cannot be asked at once by "or": search for each`);
    }
    isAfterRange = named !== "";
    if (named !== "") {
      conditions.push({ field: named, operator: ">=", value: from }, { field: named, operator: "<=", value: until });
      continue;
    }
    const condition = parseCondition(line);
    if (condition === null) {
      return failure(`"${shown}" is no condition: write one a line, such as state=In Progress`);
    }
    conditions.push(isAlternative ? { ...condition, isAlternative } : condition);
  }
  return success(conditions);
}

/** A part of a line, and whether "or" leads to it. */
interface LinePart {
  readonly text: string;
  readonly isAlternative: boolean;
}

/** What is in quotes is one value, whatever it looks like. */
function splitLine(line: string): readonly LinePart[] {
  const bare = line.replace(/(?<=[=<>~\s])("[^"]*"|'[^']*')(?=\s|;|$)/g, (quoted) => "_".repeat(quoted.length));
  const parts: LinePart[] = [];
  let start = 0;
  let isAlternative = false;
  for (const { 0: joint, 1: word = "", index } of bare.matchAll(nextCondition)) {
    parts.push({ text: line.slice(start, index).trim(), isAlternative });
    start = index + joint.length;
    isAlternative = /or/i.test(word);
  }
  return [...parts, { text: line.slice(start).trim(), isAlternative }];
}

function parseCondition(line: string): Condition | null {
  const [, emptyField, emptiness = ""] = withBlank.exec(line) ?? [];
  if (emptyField !== undefined) {
    return { field: emptyField, operator: /not/i.test(emptiness) ? "is not empty" : "is empty", value: "" };
  }
  const [, signField, sign = "", signValue = ""] = withSign.exec(line) ?? [];
  const [, wordField, word = "", wordValue = ""] = signField === undefined ? withWord.exec(line) ?? [] : [];
  const named = signField ?? wordField;
  const operator = signs[sign] ?? words[word.toLowerCase()];
  if (named === undefined || operator === undefined) return null;
  const given = (signField === undefined ? wordValue : signValue).trim();
  const value = given.replace(/^(["'])(.*)\1$/, "$2");
  if (value === "" || blankValue.test(value) || /^(empty|no one|none|null|unassigned)$/i.test(value)) {
    const isNegative = operator === "!=" || /not/i.test(blankValue.exec(value)?.[0] ?? "");
    return { field: named, operator: isNegative ? "is not empty" : "is empty", value: "" };
  }
  if (value !== given) return { field: named, operator, value, listed: "never" };
  const isList = /^(not )?in$/i.test(word) || /contains$/.test(operator);
  return isList
    ? { field: named, operator, value: value.replace(/^\((.*)\)$/, "$1"), listed: "words" }
    : { field: named, operator, value };
}

// Values as parts of encoded queries. Fields and operators are this server's own; a value can be nothing but a value.

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

// Terms of encoded queries: text, true or false, and one of several values.

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
