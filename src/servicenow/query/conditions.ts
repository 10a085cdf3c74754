/** Conditions as callers write them, one a line: `state = In Progress`, `assigned_to is empty`, `opened_at > last week`. */
import { failure, type Result, success } from "../../lib/result.ts";

export type Operator = "=" | "!=" | ">" | ">=" | "<" | "<=" | "contains" | "not contains" | "starts with";

export interface Condition {
  readonly field: string;
  readonly operator: Operator | "is empty" | "is not empty";
  readonly value: string;
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
  "starts with": "starts with",
  "startswith": "starts with",
  "after": ">",
  "before": "<",
  "since": ">=",
};
const blankValue = /^(is empty|is not empty|isempty|isnotempty)$/i;
const withSign = /^([A-Za-z][\w .]{0,99}?)\s*(!=|<>|>=|<=|==|!~|=|>|<|~)\s*([^]*)$/;
const withBlank = /^([A-Za-z][\w .]{0,99}?)\s+(is empty|is not empty|isempty|isnotempty)$/i;
const withWord =
  /^([A-Za-z][\w .]{0,99}?)\s+(is not|not in|does not contain|not contains|contains|starts with|startswith|after|before|since|is|in)\s+([^]+)$/i;

export function parseConditions(text: string): Result<readonly Condition[], string> {
  if (text.length > maxCharacters) return failure(`where must have at most ${maxCharacters} characters`);
  const lines = text.split(/\r?\n|;(?=\s*[A-Za-z][\w .]{0,99}?\s*(?:!=|<>|>=|<=|=|>|<|~))/)
    .map((line) => line.trim()).filter((line) => line !== "");
  if (lines.length > maxConditions) return failure(`where takes at most ${maxConditions} conditions`);
  const conditions: Condition[] = [];
  for (const line of lines) {
    const condition = parseCondition(line);
    if (condition === null) {
      return failure(
        `"${line.slice(0, 80).toWellFormed()}" is no condition: write one a line, such as state=In Progress`,
      );
    }
    conditions.push(condition);
  }
  return success(conditions);
}

function parseCondition(line: string): Condition | null {
  const [, emptyField, emptiness = ""] = withBlank.exec(line) ?? [];
  if (emptyField !== undefined) {
    return { field: emptyField, operator: /not/i.test(emptiness) ? "is not empty" : "is empty", value: "" };
  }
  const [, signField, sign = "", signValue = ""] = withSign.exec(line) ?? [];
  const [, wordField, word = "", wordValue = ""] = signField === undefined ? withWord.exec(line) ?? [] : [];
  const field = signField ?? wordField;
  const operator = signs[sign] ?? words[word.toLowerCase()];
  if (field === undefined || operator === undefined) return null;
  const given = (signField === undefined ? wordValue : signValue).trim();
  const value = given.replace(/^(["'])(.*)\1$/, "$2");
  if (value === "" || blankValue.test(value) || /^(empty|no one|none|null|unassigned)$/i.test(value)) {
    const isNegative = operator === "!=" || /not/i.test(blankValue.exec(value)?.[0] ?? "");
    return { field, operator: isNegative ? "is not empty" : "is empty", value: "" };
  }
  if (value !== given) return { field, operator, value, listed: "never" };
  const isList = /^(not )?in$/i.test(word) || /contains$/.test(operator);
  return isList
    ? { field, operator, value: value.replace(/^\((.*)\)$/, "$1"), listed: "words" }
    : { field, operator, value };
}
