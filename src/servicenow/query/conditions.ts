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
const withSign = /^([A-Za-z][\w .]{0,99}?)\s*(!=|<>|>=|<=|==|!~|=|>|<|~)\s*([^]*)$/;
const withBlank = /^([A-Za-z][\w .]{0,99}?)\s+(is empty|is not empty|isempty|isnotempty)$/i;
const withWord =
  /^([A-Za-z][\w .]{0,99}?)\s+(is not|not in|does not contain|not contains|not like|contains|like|starts with|startswith|after|before|since|is|in|on)\s+([^]+)$/i;
const withRange = /^([A-Za-z][\w .]{0,99}?)\s+(?:is )?between\s+([^]+?)\s+and\s+([^]+)$/i;
/** Where a further condition begins on the same line. */
const nextCondition =
  /;(?=\s*[A-Za-z][\w .]{0,99}?\s*(?:[!<>=]=?|<>|!?~))|\s+and\s+(?=[A-Za-z][\w.]{0,99}\s*(?:[!<>]?=|<>|[<>]|!?~|\s(?:is|in|not in|contains|starts with|after|before|since)\s))/gi;
/** A further term of an encoded query: as part of a value it would be looked for, and found nowhere. */
const encodedTerm = /\^(?:ORDERBY|GROUPBY|(?:OR|NQ)?[a-z][\w.]*\s*(?:=|!=|[<>]|[A-Z]{2,}))/;

export function parseConditions(text: string): Result<readonly Condition[], string> {
  if (text.length > maxCharacters) return failure(`where must have at most ${maxCharacters} characters`);
  const lines = text.split(/\r?\n/).flatMap(splitLine).map((line) => line.trim()).filter((line) => line !== "");
  if (lines.length > maxConditions) return failure(`where takes at most ${maxConditions} conditions`);
  const conditions: Condition[] = [];
  for (const line of lines) {
    if (encodedTerm.test(line) && !/["']$/.test(line)) {
      return failure(`"${line.slice(0, 80).toWellFormed()}" looks like an encoded query: write one condition a line`);
    }
    const [, field = "", from = "", until = ""] = withRange.exec(line) ?? [];
    if (field !== "") {
      conditions.push({ field, operator: ">=", value: from }, { field, operator: "<=", value: until });
      continue;
    }
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

/** What is in quotes is one value, whatever it looks like. */
function splitLine(line: string): readonly string[] {
  const bare = line.replace(/(?<=[=<>~\s])("[^"]*"|'[^']*')(?=\s|;|$)/g, (quoted) => "_".repeat(quoted.length));
  const parts: string[] = [];
  let start = 0;
  for (const { 0: joint, index } of bare.matchAll(nextCondition)) {
    parts.push(line.slice(start, index));
    start = index + joint.length;
  }
  return [...parts, line.slice(start)];
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
