/** Creates and updates records. Each request that writes is sent once; what it did is read from the instance's answer. */
import { type DeskParts, isSecretField } from "./table_api.ts";
import { cutText, displayValue, isNumber, oneLine, plainText, storedValue, truthOf } from "./field_values.ts";
import type { RecordFields } from "./field_values.ts";
import { findRecord, type FoundRecord, type RecordName, resolveList, resolveReference } from "./find_record.ts";
import {
  choicesOfColumn,
  type ColumnChoices,
  fieldsOfState,
  labelOf,
  listChoices,
  nextStates,
  notAmongKnown,
  offeredChoices,
  unlistedChoice,
  valuesOfChoice,
} from "./choices.ts";
import { type Column, columnsOf, isNumeric, namedColumn, type TableColumns } from "./columns.ts";
import { attempt, excerpt, invalidInput, Refusal, type ServicenowFailure } from "./failure.ts";
import { linkTo, nameOf, shownValue } from "./search.ts";
import { knownTable, namedLines, namesIn } from "./tables.ts";
import { isObject, parseJson } from "../lib/json.ts";
import { dateValue, lengthTypes, lengthWords, parseLength } from "./dates.ts";

// The outcome of a change: what the instance accepted, dropped, and changed besides.

/** What a field held before a change, and what it holds after. */
interface FieldChange {
  readonly name: string;
  /** What people call the field. */
  readonly label: string;
  readonly before: string;
  readonly after: string;
}

/** What was asked for, and is not what the record says now: dropped by an access rule, or changed by a business rule. */
interface NotTaken {
  readonly name: string;
  readonly wanted: string;
  /** `null` where the instance does not show the field. */
  readonly now: string | null;
  /** Where something was lost all the same: what it was; else empty. */
  readonly was: string;
  /** Whether it may have been taken: the record changed, and the field is not shown. */
  readonly isUnknown: boolean;
}

/** A change as planned, or as it came out. */
export type ChangeReport = ReturnType<typeof planChange>["planned"];

const maxShownCharacters = 300;
const bookkeeping =
  /^(sys_|comments|work_notes|comments_and_work_notes|activity_due|business_|calendar_|task_effective|route_reason|time_worked)/;

const short = (text: string): string => cutText(plainText(text), maxShownCharacters);

/** A change of a field, cut to what a caller needs to see of it. */
export function shortened({ before, after, ...change }: FieldChange): FieldChange {
  return { ...change, before: short(before), after: short(after) };
}

/** A change of a record, or a new one: what would be sent, and what came of it. */
export function planChange(
  { instance: { origin } }: DeskParts,
  { table, before, values }: {
    readonly table: string;
    /** `null` where it is to be made. */
    readonly before: RecordFields | null;
    readonly values: readonly ResolvedValue[];
  },
) {
  const was = before ?? {};
  const planned = {
    /** Nothing was sent. */
    dryRun: true,
    table,
    /** The record's number or name; `null` for a new one that is only planned. */
    name: before === null ? null : nameOf(table, before),
    /** What the record is about; empty where it does not say. */
    title: oneLine(shownValue(was, "short_description")),
    link: before === null ? null : linkTo(origin, table, storedValue(before, "sys_id")),
    /** As asked for: planned, or taken by the instance. */
    changes: values.map(({ name, column: { label, type }, shown }): FieldChange => ({
      ...{ name, label },
      before: type.startsWith("journal") ? "" : plainText(shownValue(was, name)), // an entry replaces none
      after: plainText(shown),
    })),
    notTaken: [] as readonly NotTaken[],
    /** What the instance changed besides. */
    alsoChanged: [] as readonly FieldChange[],
    /** In words: what else there is to know. */
    notes: values.flatMap(({ doubt }) => doubt ?? []) as readonly string[],
    /** Of the record afterwards. */
    version: before === null ? null : storedValue(before, "sys_mod_count"),
    /** What is sent, whole, and the version of the record that it was made from. */
    madeFrom: JSON.stringify([
      ...before === null ? [] : [storedValue(before, "sys_id"), storedValue(before, "sys_mod_count")],
      ...values.map(({ name, stored }) => [name, stored]),
    ]),
  };

  /** The same after the instance has answered with the record as it is now. */
  const finish = (after: RecordFields): typeof planned => {
    const taken = values.filter((value) => isTaken(value, before, after));
    const isUnchanged = "sys_mod_count" in after && before !== null &&
      storedValue(before, "sys_mod_count") === storedValue(after, "sys_mod_count");
    const asked = new Set(values.map(({ name }) => name));
    // Labels as the instance shows them to this person, in their language.
    const labelled = new Set(
      values.filter(({ column, stored, shown }) =>
        column.choice !== "none" || column.type === "glide_list" || (column.type === "reference" && stored === shown)
      ).map(({ name }) => name),
    );
    return {
      ...planned,
      dryRun: false,
      name: nameOf(table, after),
      link: linkTo(origin, table, storedValue(after, "sys_id")),
      changes: planned.changes.filter(({ name }) => taken.some((value) => value.name === name)).map((change) =>
        labelled.has(change.name) ? { ...change, after: shownValue(after, change.name) } : change
      ),
      notTaken: values.filter((value) => !taken.includes(value)).map(({ name, shown, stored }) => ({
        name,
        wanted: short(shown),
        now: name in after ? short(shownValue(after, name)) : null,
        was: name in after && storedValue(was, name) !== storedValue(after, name) ? short(shownValue(was, name)) : "",
        isUnknown: name in after ? storedValue(after, name) === stored : !isUnchanged,
      })),
      alsoChanged: before === null ? newValues(table, after, asked) : differences(before, after, asked),
      version: storedValue(after, "sys_mod_count"),
    };
  };
  return { planned, finish };
}

function isTaken({ name, stored, column }: ResolvedValue, before: RecordFields | null, after: RecordFields): boolean {
  if (column.type.startsWith("journal")) {
    const [was, is] = [before ?? {}, after].map((record) => oneLine(displayValue(record, name)));
    return was !== is && is?.includes(oneLine(stored)) === true;
  }
  // A sys_id that leads nowhere is stored, and shown as nothing.
  const isDead = column.type === "reference" && stored !== "" && displayValue(after, name) === "";
  if (!(name in after) || isDead) return false;
  return oneLine(storedValue(after, name)) === oneLine(stored) ||
    (column.type === "html" && oneLine(shownValue(after, name)) === oneLine(stored));
}

function differences(before: RecordFields, after: RecordFields, asked: ReadonlySet<string>): readonly FieldChange[] {
  return Object.keys(after).filter((name) =>
    !asked.has(name) && !bookkeeping.test(name) && !isSecretField(name) &&
    storedValue(before, name) !== storedValue(after, name)
  ).map((name) => ({ name, label: name, before: shownValue(before, name), after: shownValue(after, name) }));
}

/** Of a new record: what people look at first. */
function newValues(table: string, after: RecordFields, asked: ReadonlySet<string>): readonly FieldChange[] {
  const names = [...knownTable(table)?.summaryFields ?? [], "state", "priority"];
  return [...new Set(names)].filter((name) =>
    !asked.has(name) && !bookkeeping.test(name) && name !== "number" && name in after && shownValue(after, name) !== ""
  ).map((name) => ({ name, label: name, before: "", after: shownValue(after, name) }));
}

// Fields that a record is known to need before the instance accepts a change.

/** What the base system's data policies ask of each new record. */
const creating: ReadonlyMap<string, string> = new Map(namedLines(`
  incident: short_description caller_id
  problem: short_description
  change_request: short_description
  kb_knowledge: short_description kb_knowledge_base
`));

/** Refuses where neither the record nor the change fills a mandatory field. */
async function refuseMissing(
  parts: DeskParts,
  described: TableColumns,
  { values, record }: { readonly values: readonly ResolvedValue[]; readonly record: RecordFields | null },
): Promise<void> {
  const { table, columns, source } = described;
  const filled = (name: string): boolean => {
    const given = values.find((value) => value.name === name);
    return (given === undefined ? record === null ? "" : storedValue(record, name) : given.stored) !== "";
  };
  const wanted = new Set(record === null ? namesIn(creating.get(table) ?? "") : []);
  if (record === null && source === "dictionary") {
    for (const { name, mandatory, hasDefault } of columns) if (mandatory && !hasDefault) wanted.add(name);
  }
  for (const { name, column } of values) if (column.mandatory) wanted.add(name);
  const state = values.find(({ name }) => name === "state")?.stored ?? "";
  const known = new Set(columns.map(({ name }) => name));
  for (const name of await fieldsOfState(parts, table, state)) if (known.has(name)) wanted.add(name);
  const missing = [...wanted].filter((name) => !filled(name));
  if (missing.length === 0) return;
  const names = missing.join(" and ");
  const what = record === null ? `${table} must have ${names}` : `${names} must be given for this change`;
  let choices = ""; // they save the caller a guess
  for (const column of columns) {
    if (column.choice === "none" || column.choice === "untold" || !missing.includes(column.name)) continue;
    const known = await choicesOfColumn(parts, described, column);
    if (known.choices.length > 0) choices += `; ${column.name}: ${listChoices(known.choices)}`;
  }
  throw invalidInput(`${what}${choices}. Nothing was sent`);
}

/** `dryRun`: say what would be sent, and send nothing. */
interface UpdateRequest extends RecordName {
  readonly dryRun: boolean;
  /** `name=value` lines, or a JSON object. */
  readonly values: string;
  /** The version that the caller has seen. */
  readonly ifVersion?: string | undefined;
}

export async function updateRecord(
  parts: DeskParts,
  { id, table, values: text, ifVersion, dryRun }: UpdateRequest,
): Promise<ChangeReport> {
  const given = parseValueLines(text, "values", true);
  if (given.length === 0) throw invalidInput("values must name at least one field");
  const found = await findRecord(parts, { id, table }, { writing: true });
  const { record: before } = found;
  if (found.table === "sysapproval_approver") throw invalidInput("use servicenow_approve for approvals");
  const version = storedValue(before, "sys_mod_count");
  if (ifVersion !== undefined && !/^\d+$/.test(ifVersion)) {
    throw invalidInput(`if_version is ${ifVersion === "" ? "empty" : "no number"}; the record's version is ${version}`);
  }
  const by = shownValue(before, "sys_updated_by");
  const known = parts.seen.of(found.sysId);
  const isOwn = by === parts.person.account.userName && Number(version) === Number(known) + 1;
  const seen = ifVersion ?? (isOwn ? undefined : known);
  if (seen !== undefined && seen !== version) {
    throw invalidInput(
      `the record has changed: version ${version}, by ${by}, ${shownValue(before, "sys_updated_on")}. Read it again` +
        (ifVersion === undefined ? `, or give if_version=${version} to write all the same` : ""),
    );
  }
  const columns = await columnsOf(parts, found.table);
  const values = await resolveValues(parts, columns, given, before);
  await refuseMissing(parts, columns, { values, record: before });
  const made = await sendChange(parts, found, { values, dryRun, seen });
  if (dryRun) return made;
  const notes = [...made.notes];
  if (made.notTaken.some(({ name }) => name === "state")) {
    notes.push(`The state was ${oneLine(shownValue(before, "state"))}.${await nextStates(parts, found)}`);
  }
  const [from, to] = [Number(version), Number(made.version)];
  if (version !== "" && to > from + 1) {
    notes.push(
      `Version ${from} became ${to}: another change came between the look and the write, a colleague's or a ` +
        "rule's, and may be overwritten. Read the record and its journal",
    );
  }
  return { ...made, notes };
}

/** Changes a record that was found, with one request, and says what came of it. */
async function sendChange(
  parts: DeskParts,
  found: FoundRecord,
  /** `seen`: the version that the person has seen of it. */
  { values, dryRun, seen }: Pick<UpdateRequest, "dryRun"> & {
    readonly values: readonly ResolvedValue[];
    readonly seen: string | undefined;
  },
): Promise<ChangeReport> {
  const { table, sysId, record: before } = found;
  const { planned, finish } = planChange(parts, { table, before, values });
  if (dryRun) return planned;
  const body = Object.fromEntries(values.map(({ name, stored }) => [name, stored]));
  const after = await attempt(parts.tableApi.update(table, sysId, body));
  if (!after.ok) throw new Refusal(await refusalOfWrite(parts, found, after.error));
  // a note says nothing of what others changed before it
  if (seen === undefined || seen === storedValue(before, "sys_mod_count")) parts.seen.note(after.value);
  return finish(after.value);
}

/** The instance's refusal, with what it does not say: which state the record is in, and that it is closed. */
async function refusalOfWrite(parts: DeskParts, found: FoundRecord, error: ServicenowFailure) {
  const state = oneLine(shownValue(found.record, "state"));
  if (error.reason !== "forbidden" || error.said === undefined || state === "") return error;
  const closed = storedValue(found.record, "active") === "false" ? ", and not active" : "";
  return { ...error, said: `${error.said}.${await nextStates(parts, found)} The record is ${state}${closed}` };
}

/** How a new record refers to the one it comes from, and how that one to it: `from new: > field` and `< field`. */
const origins: ReadonlyMap<string, string> = new Map(namedLines(`
  incident problem: >first_reported_by_task <problem_id
  incident change_request: <rfc
  problem change_request: <rfc
  incident kb_knowledge: >source
  problem kb_knowledge: >source
  change_request change_task: >change_request
  problem problem_task: >problem
  sc_req_item sc_task: >request_item
`));
const copied = namesIn("short_description description cmdb_ci business_service impact urgency");

export async function createRecord(
  parts: DeskParts,
  { table: named, values: text, from, dryRun }: Pick<UpdateRequest, "dryRun" | "values"> & {
    readonly table: string;
    /** A record that the new one comes from. */
    readonly from?: string | undefined;
  },
): Promise<ChangeReport> {
  const table = parts.access.writable(named);
  const given = parseValueLines(text, "values");
  const columns = await columnsOf(parts, table);
  const has = (name: string): boolean => columns.columns.some((column) => column.name === name);
  const origin = from === undefined ? null : await findRecord(parts, { id: from });
  const link = origin === null ? "" : origins.get(`${origin.table} ${table}`);
  if (origin !== null && link === undefined) throw invalidInput(notMadeFrom(table, origin.table));
  const [forward, back] = [">", "<"].map((sign) => namesIn(link ?? "").find((each) => each.startsWith(sign))?.slice(1));
  const resolved = await resolveValues(parts, columns, given);
  const inherited: readonly GivenValue[] = origin === null ? [] : [
    ...copied.map((name): GivenValue => [name, storedValue(origin.record, name)]).filter(([, value]) => value !== ""),
    ...forward === undefined ? [] : [[forward, origin.sysId] as const],
  ];
  const defaults: readonly GivenValue[] = table === "incident" ? [["caller_id", "me"]] : [];
  const further = [...inherited, ...defaults].filter(([name]) =>
    has(name) && !resolved.some((value) => value.name === name)
  );
  const added = await resolveValues(parts, columns, further);
  const number = origin === null ? "" : shownValue(origin.record, "number");
  const linked = added.map((value) => value.name === forward ? { ...value, shown: number } : value);
  const values = [...resolved, ...linked];
  await refuseMissing(parts, columns, { values, record: null });
  const { planned, finish } = planChange(parts, { table, before: null, values });
  if (dryRun) return planned;
  const filled = values.filter(({ stored }) => stored !== "");
  const body = Object.fromEntries(filled.map(({ name, stored }) => [name, stored]));
  const after = await parts.tableApi.insert(table, body);
  parts.seen.note(after);
  const report = finish(after);
  if (origin === null || back === undefined) return report;
  const sysId = storedValue(after, "sys_id");
  const note = await linkBack(parts, origin, { field: back, to: sysId });
  return { ...report, version: null, notes: [...report.notes, note] }; // to be referred to may have changed it
}

function notMadeFrom(table: string, source: string): string {
  const made = [...origins.keys()].map((pair) => pair.split(" ")).filter(([each]) => each === source);
  const others = made.length === 0 ? "" : `, and makes ${made.map(([, each]) => each).join(", ")}`;
  return `from names a record of ${source}, which makes no ${table}${others}; leave out from`;
}

async function linkBack(
  { tableApi }: DeskParts,
  { table, sysId, record }: FoundRecord,
  { field, to }: { readonly field: string; readonly to: string },
): Promise<string> {
  const name = shownValue(record, "number");
  const linked = await attempt(tableApi.update(table, sysId, { [field]: to }));
  return linked.ok && storedValue(linked.value, field) === to
    ? `${name} refers to it now (${field}; version ${storedValue(linked.value, "sys_mod_count")} of ${name})`
    : `${name} could not be made to refer to it (${field}): set it with servicenow_update`;
}

const fields = { team: "work_notes", caller: "comments" } as const;

/** Adds a work note for the team, or a reply that the caller sees. */
export async function addNote(
  parts: DeskParts,
  { id, table, audience, text, dryRun }: RecordName & {
    readonly dryRun: boolean;
    readonly audience: "team" | "caller";
    readonly text: string;
  },
): Promise<ChangeReport> {
  if (text.trim() === "") throw invalidInput("text must not be empty");
  if (text.length > maxTextCharacters) throw invalidInput(`text must have at most ${maxTextCharacters} characters`);
  const found = await findRecord(parts, { id, table }, { writing: true });
  if (found.table === "sysapproval_approver") throw invalidInput("use servicenow_approve for approvals");
  const name = fields[audience];
  const columns = await columnsOf(parts, found.table);
  const column = await namedColumn(parts, columns, name);
  const label = audience === "caller" ? `${column.label}, which the caller reads` : column.label;
  const values: readonly ResolvedValue[] = [
    { name, column: { ...column, label, type: "journal_input" }, stored: text, shown: text },
  ];
  return await sendChange(parts, found, { values, dryRun, seen: parts.seen.of(found.sysId) });
}

// Values in people's words become what the instance stores. What cannot be resolved is refused before anything is sent.

/** Free text that is sent to the instance. */
export const maxTextCharacters = 20_000;

// Values as callers write them: `name=value`, one a line, or a JSON object if a value has several lines.

const maxValues = 60;
/** Lines that are looked at, empty ones included. */
const maxLines = 2_000;
/** Of a field, or of a question of the catalog. */
const maxNameCharacters = 200;

/**
 * A name and its value; an empty value clears the field. `next` is the line after it: part of it perhaps, where the
 * value is a text.
 */
export type GivenValue = readonly [name: string, value: string, next?: string];

/** Refuses a text that a line follows: pasted words must not set fields. */
export function refuseLineAfter(name: string, next: string | undefined, parameter: string): void {
  if (next === undefined) return;
  const shown = next.trim().slice(0, 60).toWellFormed();
  throw invalidInput(
    `${parameter}: the lines after ${name} may be part of its text ("${shown}"); ` +
      `give a JSON object: {"${name}": "…", …}`,
  );
}

/** A line that is not `name=value` is refused: pasted text must not set fields. */
export function parseValueLines(text: string, parameter: string, isChange = false): readonly GivenValue[] {
  const values = text.trim().startsWith("{") ? fromJson(text, parameter, isChange) : fromLines(text, parameter);
  if (values.length > maxValues) throw invalidInput(`${parameter} takes at most ${maxValues} values`);
  const names = values.map(([name]) => name.trim().toLowerCase());
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw invalidInput(`${parameter} gives ${excerpt(twice)} twice`);
  const long = values.find(([, value]) => value.length > maxTextCharacters);
  if (long !== undefined) throw invalidInput(`${excerpt(long[0])} must have at most ${maxTextCharacters} characters`);
  return values;
}

/** What is null was left out; in a change it might empty the field instead. */
function fromJson(text: string, parameter: string, isChange: boolean): readonly GivenValue[] {
  const parsed = parseJson(text);
  if (!isObject(parsed)) throw invalidInput(`${parameter} begins like JSON and is none`);
  const values = Object.entries(parsed).map(([name, value]) => [name, plainOf(name, value)] as const);
  const [empty] = isChange ? values.find(([, value]) => value === null) ?? [] : [];
  if (empty !== undefined) throw invalidInput(`${excerpt(empty)} is null: leave it out, or give "" to empty it`);
  const told = values.filter(([, value]) => value !== null);
  const wrong = told.find(([, value]) => !["string", "number", "boolean"].includes(typeof value));
  if (wrong !== undefined) {
    throw invalidInput(`${parameter}: ${excerpt(wrong[0])} takes one value: a text, a number, true or false`);
  }
  return told.map(([name, value]) => [name, String(value)] as const);
}

/** A value as the Table API gives it, with `sysparm_display_value`, and a list of people. */
function plainOf(name: string, value: unknown): unknown {
  if (Array.isArray(value)) return /_list$/.test(name) ? value.join(", ") : value.length === 1 ? value[0] : value;
  return isObject(value) && ("display_value" in value || "value" in value)
    ? value["value"] ?? value["display_value"]
    : value;
}

function fromLines(text: string, parameter: string): readonly GivenValue[] {
  const values: GivenValue[] = [];
  const lines = text.split(/\r?\n/, maxLines + 1);
  if (lines.length > maxLines) throw invalidInput(`${parameter} takes at most ${maxValues} values`);
  const filled = lines.filter((line) => line.trim() !== "");
  for (const [index, line] of filled.entries()) {
    const sign = line.indexOf("=");
    const name = line.slice(0, sign).trim();
    const value = line.slice(sign + 1);
    if (sign === -1 || name === "" || name.length > maxNameCharacters) {
      throw invalidInput(
        `${parameter}: "${excerpt(line)}" is not name=value; give a text of several lines ` +
          'as JSON: {"description": "first\\nsecond"}',
      );
    }
    const second = /(?:[,;]|\sand\s)\s*([a-z][a-z_]{2,})\s*=/.exec(value)?.[1];
    if (second !== undefined) { // several in one line would all end up in the first field
      throw invalidInput(
        `${parameter}: ${second} stands in the value of ${name}; give a JSON object: {"${name}": "…", "${second}": "…"}`,
      );
    }
    const next = filled[index + 1];
    const plain = value.trim().replace(/^(["'])((?:(?!\1).)*)\1$/, "$2");
    values.push(next === undefined ? [name, plain] : [name, plain, next]);
  }
  return values;
}

interface ResolvedValue {
  readonly name: string;
  readonly column: Column;
  readonly stored: string;
  /** What people see of it. */
  readonly shown: string;
  /** What is not known of it. */
  readonly doubt?: string;
}

async function resolveValues(
  parts: DeskParts,
  columns: TableColumns,
  values: readonly GivenValue[],
  record: RecordFields = {},
): Promise<readonly ResolvedValue[]> {
  const resolved: ResolvedValue[] = [];
  for (const [given, value, next] of values) {
    const column = await namedColumn(parts, columns, given);
    if (resolved.some(({ name }) => name === column.name)) throw invalidInput(`${column.name} is given twice`);
    const changed = new Set(resolved.map(({ name }) => name));
    const kept = Object.keys(record).filter((name) => !changed.has(name)).map((name) => storedValue(record, name));
    const others = [...resolved.map(({ stored }) => stored), ...kept];
    const { isText = false, ...one } = await resolveValue(parts, { columns, column, value, record, others });
    if (isText) refuseLineAfter(column.name, next, "values");
    const isKnown = columns.columns.some(({ name }) => name === column.name);
    const doubt = isKnown ? {} : { doubt: `whether there is a field ${column.name} is not known: it is sent as given` };
    resolved.push({ name: column.name, column, ...doubt, ...one });
  }
  return resolved;
}

/** `isText`: any text would be taken. */
type Value = Pick<ResolvedValue, "stored" | "shown" | "doubt"> & { readonly isText?: boolean };

async function resolveValue(
  parts: DeskParts,
  { columns, column, value, record, others }: {
    readonly columns: TableColumns;
    readonly column: Column;
    readonly value: string;
    readonly record: RecordFields;
    /** What other fields hold. */
    readonly others: readonly string[];
  },
): Promise<Value> {
  const { name, type, reference } = column;
  if (name.startsWith("sys_") || name === "number") throw invalidInput(`${name} is kept by ServiceNow itself`);
  if (name === "comments") {
    throw invalidInput("comments go to the caller: use servicenow_add_note with audience=caller");
  }
  if (value === "") return { stored: "", shown: "" };
  if (reference !== null && type === "glide_list") {
    return await listValue(parts, { table: reference, text: value, field: name }, record);
  }
  if (reference !== null) {
    const one = await attempt(resolveReference(parts, { table: reference, text: value, field: name }));
    if (one.ok) return { stored: one.value.sysId, shown: one.value.name };
    const isNone = one.error.reason === "invalid_input" && /^(none|null|no one|unassigned|empty)$/i.test(value);
    throw isNone ? invalidInput(`${one.error.message}; give "" to empty it`) : new Refusal(one.error);
  }
  if (type === "boolean") {
    const isTrue = truthOf(value);
    if (isTrue === null) throw invalidInput(`${name} is true or false`);
    return { stored: String(isTrue), shown: String(isTrue) };
  }
  if (column.choice !== "none") {
    const { choices, isWhole } = await choicesOfColumn(parts, columns, column);
    if (choices.length > 0 && (isWhole || valuesOfChoice(value, choices).length > 0)) {
      // one label may stand for several values, each with another value of the field that it depends on
      const offered = choices.filter(({ dependsOn = "" }) => dependsOn === "" || others.includes(dependsOn));
      return choiceValue(name, value, valuesOfChoice(value, offered).length > 0 ? offered : choices);
    }
    if (column.choice === "list" || (column.choice === "untold" && choices.length > 0)) {
      // Not all are known: as a record has it stored, or as it was given.
      const found = await unlistedChoice(parts, columns, { name, word: value, choices });
      if (found === null) throw invalidInput(notAmongKnown(name, value, choices));
      const doubt = `whether ${name} has such a value is not known: it is sent as given`;
      const [one] = found;
      return one ? { stored: one.value, shown: one.label } : { stored: value, shown: value, doubt };
    }
  }
  if (/^(glide_date|glide_date_time|due_date)$/.test(type)) {
    return await dateValue(parts, { name, value, isDay: type === "glide_date" });
  }
  const length = lengthTypes.test(type) ? parseLength(value) : undefined;
  if (length === null) throw invalidInput(`${name}: write a length of time such as 1 day 3 hours`);
  if (length !== undefined) return { stored: length, shown: lengthWords(length) };
  if (isNumeric(type) && !isNumber(value)) throw invalidInput(`${name} must be a number`);
  return { stored: value, shown: value, isText: !isNumeric(type) };
}

/** `+ada, -ben` changes the list that the record has; names alone are the whole list, and must keep those in it. */
async function listValue(
  parts: DeskParts,
  { text, ...field }: { readonly table: string; readonly text: string; readonly field: string },
  record: RecordFields,
): Promise<Value> {
  const names = text.split(/[,|]/).map((name) => name.trim());
  if ("sys_id" in record && !(field.field in record)) {
    throw invalidInput(`ServiceNow does not show this user ${field.field}: who is in it now would be lost`);
  }
  const idsOf = (list: string): readonly string[] => list.split(",").map((id) => id.trim()).filter((id) => id !== "");
  const now = idsOf(storedValue(record, field.field));
  if (names.every((name) => /^[+-]/.test(name))) {
    const idsBehind = async (sign: string): Promise<readonly string[]> => {
      const own = names.filter((name) => name.startsWith(sign)).map((name) => name.slice(1).trim());
      return own.length === 0 ? [] : idsOf((await resolveList(parts, { ...field, text: own.join(",") })).stored);
    };
    const [added, removed] = [await idsBehind("+"), await idsBehind("-")];
    const stored = [...new Set([...now, ...added])].filter((id) => !removed.includes(id)).join(",");
    return { stored, shown: text };
  }
  const whole = await resolveList(parts, { ...field, text });
  if (now.every((id) => whole.stored.split(",").includes(id))) return whole;
  const shown = displayValue(record, field.field);
  throw invalidInput(`${field.field} has ${shown}: write +NAME to add and -NAME to remove`);
}

/** A choice that is offered; one that is not any more where no other is meant, for records may hold it. */
function choiceValue(name: string, value: string, choices: ColumnChoices["choices"]): Value {
  const offered = valuesOfChoice(value, offeredChoices(choices));
  const [stored, other] = offered.length > 0 ? offered : valuesOfChoice(value, choices);
  if (stored !== undefined && other === undefined) {
    const shown = labelOf(stored, choices) ?? stored;
    if (offered.length > 0) return { stored, shown };
    const doubt = `${name}: ${shown} is none of the values that forms offer now: it is sent as given`;
    return { stored, shown, doubt };
  }
  const word = `"${excerpt(value)}"`;
  const fault = stored === undefined ? `cannot be ${word}; its values` : `${word} means several values; give one of`;
  throw invalidInput(`${name} ${fault}: ${listChoices(choices)}`);
}
