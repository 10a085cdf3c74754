/** Conditions as callers write them, one a line: `state = In Progress`, `assigned_to is empty`, `opened_at > last week`. */
import { failure, type Result, success } from "../lib/result.ts";

export type Operator = "=" | "!=" | ">" | ">=" | "<" | "<=" | "contains" | "not contains" | "starts with";

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
