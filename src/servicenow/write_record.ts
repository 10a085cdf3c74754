/** Creates and updates records. Each request that writes is sent once; what it did is read from the instance's answer. */
import { type DeskParts, isSecretField } from "./table_api.ts";
import { cutText, displayValue, oneLine, plainText, type RecordFields, storedValue } from "./field_values.ts";
import {
  type GivenValue,
  maxTextCharacters,
  parseValueLines,
  type ResolvedValue,
  resolveValues,
} from "./resolve_values.ts";
import { findRecord, type FoundRecord, type RecordName } from "./find_record.ts";
import { fieldsOfState, nextStates } from "./choices.ts";
import { columnsOf, namedColumn, type TableColumns, unknownColumn } from "./columns.ts";
import { attempt, invalidInput, Refusal, type ServicenowFailure } from "./failure.ts";
import { linkTo, nameOf, shownValue } from "./search.ts";
import { knownTable, namedLines, namesIn } from "./tables.ts";

// The outcome of a change: what the instance accepted, dropped, and changed besides.

/** What a field held before a change, and what it holds after. */
export interface FieldChange {
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
      notTaken: values.filter((value) => !taken.includes(value)).map(({ name, shown }) => ({
        name,
        wanted: short(shown),
        now: name in after ? short(shownValue(after, name)) : null,
        isUnknown: !(name in after) && !isUnchanged,
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
  if (!(name in after)) return false;
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
  throw invalidInput(`${what}. Nothing was sent`);
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
  const given = parseValueLines(text, "values");
  if (given.length === 0) throw invalidInput("values must name at least one field");
  const found = await findRecord(parts, { id, table }, { writing: true });
  const { record: before } = found;
  if (found.table === "sysapproval_approver") throw invalidInput("use servicenow_approve for approvals");
  const version = storedValue(before, "sys_mod_count");
  if (ifVersion !== undefined && !/^\d+$/.test(ifVersion)) {
    throw invalidInput(
      `if_version is ${ifVersion === "" ? "empty" : "no number"}; the record's version is ${version}`,
    );
  }
  const by = shownValue(before, "sys_updated_by");
  const seen = ifVersion ?? (by === parts.person.account.userName ? undefined : parts.seen.of(found.sysId));
  if (seen !== undefined && seen !== version) {
    throw invalidInput(
      `the record has changed: version ${version}, by ${by}, ${shownValue(before, "sys_updated_on")}. Read it again` +
        (ifVersion === undefined ? `, or give if_version=${version} to write all the same` : ""),
    );
  }
  const columns = await columnsOf(parts, found.table);
  const values = await resolveValues(parts, columns, given, before);
  await refuseMissing(parts, columns, { values, record: before });
  const made = await sendChange(parts, found, { values, dryRun });
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
  { values, dryRun }: { readonly values: readonly ResolvedValue[]; readonly dryRun: boolean },
): Promise<ChangeReport> {
  const { table, sysId, record: before } = found;
  const { planned, finish } = planChange(parts, { table, before, values });
  if (dryRun) return planned;
  const body = Object.fromEntries(values.map(({ name, stored }) => [name, stored]));
  const after = await attempt(parts.tableApi.update(table, sysId, body));
  if (!after.ok) throw new Refusal(await refusalOfWrite(parts, found, after.error));
  parts.seen.note(after.value);
  return finish(after.value);
}

/** The instance's refusal, with what it does not say: which state the record is in, and that it is closed. */
async function refusalOfWrite(
  parts: DeskParts,
  found: FoundRecord,
  error: ServicenowFailure,
): Promise<ServicenowFailure> {
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
  if (column === null) throw invalidInput(unknownColumn(columns, name));
  const label = audience === "caller" ? `${column.label}, which the caller reads` : column.label;
  const values: readonly ResolvedValue[] = [
    { name, column: { ...column, label, type: "journal_input" }, stored: text, shown: text },
  ];
  return await sendChange(parts, found, { values, dryRun });
}
