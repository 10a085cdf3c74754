/** Finds records by words and conditions. A page is filled although the instance hides rows after it has cut the page. */
import { knownTable, listOf, namingFields, numbersOf } from "./tables.ts";
import { comparedField, resolveConditions } from "./resolve_conditions.ts";
import { allOf, anyOf, mayShowField, newestFirst, readOn, toQueryValues } from "./table_api.ts";
import type { DeskParts, ReadingPlace } from "./table_api.ts";
import { attempt, excerpt, invalidInput, Refusal } from "./failure.ts";
import { displayValue, isSysId, oneLine, plainText, type RecordFields, storedValue, wordsOf } from "./field_values.ts";
import { columnNamed, columnsOf, findColumn, findColumns, type TableColumns } from "./columns.ts";
import { resolveReference } from "./find_record.ts";
import { nextTurn } from "../lib/turns.ts";
import { datesOf, lengthNames, lengthWords, momentOf, wallClock } from "./dates.ts";

/** Records of one search. */
export const maxSearchResults = 50;

/** A record as people see it. */
export interface ShownRecord {
  readonly table: string;
  readonly sysId: string;
  /** Its number, or what people call it. */
  readonly name: string;
  /** The fields that the name is made of. */
  readonly namedBy: readonly string[];
  readonly link: string;
  /** By their true names. */
  readonly fields: readonly { readonly name: string; readonly value: string }[];
}

const maxWords = 8;
/** Of the words as they are given, some of which may be conditions. */
const maxWordsCharacters = 4_000;

/** What is looked for in one table: the query, and the same in words. */
interface Selection extends Omit<Awaited<ReturnType<typeof resolveConditions>>, "terms"> {
  readonly table: string;
  readonly query: string;
  /** The same without looking for words beyond the table's own fields, which the person may not be allowed to. */
  readonly narrower?: Selection;
}

/** The words to look for, and the conditions and encoded queries that came as words: those that name a field of the table. */
async function partWords(parts: DeskParts, table: string, given: string) {
  if (given.length > maxWordsCharacters) {
    throw invalidInput(`words must have at most ${maxWordsCharacters} characters: give the few that tell most`);
  }
  const text = given.trim();
  const field = comparedField(text);
  const isField = field !== null &&
    (text.includes("^") || columnNamed(await columnsOf(parts, table), field) !== undefined);
  if (isField) return { words: undefined, conditions: [text] };
  const parted = /\w[=<>]/.test(text) ? text.split(/\s+/) : [];
  if (parted.length < 2) return { words: text, conditions: [] };
  const columns = await columnsOf(parts, table);
  const compares = (word: string): boolean => columnNamed(columns, comparedField(word) ?? "") !== undefined;
  return { words: parted.filter((word) => !compares(word)).join(" "), conditions: parted.filter(compares) };
}

/** Words and conditions become one query. */
async function select(parts: DeskParts, { table: named, words: given, where = "" }: RecordsWanted): Promise<Selection> {
  const table = parts.access.readable(named);
  const { words, conditions } = given === undefined
    ? { words: given, conditions: [] }
    : await partWords(parts, table, given);
  const lines = [where, ...conditions].join("\n");
  const { terms, understood, ...asked } = await resolveConditions(parts, table, lines);
  const open = parts.access.openRows(table);
  const selection = (textual: readonly string[], said: readonly string[]): Selection => ({
    ...asked,
    table,
    query: allOf(...textual, open, ...terms),
    understood: [...said, ...understood],
  });
  if (words === undefined) return selection([], []);
  const parsed = parseWords(words);
  const fields = await wordFields(parts, table);
  const said = `with the words ${oneLine(words).slice(0, 200)}`;
  // Each word has to be in one of the fields, in any order.
  const termsIn = (names: readonly string[]) =>
    parsed.map((word) => {
      const forms = wholeNumber.test(word) ? numbersOf(word, table) : [word];
      return anyOf(names.flatMap((name) => forms.map((form) => `${name}LIKE${form}`)));
    });
  const whole = selection(termsIn(fields), [said]);
  const own = fields.filter((field) => !field.includes("."));
  if (own.length === 0 || own.length === fields.length) return whole;
  const others = fields.filter((field) => field.includes(".")).join(", ");
  const unsearched = `${said} (NOT looked for in ${others}, which ServiceNow keeps from this user)`;
  return { ...whole, narrower: selection(termsIn(own), [unsearched]) };
}

/**
 * The rows of a selection; where the instance refuses to look into other tables, those of the narrower one. An instance
 * may pass over a condition on a field that the person may not read: then no row has it, or has it filled.
 */
async function readSelection(
  parts: DeskParts,
  { table, query, understood, checked, quoted, narrower }: Selection,
  { fields, order, ...reading }: Parameters<typeof readOn>[3] & {
    readonly fields: readonly string[];
    readonly order: readonly string[];
  },
) {
  const request = { query: allOf(query, ...order), fields: stepsOf([...fields, ...checked.map(({ path }) => path)]) };
  const read = await attempt(readOn(parts.tableApi, table, request, reading));
  if (!read.ok && read.error.reason === "forbidden" && narrower !== undefined) {
    return await readSelection(parts, narrower, { fields, order, ...reading });
  }
  if (!read.ok) throw new Refusal(read.error);
  const { rows } = read.value;
  const hidden = checked.find(({ path, isFilled, through }) => {
    const isEmpty = (row: RecordFields): boolean => through in row && displayValue(row, through) === "";
    const having = isFilled ? rows : rows.filter((row) => !isEmpty(row));
    return having.length > 0 && !having.some((row) => isFilled ? displayValue(row, path) !== "" : path in row);
  });
  const hint = quoted === undefined || rows.length > 0 ? [] : [`if | is part of the value, write ${oneLine(quoted)}`];
  if (hidden === undefined) return { ...read.value, understood: [...understood, ...hint] };
  throw invalidInput(
    `ServiceNow shows this user no ${hidden.path} in ${table} and may have ignored the condition on it: leave it out`,
  );
}

/** The paths, each after those that lead to it: where one is not shown, they tell why. */
export function stepsOf(paths: readonly string[]): readonly string[] {
  const steps = paths.flatMap((path) => path.split(".").map((_, at, names) => names.slice(0, at + 1).join(".")));
  return [...new Set(steps)];
}

/** Whether ServiceNow keeps the field from the person; a path that ends at an empty reference is not in the row either. */
export function isHidden(row: RecordFields, path: string): boolean {
  const through = path.slice(0, Math.max(0, path.lastIndexOf(".")));
  if (through !== "" && !(through in row)) return isHidden(row, through);
  return !(path in row) && (through === "" || displayValue(row, through) !== "");
}

function isUnshown(rows: readonly RecordFields[], path: string): boolean {
  return rows.some((row) => isHidden(row, path)) && !rows.some((row) => path in row);
}

const wholeNumber = /^[a-z]{2,10}\d{4,12}$/i;

/** The words, each as a value of a query. */
function parseWords(text: string): readonly string[] {
  const words = text.replace(/["“”„«»]/g, " ").split(/\s+/).filter((word) => !/^(?:and|&*|)$/i.test(word))
    .map((word) => word.replace(/^[*%'‘(,;]+|[*%'’),;:.?!]+$/g, "")).filter((word) => word !== "");
  const operator = words.find((word) => /^(OR|NOT)$|^-\p{L}|\|/u.test(word));
  if (operator !== undefined) {
    throw invalidInput(
      `words have all to occur: "${excerpt(operator)}" would be looked for itself. ` +
        "Use where: short_description contains a or b; short_description does not contain c",
    );
  }
  const numbers = words.filter((word) => wholeNumber.test(word));
  if (numbers.length > 1) throw invalidInput(`words have all to occur: use where, number=${numbers.join("|")}`);
  if (words.length === 0) throw invalidInput("words has no word in it: leave it out");
  if (words.length > maxWords) throw invalidInput(`words: at most ${maxWords}`);
  // A script may have blanks in it: the whole is looked at too.
  return toQueryValues([text, ...words], "words").slice(1);
}

/** The fields in which words are looked for. */
async function wordFields(parts: DeskParts, table: string): Promise<readonly string[]> {
  const known = knownTable(table);
  const fields = known?.name === table ? known.textFields : textColumns(await columnsOf(parts, table));
  if (fields.length === 0) throw invalidInput(`${table} has no text to search: use where`);
  return fields;
}

/** Columns with words in them, of a table that is not known here. */
function textColumns({ columns }: TableColumns): readonly string[] {
  const wanted = ["number", "name", "short_description", "description", "title", "label"];
  return wanted.filter((name) => columns.some((column) => column.name === name));
}

// A record as people see it: labels instead of stored values, dates in UTC, plain text, nothing secret.

/** Columns that say nothing to a person; they are shown when they are asked for. */
const noise =
  /^(sys_(id|domain|domain_path|tags|class_path|created_by|updated_by|mod_count|class_name|id_seq|policy)|upon_(approval|reject)|activity_due|watch_list|work_notes_list|additional_assignee_list|knowledge|time_worked|business_(duration|stc)|calendar_(duration|stc)|notify|approval_(set|history)|route_reason|sla_due|expected_start|order|universal_request|task_effective_number|group_list|skills|correlation_(id|display)|contract|comments_and_work_notes|delivery_(plan|task)|user_input|rejection_goto|made_sla|reassignment_count|active|origin_(id|table)|task_for|incident_state|problem_state|child_incidents|related_incidents|sn_\w+|category_path)$/;
/** What is read after everything else. */
const last = /^(sys_|comments$|work_notes$)/;
/** No HTML is ever kept in them: what looks like it was written so. */
const plainNames = /(^|\.)(short_description|title|name)$/;
const dateValue = /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/;

/** `names` are the fields that a caller asked for, in order; without them, the fields with a value of interest. */
export function toShownRecord(
  { instance }: Pick<DeskParts, "instance">,
  table: string,
  record: RecordFields,
  names: readonly string[] | undefined,
): ShownRecord {
  const sysId = storedValue(record, "sys_id");
  const actual = storedValue(record, "sys_class_name");
  const owner = actual !== "" && actual !== table && knownTable(actual) !== undefined ? actual : table;
  const title = nameOf(owner, record);
  const usual = Object.keys(record).filter((name) => !noise.test(name));
  const shown = names ?? usual.toSorted((a, b) => Number(last.test(a)) - Number(last.test(b)));
  const fields = [...new Set(shown)].filter((name) =>
    mayShowField(table, name) && (!name.includes(".") || mayShowField(table, name.split(".").at(-1) ?? ""))
  ).map((name) => ({ name, value: name === "sys_id" ? sysId : shownValue(record, name) }))
    .filter(({ name, value }) =>
      names === undefined ? value !== title && value !== "" : value !== "" || name in record
    );
  return {
    ...{ table: owner, sysId, fields },
    name: title,
    namedBy: ["number", ...namingFields(owner)],
    link: linkTo(instance.origin, owner, sysId),
  };
}

/** What people see of a field; a moment is in UTC and says so, a length of time is in words. */
export function shownValue(record: RecordFields, name: string): string {
  const [stored, shown] = [storedValue(record, name), displayValue(record, name)];
  if (!dateValue.test(stored)) return plainNames.test(name) ? plainText(shown).trim() : wordsOf(shown);
  if (/^\d?\d:\d\d(:\d\d)?( ?[ap]m)?$/i.test(shown)) return shown; // a time of day, stored with some day
  const isLength = stored.startsWith("19") && /^-?\d+ ?\p{L}/u.test(shown) && !/\d[:.]\d\d/.test(shown);
  return isLength || lengthNames.test(name) ? lengthWords(stored) : `${stored} UTC`;
}

/** What people call the record: its number, or its name; of a relation's two descriptors the first ("Depends on"). */
export function nameOf(table: string, record: RecordFields): string {
  const parts = namingFields(table).map((field) => {
    const part = displayValue(record, field);
    return field === "type" ? part.replace(/::[^]*/, "") : part;
  }).filter((part) => part !== "");
  const whole = displayValue(record, "number") || parts.join(knownTable(table)?.nameSeparator ?? ": ");
  return oneLine(whole || displayValue(record, "name")) || storedValue(record, "sys_id");
}

/** The record's page for people. */
export function linkTo(origin: string, table: string, sysId: string): string {
  if (table === "kb_knowledge") return `${origin}/kb_view.do?sys_kb_id=${sysId}`;
  if (table === "sc_cat_item") return `${origin}/sp?id=sc_cat_item&sys_id=${sysId}`;
  return `${origin}/${table}.do?sys_id=${sysId}`;
}

/** Which records, in people's words. All of it has to hold. */
interface RecordsWanted {
  readonly table: string;
  /** Each word has to be in one of the fields with text. */
  readonly words?: string | undefined;
  /** Conditions, one a line. */
  readonly where?: string | undefined;
}

interface RecordSearch extends RecordsWanted {
  /** The usual ones when absent. */
  readonly fields?: readonly string[] | undefined;
  readonly orderBy?: string | undefined;
  readonly limit: number;
  /** From the page before. */
  readonly cursor?: string | undefined;
}

/** Requests for one page. */
const maxRequests = 4;
const maxFields = 30;
const maxOrders = 3;

/** The place that a cursor names: `offset.skip.given`. */
function parseCursor(cursor: string | undefined): ReadingPlace | null {
  if (cursor === undefined) return { offset: 0, skip: 0, given: 0 };
  const [, offset = "", skip = "0", given = "0"] = /^(\d{1,7})(?:\.(\d{1,3})(?:\.(\d{1,7}))?)?$/.exec(cursor) ?? [];
  return offset === "" ? null : { offset: Number(offset), skip: Number(skip), given: Number(given) };
}

/** What {@link searchRecords} finds. */
export type RecordPage = Awaited<ReturnType<typeof searchRecords>>;

/** One page of a search, in the order that was asked for. `cursor` is where the next one starts; `null` on the last. */
export async function searchRecords(parts: DeskParts, search: RecordSearch) {
  const start = parseCursor(search.cursor);
  if (start === null) throw invalidInput("cursor must be the one that the page before gave");
  const selected = await select(parts, search);
  const { table, named } = selected;
  const names = await chosenFields(parts, table, search.fields);
  const order = await orderOf(parts, table, search.orderBy ?? selected.order.join(","));
  const sorted = order.map((each) => each.replace(/^ORDERBY(?:DESC)?/, ""));
  const { rows, next, total, understood } = await readSelection(parts, selected, {
    fields: [...names, ...sorted, "number", "sys_class_name", "sys_mod_count", ...namingFields(table)],
    ...{ order, wanted: search.limit, maxRequests, start },
  });
  for (const row of rows) parts.seen.note(row);
  const own = search.fields === undefined ? knownTable(table)?.summaryFields : names;
  const isUnknown = named !== undefined && rows.length === 0;
  const field = namingFields(table)[0] ?? "name";
  const nearest = isUnknown ? await attempt(resolveReference(parts, { table, text: named, field })) : null;
  const hint = nearest?.ok === false && nearest.error.reason === "invalid_input" ? [nearest.error.message] : [];
  const isOther = nearest?.ok && !nearest.value.name.toLowerCase().startsWith(`${named?.toLowerCase()} (`);
  if (isOther) hint.push(`did you mean ${nearest.value.name}?`);
  const asked = new Set([...search.fields === undefined ? [] : names, ...sorted]);
  const unshown = [...asked].filter((path) => isUnshown(rows, path));
  const unsorted = (path: string): string => sorted.includes(path) ? " and may not sort by it" : "";
  hint.push(...unshown.map((path) => `ServiceNow shows this user no ${path}${unsorted(path)}`));
  return {
    table,
    /** The conditions as they were understood; of a name that none has, the nearest. */
    understood: [...understood, ...hint],
    cursor: next === null ? null : [next.offset, next.skip, next.given].join("."),
    /** How many the instance counts, hidden ones perhaps among them; `null` where it does not say. */
    total,
    records: rows.map((record) => toShownRecord(parts, table, record, own)),
  };
}

/** The fields to ask for, each known for the table. */
export async function chosenFields(
  parts: DeskParts,
  table: string,
  given: readonly string[] | undefined,
): Promise<readonly string[]> {
  if (given === undefined) {
    const known = knownTable(table);
    if (known?.name === table) return known.summaryFields;
    const columns = await columnsOf(parts, table);
    const wanted = known?.summaryFields ?? [...textColumns(columns), "state", "sys_updated_on"];
    return wanted.filter((name) => columns.columns.some((column) => column.name === name));
  }
  if (given.length > maxFields || given.some((name) => /^(\*|all)$/.test(name))) {
    throw invalidInput(`fields: name them, at most ${maxFields}; servicenow_get_record shows all of a record`);
  }
  const found = await findColumns(parts, table, given);
  const shown = found.filter(({ owner, column }) => mayShowField(owner.table, column.name));
  return shown.map(({ path }) => path);
}

async function orderOf(parts: DeskParts, table: string, orderBy: string): Promise<readonly string[]> {
  if (orderBy === "") return [newestFirst, "ORDERBYDESCsys_id"];
  const names = listOf(orderBy.replace(/,\s*(?=(?:asc|desc)(?:ending)?\s*(?:,|$))/gi, " ")) ?? [];
  if (names.length > maxOrders) throw invalidInput(`order_by takes at most ${maxOrders} fields`);
  const asked = names.map((part) => {
    const [, minus, name = "", direction = ""] = /^(-?)\s*(.*?)\s*(desc|asc|descending|ascending)?$/i.exec(part) ?? [];
    return { name, sign: minus === "-" || /^desc/i.test(direction) ? "ORDERBYDESC" : "ORDERBY" };
  });
  const found = await findColumns(parts, table, asked.map(({ name }) => name));
  // Rows of the same rank come in any order: without the last one, some would be on no page.
  return [...found.map(({ path }, at) => `${asked[at]?.sign}${path}`), `${asked.at(-1)?.sign}sys_id`];
}

// Counts records that the person may see, all or by group. The instance's own count includes hidden ones.

/** A mean over the records that have both dates. */
type MeanTime = Readonly<Record<"hours" | "records", number>>;

const rowsPerRequest = 2_000;
const maxRows = 10_000;

/** Counts rows as the Table API shows them, since those alone have passed the rules of the instance. */
export async function countRecords(
  parts: DeskParts,
  { groupBy, meanTime = [], ...request }: RecordsWanted & {
    /** A field; a date `by day`, `by week` or `by month`. */
    readonly groupBy?: string | undefined;
    /** Two date fields: the answer has the mean time between them. */
    readonly meanTime?: readonly string[] | undefined;
  },
) {
  const selected = await select(parts, request);
  const { table } = selected;
  const group = groupBy === undefined ? null : await groupField(parts, table, groupBy);
  const dates = meanTime.length === 0 ? [] : await findColumns(parts, table, meanTime);
  const between = dates.filter(({ column }) => /date/.test(column.type)).map(({ path }) => path);
  if (meanTime.length > 0 && between.length !== 2) {
    throw invalidInput("mean_time takes two dates, such as opened_at,resolved_at");
  }
  const fields = [...group === null ? [] : [group.path], ...between];
  const { rows, next, total, understood } = await readSelection(parts, selected, {
    fields,
    order: ["ORDERBYsys_id"],
    ...{ wanted: maxRows, maxRequests: maxRows / rowsPerRequest + 1, firstChunk: rowsPerRequest },
  });
  const unshown = fields.find((path) => isUnshown(rows, path));
  if (unshown !== undefined) throw invalidInput(`ServiceNow shows this user no ${unshown} in ${table}: leave it out`);
  const now = group === null || group.unit === null ? null : await datesOf(parts, "now");
  const groups = new Map<string, { readonly name: string; readonly sysId: string; readonly own: RecordFields[] }>();
  for (const row of rows) {
    if (group === null) break;
    const name = groupName(row, group, now?.zone ?? "UTC");
    const stored = storedValue(row, group.path);
    const sysId = isSysId(stored) ? stored : "";
    groups.getOrInsert(sysId || name, { name, sysId, own: [] }).own.push(row);
    await nextTurn();
  }
  const alike = Map.groupBy(groups.values(), ({ name }) => name);
  const rank = (name: string): string => name.startsWith("(") ? "~" : name;
  const [isWhole, isDated] = [next === null, now !== null];
  return {
    table,
    understood,
    /** Records that the person may see. */
    count: rows.length,
    /** Whether all were counted. */
    isWhole,
    /** The instance's own count where not all were counted. It may include records that the person may not see. */
    instanceCount: isWhole ? null : total,
    hasMean: between.length > 0,
    mean: meanOf(rows, between),
    groups: [...groups.values()].map(({ name, sysId, own }) => ({
      name: alike.get(name)?.length === 1 ? name : `${name} (sys_id ${sysId})`,
      size: own.length,
      mean: meanOf(own, between),
    })).toSorted((a, b) => !isDated ? b.size - a.size : rank(a.name) < rank(b.name) ? -1 : 1),
    /** Whether groups are days, weeks or months, the earliest first. */
    isDated,
  };
}

/** A field to group by. `unit`: the days, weeks or months of a date. */
async function groupField(parts: DeskParts, table: string, groupBy: string) {
  if (/[,;|]/.test(groupBy)) {
    throw invalidInput("group_by takes one field: count for each value of the other, in where");
  }
  const [, name = groupBy, unit = null] = /^(.*?)\s+(?:by|per)\s+(day|week|month)$/i.exec(groupBy.trim()) ?? [];
  const { path, column: { type } } = await findColumn(parts, table, name);
  const isDate = /date/.test(type);
  if (unit !== null && !isDate) throw invalidInput(`${path} is no date: group by it without "${unit}"`);
  if (/^(journal|html)/.test(type)) {
    throw invalidInput(`${path} has a different value in each record: group by another field`);
  }
  return { path, unit: isDate ? unit?.toLowerCase() ?? "day" : null };
}

function meanOf(rows: readonly RecordFields[], [from = "", until = ""]: readonly string[]): MeanTime | null {
  const spans = rows.map((row) => momentOf(storedValue(row, until)) - momentOf(storedValue(row, from)))
    .filter((span) => !Number.isNaN(span));
  if (spans.length === 0) return null;
  return { hours: spans.reduce((sum, span) => sum + span, 0) / spans.length / 3_600_000, records: spans.length };
}

/** Days follow the person's calendar; a week is named by its Monday. */
function groupName(row: RecordFields, { path, unit }: Awaited<ReturnType<typeof groupField>>, zone: string): string {
  const stored = storedValue(row, path);
  if (isHidden(row, path)) return "(not shown to this user)";
  if (unit === null) return shownValue(row, path) || "(empty)";
  if (Number.isNaN(momentOf(stored))) return "(empty)";
  const day = (stored.length > 10 ? wallClock(stored, zone) : stored).slice(0, 10);
  if (unit !== "week") return day.slice(0, unit === "month" ? 7 : 10);
  const date = Temporal.PlainDate.from(day);
  return `week of ${date.subtract({ days: date.dayOfWeek - 1 })}`;
}
