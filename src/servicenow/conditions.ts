/** Conditions as callers write them, one a line: `state = In Progress`, `assigned_to is empty`, `opened_at > last week`. */
import { excerpt, invalidInput } from "./failure.ts";
import { failure, type Result, success } from "../lib/result.ts";

/** How callers write each operator: by signs, by words, and in encoded queries, there first as this server does. */
const operators = [
  ["=", "= ==", "is|in|on|equals", "=|IN|ON|DYNAMIC"],
  ["!=", "!= <>", "is not|not in", "!=|NOT IN"],
  [">", ">", "after", ">"],
  [">=", ">=", "since", ">="],
  ["<", "<", "before", "<"],
  ["<=", "<=", "", "<="],
  ["contains", "~", "contains|like", "LIKE"],
  ["not contains", "!~", "not contains|does not contain|not like", "NOT LIKE|NOTLIKE"],
  ["starts with", "", "starts with|startswith", "STARTSWITH"],
  ["ends with", "", "ends with|endswith", "ENDSWITH"],
] as const;

export type Operator = typeof operators[number][0];

/** The operators by one of their spellings, the longest first: some begin like others. */
function spelled(spellingsOf: (row: typeof operators[number]) => readonly string[]): ReadonlyMap<string, Operator> {
  const all = operators.flatMap((row) => spellingsOf(row).map((each) => [each, row[0]] as const));
  return new Map(all.filter(([each]) => each !== "").sort(([a], [b]) => b.length - a.length));
}

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

const signs = spelled(([, each]) => each.split(" "));
const words = spelled(([, , each]) => each.split("|"));
const blankValue = /^(is empty|is not empty|isempty|isnotempty)$/i;
/** A name or a label, in any language. */
const field = String.raw`\p{L}[\p{L}\p{M}\w ./-]{0,99}?`;
const blank = "is empty|is not empty|isempty|isnotempty";
const wordOperators = [...words.keys()].join("|");
const withSign = new RegExp(String.raw`^(${field})\s*(!=|<>|>=|<=|==|!~|=|>|<|~)\s*([^]*)$`, "u");
const withBlank = new RegExp(String.raw`^(${field})\s+(${blank})$`, "iu");
const withWord = new RegExp(String.raw`^(${field})\s+(${wordOperators})\s+([^]+)$`, "iu");
const withRange = new RegExp(String.raw`^(${field})\s+(?:is )?between\s+([^]+?)\s+and\s+([^]+)$`, "iu");
/** The operator as an encoded query has it. */
export function encodedOperator(operator: Operator): string {
  return operators.find(([name]) => name === operator)?.[3].split("|")[0] ?? operator;
}

/** Where a further condition begins on the same line: the name of a field without blanks, and an operator. */
const oneWord = String.raw`\p{L}[\p{L}\p{M}\w./-]{0,99}`;
const nextCondition = new RegExp(
  String.raw`;(?=\s*${field}\s*(?:[!<>=]=?|<>|!?~))|` +
    String.raw`\s+(and|or)\s+(?=${oneWord}\s*(?:[!<>]?=|<>|[<>]|!?~|\s(?:${blank}|(?:${wordOperators})\s)))`,
  "giu",
);
/** What begins like a condition: with a name or label before a sign, or with a name that is no word before a word that compares. */
const signed = /^(\p{L}[\p{L}\p{M}\w ]{0,99}?)(?:\.[\w.]+)?\s*(?:[!<>]=|<>|[=<>])\s*\S/u;
const worded = new RegExp(String.raw`^[a-z]\w*[_.][\w.]+\s+(?:${wordOperators}|${blank})(?:\s|$)`);
/** Of a name that may be a word too: words that are hardly ever looked for. */
const spoken = /^(\p{L}\w*)\s+(?:is|contains|starts with|does not contain|in\s*\()\s*\S/u;

/** The field that a text compares first, where it looks like conditions rather than words. */
export function comparedField(text: string): string | null {
  if (!worded.test(text) && !isEncodedQuery(text)) return (signed.exec(text) ?? spoken.exec(text))?.[1] ?? null;
  return /^(?:ORDERBY(?:DESC)?)?([a-z][a-z0-9_]*)/.exec(text)?.[1] ?? null;
}

/** Conditions, and the fields to sort by; a field to descend by begins with "-". */
export function parseConditions(text: string) {
  if (text.length > maxCharacters) throw invalidInput(`where must have at most ${maxCharacters} characters`);
  const lines = text.split(/\r?\n/).flatMap(splitLine).filter(({ text: line }) => line !== "");
  const conditions: Condition[] = [];
  const order: string[] = [];
  let isAfterRange = false;
  for (const { text: line, isAlternative } of lines) {
    const shown = excerpt(line);
    if (isEncodedQuery(line)) {
      const encoded = parseEncodedQuery(line);
      conditions.push(...encoded.conditions);
      order.push(...encoded.order);
      isAfterRange = false;
      continue;
    }
    const [, named = "", from = "", until = ""] = withRange.exec(line) ?? [];
    if (isAlternative && (named !== "" || isAfterRange)) {
      throw invalidInput(`"${shown}" and a range cannot be asked at once by "or": search for each`);
    }
    isAfterRange = named !== "";
    if (named !== "") {
      conditions.push({ field: named, operator: ">=", value: from }, { field: named, operator: "<=", value: until });
      continue;
    }
    const condition = parseCondition(line);
    if (condition === null) {
      throw invalidInput(`"${shown}" is no condition: write one a line, such as state=In Progress`);
    }
    conditions.push(isAlternative ? { ...condition, isAlternative } : condition);
  }
  if (conditions.length > maxConditions) throw invalidInput(`where takes at most ${maxConditions} conditions`);
  return { conditions, order };
}

/** The parts of a line, and whether "or" leads to each. What is in quotes is one value, whatever it looks like. */
function splitLine(line: string) {
  const bare = line.replace(/(?<=[=<>~\s])("[^"]*"|'[^']*')(?=\s|;|$)/g, (quoted) => "_".repeat(quoted.length));
  const parts: { readonly text: string; readonly isAlternative: boolean }[] = [];
  let start = 0;
  let isAlternative = false;
  for (const { 0: joint, 1: word = "", index } of bare.matchAll(nextCondition)) {
    parts.push({ text: line.slice(start, index).trim(), isAlternative });
    start = index + joint.length;
    isAlternative = /or/i.test(word);
  }
  return [...parts, { text: line.slice(start).trim(), isAlternative }];
}

/** Several values, each in quotes. */
const quotedValues = /^(?:(["'])(?:(?!\1)[^,|])+\1(?:\s*(?:[,|]|\bor\b)\s*(?=["'])|$)){2,}$/i;

function parseCondition(line: string): Condition | null {
  const [, emptyField, emptiness = ""] = withBlank.exec(line) ?? [];
  if (emptyField !== undefined) {
    return { field: emptyField, operator: /not/i.test(emptiness) ? "is not empty" : "is empty", value: "" };
  }
  const [, wordField, word = "", wordValue = ""] = withWord.exec(line) ?? [];
  // A sign after a word that compares is part of the value; the words of a label can be such words too.
  const isWord = wordField !== undefined && (/contain|like|starts|ends/i.test(word) || /^\w*[_.]\w+$/.test(wordField));
  const [, signField, sign = "", signValue = ""] = isWord ? [] : withSign.exec(line) ?? [];
  const named = signField ?? wordField;
  const operator = signs.get(sign) ?? words.get(word.toLowerCase());
  if (named === undefined || operator === undefined) return null;
  const given = (signField === undefined ? wordValue : signValue).trim();
  const unquoted = given.replace(/^(["'])((?:(?!\1).)*)\1$/, "$2");
  // as in SQL and in lists: %vpn% and *vpn* are within the text, vpn* begins it
  const isLike = /like$/i.test(word);
  const pattern = isLike ? /^([%*]*)([^%*]+)([%*]*)$/ : /^(\**)([^*]+)(\**)$/;
  const [, open = "", within, close = ""] = isLike || unquoted === given ? pattern.exec(unquoted) ?? [] : [];
  if (within !== undefined && open + close !== "" && /^(=|contains)$/.test(operator)) {
    const meant = open === "" ? "starts with" : close === "" ? "ends with" : "contains";
    return { field: named, operator: meant, value: within, listed: "never" };
  }
  const value = isLike && (open === "") === (close === "") ? within ?? unquoted : unquoted;
  if (value === "" || blankValue.test(value) || /^(empty|no one|none|null|unassigned)$/i.test(value)) {
    const isNegative = operator === "!=" || /not/i.test(blankValue.exec(value)?.[0] ?? "");
    return { field: named, operator: isNegative ? "is not empty" : "is empty", value: "" };
  }
  if (value !== given) return { field: named, operator, value, listed: "never" };
  const isIn = /^(not )?in$/i.test(word);
  const isQuoted = quotedValues.test(value);
  if (!isIn && !isQuoted && !/contains$/.test(operator)) return { field: named, operator, value };
  const list = value.replace(isIn ? /^[([]([^]*)[)\]]$/ : /^\((.*)\)$/, "$1");
  const plain = isIn || isQuoted ? list.replace(/(["'])((?:(?!\1).)*)\1(?=\s*(?:[,|]|\bor\b|$))/gi, "$2") : list;
  return { field: named, operator, value: plain, listed: "words" };
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

export const newestFirst = "ORDERBYDESCsys_updated_on";

/** Values as parts of a query; the first that cannot be one is refused, as part of what `name` says. */
export function toQueryValues(texts: readonly string[], name: string): readonly string[] {
  return texts.map((text) => {
    const value = toQueryValue(text);
    if (!value.ok) throw invalidInput(`${name} ${value.error}`);
    return value.value;
  });
}

/** The terms of a query; an empty one asks nothing. */
export function allOf(...terms: readonly string[]): string {
  return terms.filter((term) => term !== "").join("^");
}

/** `^OR` binds to the term before it. */
export function anyOf(terms: readonly string[]): string {
  return terms.join("^OR");
}

// Encoded queries as agents of other servers write them (`active=true^priority=1^ORDERBYDESCopened_at`), as conditions
// of our own: fields, operators and values are resolved like any others, and no script is run.

const encodedOperators: ReadonlyMap<string, Condition["operator"]> = new Map([
  ...[["ISNOTEMPTY", "is not empty"], ["ISEMPTY", "is empty"]] as const,
  ...spelled(([, , , each]) => each.split("|")),
]);
const encodedSigns = [...encodedOperators.keys()];
const encodedWords = encodedSigns.filter((name) => /[A-Z]/.test(name)).join("|");
const encodedTerm = new RegExp(`^([a-z][a-z0-9_.]*)(${encodedSigns.join("|")})([^]*)$`);
/** A further term: as part of a value it would be looked for, and found nowhere. */
const furtherTerm = /\^\s*(?:(?:EQ)?$|ORDERBY|GROUPBY|(?:OR|NQ)?[a-z][\w.]*\s*(?:=|!=|[<>]|[A-Z]{2,}))/;
const firstTerm = new RegExp(
  String.raw`^(?:ORDERBY[a-zD]|[a-z][a-z0-9_.]*(?:${encodedWords}|BETWEEN|(?:[<>]=?|!?=)\s*javascript:\s*gs\.))`,
);

/** What the base system names by an id (product documentation "Dynamic filter options"). */
const dynamicValues: Readonly<Record<string, string>> = {
  "90d1921e5f510100a9ad2572f2b477fe": "me",
  d6435e965f510100a9ad2572f2b47744: "my groups",
};

function isEncodedQuery(line: string): boolean {
  return firstTerm.test(line) || (furtherTerm.test(line) && !/["']$/.test(line));
}

/** `opened_atBETWEEN2026-03-01@2026-03-07`, which no alternative can be part of. */
const encodedRange = /^(OR)?([a-z][\w.]*?)BETWEEN([^@]+)@([^@]+)$/;

function parseEncodedQuery(given: string) {
  const conditions: Condition[] = [];
  const order: string[] = [];
  const terms = given.replaceAll("^^", "\0").split("^").map((each) => each.trim());
  const parts = terms.flatMap((term, at) => {
    const [, or, field, from, until] = encodedRange.exec(term) ?? [];
    if (field === undefined) return [term];
    if (or !== undefined || /^OR[a-z]/.test(terms[at + 1] ?? "")) {
      throw invalidInput(`"${excerpt(term)}" cannot be asked at once by "or": search for each`);
    }
    return [`${field}>=${from}`, `${field}<=${until}`];
  });
  for (const part of parts) {
    if (part === "" || part === "EQ") continue;
    const [, descending, ordered] = /^ORDERBY(DESC)?([a-z][\w.]*)$/.exec(part) ?? [];
    if (ordered !== undefined) {
      order.push(descending === undefined ? ordered : `-${ordered}`);
      continue;
    }
    const isAlternative = /^OR[a-z]/.test(part);
    const [, field = "", sign = "", text = ""] = encodedTerm.exec(isAlternative ? part.slice(2) : part) ?? [];
    const operator = encodedOperators.get(sign);
    const given = text.replaceAll("\0", "^").trim();
    const [period = ""] = given.split("@"); // ON has the name of its period before its bounds
    const named = sign === "ON" ? period : sign === "DYNAMIC" ? dynamicValues[given] : given;
    const value = plainValue(operator, named);
    if (operator === undefined || value === undefined || (value === "" && !/EMPTY$|^!?=$/.test(sign))) {
      throw invalidInput(
        `"${excerpt(part)}" of the encoded query is not understood here: ` +
          (part.startsWith("NQ")
            ? "^NQ joins two queries: search for each"
            : "write one condition a line, such as state=In Progress, opened_at>=last week"),
      );
    }
    const isEmptiness = /^(NULL)?$/.test(value) && /^!?=$/.test(operator);
    conditions.push({
      field,
      operator: isEmptiness ? operator === "=" ? "is empty" : "is not empty" : operator,
      value: isEmptiness ? "" : value,
      ...(isAlternative ? { isAlternative } : {}),
      ...(/IN$/.test(sign) ? { listed: "words" } : operator.endsWith("contains") ? { listed: "never" } : {}),
    });
  }
  return { conditions, order };
}

/** Scripts that name the person, their groups or a day, in our own words; `undefined` for every other. */
function plainValue(operator: string | undefined, text: string | undefined): string | undefined {
  const [, script] = /^javascript:\s*([^]*?);?$/i.exec(text ?? "") ?? [];
  if (script === undefined) return text;
  if (script === "gs.getUserID()") return "me";
  if (/^(gs\.getUser\(\)\.)?getMyGroups\(\)$/.test(script)) return "my groups";
  const [, length] = /^gs\.getDurationDate\(['"]([\d :]+)['"]\)$/.exec(script) ?? [];
  if (length !== undefined) return length;
  const isFirst = operator === ">=" || operator === "<";
  const isLast = operator === "<=" || operator === ">";
  const [, edge, which, unit] = /^gs\.(beginning|end)Of(This|Last|Next)?(Today|Yesterday|Week|Month|Year)\(\)$/
    .exec(script) ?? [];
  if (unit !== undefined) {
    return (edge === "end" ? isLast : isFirst) ? [which, unit].join(" ").trim().toLowerCase() : undefined;
  }
  const [, units = "", side, count] = /^gs\.(days|hours|minutes)Ago(Start|End)?\((\d{1,4})\)$/.exec(script) ?? [];
  if (count === undefined || (side === "Start" && !isFirst) || (side === "End" && !isLast)) return undefined;
  return units === "days" && side === undefined ? `${Number(count) * 24} hours ago` : `${count} ${units} ago`;
}
