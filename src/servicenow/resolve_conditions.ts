/** Conditions in people's words become terms of an encoded query. What cannot be resolved is an error, never "none". */
import { isNumber, truthOf } from "./field_values.ts";
import { knownTable, namingFields, numbersOf, tableNameOf } from "./tables.ts";
import { anyOf, type DeskParts, toQueryValues } from "./table_api.ts";
import { attempt, excerpt, invalidInput } from "./failure.ts";
import {
  choicesOfColumn,
  type ColumnChoices,
  labelOf,
  listChoices,
  notAmongKnown,
  offeredChoices,
  resolvedStates,
  unlistedChoice,
  valuesOfChoice,
} from "./choices.ts";
import { columnNamed, columnsOf, findColumn, type FoundColumn, isNumeric } from "./columns.ts";
import { delegatorsOf, myGroups, type Reference, resolveReference } from "./find_record.ts";
import { datesOf, lengthTypes, lengthWords, parseLength, queryMoment } from "./dates.ts";

/** A condition that compares with a value. */
type Comparison = Condition & { readonly operator: Operator };

/** A term of a query, and the same in words. */
type Term = Readonly<Record<"term" | "words", string>>;

const dateTypes = /^(glide_date|glide_date_time|due_date|date|datetime|schedule_date_time|glide_utc_time)$/;
const journalTypes = /^journal/;
const furtherCondition = /^\s*(\p{L}[\p{L}\w ]*?)(?:\.[\w.]+)?\s*(?:[<>!]?=|[<>]|\sis (?:not )?empty)/u;

/** What lines of conditions ask of a table: terms of a query, the same in words, and what they are about. */
export async function resolveConditions(parts: DeskParts, table: string, where: string) {
  const { conditions, order } = parseConditions(where);
  const [terms, understood]: [string[], string[]] = [[], []];
  /**
   * Fields that conditions are about. `isFilled`: each row that fits has something in it; `through`: the reference that
   * leads to it, without which a row has no such field, empty where none does.
   */
  const checked: { readonly path: string; readonly isFilled: boolean; readonly through: string }[] = [];
  /** The first condition whose value was split at its bars, written with the whole value in quotes. */
  let quoted: string | undefined;
  for (const [index, condition] of conditions.entries()) {
    const found = await findColumn(parts, table, condition.field);
    await refuseFurther(parts, table, condition);
    const { path, column, owner } = found;
    const { term, words: meant } = await conditionTerm(parts, found, condition);
    const isText = /^(string|html)$/.test(column.type) && column.choice !== "list" && column.name !== "number";
    if (isText && condition.listed !== "never" && condition.parts === undefined && condition.value.includes("|")) {
      quoted ??= `${path} ${condition.operator} "${condition.value}"`;
    }
    const isKnown = owner.columns.some(({ name }) => name === column.name);
    const words = isKnown ? meant : `${meant} (whether there is such a field is not known here)`;
    const isAlone = condition.isAlternative !== true && conditions[index + 1]?.isAlternative !== true;
    const isFilled = isAlone && !/^!=$|^not|^is empty$/.test(condition.operator);
    checked.push({ path, isFilled, through: path.slice(0, Math.max(0, path.lastIndexOf("."))) });
    const [before = "", said = ""] = [terms.at(-1), understood.at(-1)];
    if (condition.isAlternative !== true) {
      terms.push(term);
      understood.push(words);
    } else if (isOneTerm(before) && isOneTerm(term)) {
      terms[terms.length - 1] = anyOf([before, term]);
      understood[understood.length - 1] = `${said} or ${words}`;
    } else throw invalidInput(`"${said} or ${words}" cannot be asked at once: search for each`);
  }
  refuseEmptyRange(terms, understood);
  const nameField = knownTable(table)?.nameFields[0];
  /** A name that a condition asks for. */
  const named = conditions.find(({ field, operator }) => operator === "=" && field.trim() === nameField)?.value;
  return { terms, understood, checked, order, named, quoted };
}

/** Refuses a value that goes on with a condition on a field of the table: it would be looked for as text. */
async function refuseFurther(parts: DeskParts, table: string, { field, value, listed }: Condition): Promise<void> {
  const [, ...rest] = listed === "never" ? [] : value.split(/[,;&]|\s(?:and|or)\s/i);
  for (const part of rest) {
    const [, name = ""] = furtherCondition.exec(part) ?? [];
    if (name === "" || columnNamed(await columnsOf(parts, table), name) === undefined) continue;
    throw invalidInput(
      `"${excerpt(part)}" in the value of ${field} looks like a condition: give each condition a line of its own, ` +
        "or the whole value in quotes",
    );
  }
}

/** Refuses two bounds with nothing between them: "none" would be taken for the truth. */
function refuseEmptyRange(terms: readonly string[], understood: readonly string[]): void {
  const bounds = terms.map((term) => /^([\w.]+)([<>])=?(\d{4}-\d\d-\d\d[ \d:]*|-?\d+)$/.exec(term) ?? []);
  for (const [at, [, path, sign, first = ""]] of bounds.entries()) {
    const isBefore = (last: string) => isNumber(last) ? Number(last) < Number(first) : last < first;
    const end = bounds.findIndex(([, field, way, last = ""]) => field === path && way === "<" && isBefore(last));
    if (sign === ">" && end >= 0) throw invalidInput(`nothing is both ${understood[at]} and ${understood[end]}`);
  }
}

async function conditionTerm(parts: DeskParts, found: FoundColumn, condition: Condition): Promise<Term> {
  const { path, column } = found;
  const { operator, value } = condition;
  if (journalTypes.test(column.type)) {
    throw invalidInput(`${path} is a journal, which ServiceNow cannot search: read a record's with include=journal`);
  }
  if (operator === "is empty" || operator === "is not empty") {
    const sign = operator === "is empty" ? "ISEMPTY" : "ISNOTEMPTY";
    return { term: `${path}${sign}`, words: `${path} ${operator}` };
  }
  const comparison: Comparison = { ...condition, operator };
  if (column.name === "sys_class_name") return classTerm(parts, path, comparison);
  if (column.reference !== null) return await referenceTerm(parts, found, comparison);
  if (column.type === "boolean") return booleanTerm(path, operator, value);
  if (dateTypes.test(column.type)) return await dateTerm(parts, found, comparison);
  if (lengthTypes.test(column.type)) return lengthTerm(path, comparison);
  const isText = /contains$|with$/.test(operator);
  if (column.choice !== "none" && !(isText && column.choice === "untold")) {
    const known = await choicesOfColumn(parts, found.owner, column);
    if (column.choice === "list" || known.choices.length > 0) {
      return await choiceTerm(parts, found, { comparison, known });
    }
  }
  if (isNumeric(column.type)) {
    if (comparison.listed !== "words" && /^\d{1,3}(,\d{3})+$/.test(value)) {
      const [one, several] = [value.replaceAll(",", ""), value.replaceAll(",", "|")];
      throw invalidInput(`${path}: ${excerpt(value)} can be one number or several: write ${one} or ${several}`);
    }
    if (!value.split(separators).every(isNumber)) throw invalidInput(`${path} must be a number`);
    return textTerm(path, { ...comparison, listed: "words" });
  }
  if (column.name !== "number" || !/^!?=$/.test(operator)) return textTerm(path, comparison);
  const numbers = value.split(/[\s,|]+/).filter((each) => each !== "").flatMap((each) =>
    numbersOf(each, found.owner.table)
  );
  return textTerm(path, { ...comparison, value: numbers.join("|"), parts: undefined });
}

const separators = /\s*(?:\||,|\bor\b)\s*/i;

/** Each of several alternatives, or the whole value where it is one. */
async function alternatives<T>(
  { value, listed, parts: given }: Comparison,
  resolve: (part: string) => Promise<readonly T[]>,
): Promise<readonly T[]> {
  const parts = given ?? (listed === "never" ? [] : value.split(separators).filter((part) => part !== ""));
  if (parts.length < 2) return await resolve(value);
  const whole = await attempt(resolve(value));
  return whole.ok ? whole.value : (await Array.fromAsync(parts, resolve)).flat();
}

async function choiceTerm(
  parts: DeskParts,
  found: FoundColumn,
  { comparison, known: { choices, isWhole } }: { readonly comparison: Comparison; readonly known: ColumnChoices },
): Promise<Term> {
  const { path, column } = found;
  const { operator, value } = comparison;
  const isOpen = operator === "=" && path === "state" && /^(open|unresolved|not closed)$/i.test(value) &&
    found.owner.columns.some(({ name }) => name === "active");
  const isLabel = isOpen && found.owner.table !== "task" && valuesOfChoice(value, offeredChoices(choices)).length > 0;
  if (isOpen && !isLabel) return await openTerm(parts, found.owner.table);
  if (/contains$|with$/.test(operator)) {
    if (!choices.some((choice) => isNumber(choice.value))) return textTerm(path, comparison);
    throw invalidInput(`${path} is stored as a number: use = with one of ${listChoices(choices)}`);
  }
  const values = await alternatives(comparison, async (part) => {
    const matching = valuesOfChoice(part, choices);
    if (matching.length > 0) return matching;
    if (isWhole) throw invalidInput(`${path} cannot be "${excerpt(part)}"; its values: ${listChoices(choices)}`);
    if (comparison.listed !== "never" && separators.test(part)) {
      throw invalidInput(`${path}: give one value, or several separated by |`);
    }
    const seen = await unlistedChoice(parts, found.owner, { name: column.name, word: part, choices });
    if (seen === null) throw invalidInput(notAmongKnown(path, part, choices));
    return seen.length > 0 ? seen.map((each) => each.value) : [part];
  });
  const stored = /^[<>]/.test(operator) ? ` (compared as it is stored: ${values[0]})` : "";
  const labels = values.map((each) =>
    `${labelOf(each, choices) ?? `${each} (as given: ServiceNow does not show this user its values)`}${stored}`
  );
  const named = isLabel ? labels.map((label) => `${label} (all that is not closed: active=true)`) : labels;
  return termsOf(path, operator, toQueryValues(values, path), named); // choices that records have can be any text
}

async function referenceTerm(parts: DeskParts, found: FoundColumn, comparison: Comparison): Promise<Term> {
  const { path, column } = found;
  const { operator } = comparison;
  const table = column.reference ?? "";
  const isList = column.type === "glide_list";
  if (!/^!?=$/.test(operator) && !(isList && /contains$/.test(operator))) {
    if (isList || !parts.access.mayRead(table) || /^[<>]/.test(operator)) {
      throw invalidInput(`${path} is compared by name: use = or !=`);
    }
    return textTerm(`${path}.${namingFields(table)[0] ?? "name"}`, comparison);
  }
  const resolved = await alternatives<Reference>(comparison, async (part) => {
    if (table === "sys_user_group" && /^my (group|groups|team|teams)$/i.test(part)) {
      const groups = await myGroups(parts);
      if (groups.length === 0) throw invalidInput(`${path}: ServiceNow shows no group of this user`);
      return groups;
    }
    const one = await resolveReference(parts, { table, text: part, field: path });
    const isOwnApproval = found.owner.table === "sysapproval_approver" && path === "approver" &&
      /^(me|myself|@me)$/i.test(part);
    const inPlaceOf = isOwnApproval ? await delegatorsOf(parts) : [];
    return [one, ...inPlaceOf.map((each) => ({ ...each, name: `${each.name} (the user is a delegate)` }))];
  });
  const isIn = /^(=|contains)$/.test(operator);
  const [ids, names] = [resolved.map(({ sysId }) => sysId), resolved.map(({ name }) => name)];
  return termsOf(path, !isList ? operator : isIn ? "contains" : "not contains", ids, names);
}

async function dateTerm(
  parts: DeskParts,
  { path, column }: FoundColumn,
  { operator, value }: Comparison,
): Promise<Term> {
  if (!/^[<>!=]/.test(operator)) throw invalidInput(`${path} is a date: use =, >, >=, <, <= or between A and B`);
  const dates = await datesOf(parts, value);
  if (dates === null) {
    throw invalidInput(
      `${path}: "${excerpt(value)}" is no date; write 2026-03-01, 2026-03-01 08:00 (UTC), today, last week, ` +
        `last 7 days, or ${path} between 2026-03-01 and 2026-03-07`,
    );
  }
  const now = dates.isOne ? undefined : (await datesOf(parts, "now"))?.from; // no date is after the last 7 days
  if (now !== undefined && now === { ">": dates.until, "<": dates.from }[operator as string]) {
    throw invalidInput(`${path} ${operator} ${value} would leave out all of ${value}: use ${path}=${value}`);
  }
  const isDay = column.type === "glide_date";
  const [first, last] = isDay ? [dates.firstDay, dates.lastDay] : [dates.from, dates.until];
  const zone = dates.isLocal === true ? ` (${value} in the user's zone, ${dates.zone})` : "";
  const asked = (stamp: string) => isDay ? stamp : queryMoment(parts, stamp);
  const [from, until] = [await asked(first), await asked(last)];
  const terms: Partial<Record<Operator, readonly [term: string, said: string]>> = {
    "=": [`${path}>=${from}^${path}<=${until}`, `from ${first} to ${last}`],
    "!=": [`${path}<${from}^OR${path}>${until}`, `not from ${first} to ${last}`],
    ">": [`${path}>${until}`, `after ${last}`],
    ">=": [`${path}>=${from}`, `since ${first}`],
    "<": [`${path}<${from}`, `before ${first}`],
    "<=": [`${path}<=${until}`, `until ${last}`],
  };
  const [term = "", said = ""] = terms[operator] ?? [];
  return { term, words: `${path} ${said}${isDay ? "" : " UTC"}${zone}` };
}

function lengthTerm(path: string, { operator, value }: Comparison): Term {
  const parts = value.split("|");
  const lengths = parts.flatMap((each) => parseLength(each) ?? []);
  if (lengths.length < parts.length || !(/^!?=$/.test(operator) || (/^[<>]/.test(operator) && parts.length === 1))) {
    throw invalidInput(`${path} is a length of time: use =, !=, >, >=, < or <= and one such as 1 day 3 hours`);
  }
  return termsOf(path, operator, lengths, lengths.map(lengthWords));
}

function classTerm({ access }: DeskParts, path: string, { operator, value }: Comparison): Term {
  const classes = value.split(/[|,]/).map(tableNameOf);
  const closed = classes.find((name) => !access.mayRead(name));
  if (closed !== undefined) throw invalidInput(`${path}: the table ${excerpt(closed)} cannot be read here`);
  return termsOf(path, operator, classes, classes);
}

/** What is open: active and not resolved. On the table of all tasks, "Open" is the label of a state of some kinds only. */
async function openTerm(parts: DeskParts, owner: string): Promise<Term> {
  const states = await resolvedStates(parts, owner === "task" ? ["incident", "problem"] : [owner]);
  const resolved = states.map(({ table, state }) =>
    owner === "task" ? `sys_class_name!=${table}^ORstate!=${state}` : `state!=${state}`
  );
  const isAssumed = states.some(({ isUsual }) => isUsual === null);
  const doubt = isAssumed ? ", by the states of the base system: this instance does not show its own" : "";
  return { term: ["active=true", ...resolved].join("^"), words: `state is open (active and not resolved${doubt})` };
}

/** Whether it can be an alternative: `^OR` binds single terms. */
function isOneTerm(term: string): boolean {
  return term !== "" && !/\^(?!OR)/.test(term.replaceAll("^^", ""));
}

function textTerm(path: string, { operator, value, listed, parts: given }: Comparison): Term {
  const separator = listed === "never" ? null : listed === "words" ? separators : /\s*\|\s*/;
  const parts = given ?? (separator === null ? [value] : value.split(separator).filter((part) => part !== ""));
  const values = toQueryValues(parts, path);
  if (parts.length === 0) throw invalidInput(`${path} must not be empty`);
  return termsOf(path, operator, values, parts.map((part) => part.trim()));
}

function booleanTerm(path: string, operator: Operator, value: string): Term {
  const isTrue = truthOf(value);
  if (isTrue === null) throw invalidInput(`${path} is true or false, not "${excerpt(value)}"`);
  if (operator !== "=" && operator !== "!=") throw invalidInput(`${path} is true or false: use =`);
  const wanted = String(isTrue === (operator === "="));
  return { term: `${path}=${wanted}`, words: `${path} is ${wanted}` };
}

/** One term for several values: any of them, or none of them. */
function termsOf(path: string, operator: Operator, values: readonly string[], labels: readonly string[]): Term {
  if (/^[<>]/.test(operator) && values.length > 1) throw invalidInput(`${path} ${operator} takes one value`);
  const checked = values.map((value) => `${path}${encodedOperator(operator)}${value}`);
  const isNegative = operator === "!=" || operator === "not contains";
  const term = isNegative ? checked.join("^") : anyOf(checked);
  const verb = operator === "=" ? "is" : operator === "!=" ? "is not" : operator;
  return { term, words: `${path} ${verb} ${labels.join(isNegative ? " nor " : " or ")}` };
}

// Conditions as callers write them, one a line: `state = In Progress`, `assigned_to is empty`, `opened_at > last week`.

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

type Operator = typeof operators[number][0];

/** The operators by one of their spellings, the longest first: some begin like others. */
function spelled(spellingsOf: (row: typeof operators[number]) => readonly string[]): ReadonlyMap<string, Operator> {
  const all = operators.flatMap((row) => spellingsOf(row).map((each) => [each, row[0]] as const));
  return new Map(all.filter(([each]) => each !== "").sort(([a], [b]) => b.length - a.length));
}

interface Condition {
  readonly field: string;
  readonly operator: Operator | "is empty" | "is not empty";
  readonly value: string;
  /** Whether it is enough that this one holds instead of the one before. */
  readonly isAlternative?: boolean;
  /** How the value lists alternatives: `a|b` always, after `in` and `contains` by commas or "or" too, in quotes not at all. */
  readonly listed?: "words" | "never";
  /** What the value lists, where some of it is in quotes. */
  readonly parts?: readonly string[] | undefined;
}

const maxConditions = 20;
const maxCharacters = 4_000;

const signs = spelled(([, each]) => each.split(" "));
const wordSpellings = spelled(([, , each]) => each.split("|"));
const blankValue = /^(is empty|is not empty|isempty|isnotempty)$/i;
/** A name or a label, in any language. */
const fieldPattern = String.raw`\p{L}[\p{L}\p{M}\w ./-]{0,99}?`;
const blank = "is empty|is not empty|isempty|isnotempty";
const wordOperators = [...wordSpellings.keys()].join("|");
const withSign = new RegExp(String.raw`^(${fieldPattern})\s*(!=|<>|>=|<=|==|!~|=|>|<|~)\s*([^]*)$`, "u");
const withBlank = new RegExp(String.raw`^(${fieldPattern})\s+(${blank})$`, "iu");
const withWord = new RegExp(String.raw`^(${fieldPattern})\s+(${wordOperators})\s+([^]+)$`, "iu");
const withRange = new RegExp(String.raw`^(${fieldPattern})\s+(?:is )?between\s+([^]+?)\s+and\s+([^]+)$`, "iu");
/** The operator as an encoded query has it. */
function encodedOperator(operator: Operator): string {
  return operators.find(([name]) => name === operator)?.[3].split("|")[0] ?? operator;
}

/** Where a further condition begins on the same line: the name of a field without blanks, and an operator. */
const oneWord = String.raw`\p{L}[\p{L}\p{M}\w./-]{0,99}`;
const nextCondition = new RegExp(
  String.raw`;(?=\s*${fieldPattern}\s*(?:[!<>=]=?|<>|!?~))|` +
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
function parseConditions(text: string) {
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

/** A value of a list, in quotes or bare, and what divides it from the next. */
const listItem = new RegExp(
  String.raw`(?:\s*(["'])((?:(?!\1).)+)\1(?=SEP|\s*$)|((?:(?!SEP).)*))(?:SEP|$)`.replaceAll("SEP", separators.source),
  "gi",
);
/** What a list has beside values in quotes: what divides them, or bare values that bars alone divide. */
const isList = /^(?:[\s,|]|\bor\b)*$|^(?!.*\bor\b)[^"',]*$/i;

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
  const operator = signs.get(sign) ?? wordSpellings.get(word.toLowerCase());
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
  const isListed = isIn || /contains$/.test(operator);
  const list = isListed ? value.replace(isIn ? /^[([]([^]*)[)\]]$/ : /^\((.*)\)$/, "$1") : value;
  const items = [...list.matchAll(listItem)];
  const isQuoted = items.some(([, quote]) => quote !== undefined);
  const isOne = !isListed && !(isQuoted && isList.test(list.replace(/(["'])(?:(?!\1).)+\1/g, "")));
  if (isOne) return { field: named, operator, value };
  const parts = items.map(([, , quoted, bare = ""]) => quoted ?? bare.trim()).filter((part) => part !== "");
  return { field: named, operator, listed: "words", ...isQuoted ? { value: parts.join("|"), parts } : { value: list } };
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
