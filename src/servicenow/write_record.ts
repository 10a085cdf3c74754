/** Creates and updates records. Each request that writes is sent once; what it did is read from the instance's answer. */
import type { DeskParts } from "./table_api.ts";
import { oneLine, type RecordFields, storedValue } from "./field_values.ts";
import { type ChangeReport, planChange } from "./change_report.ts";
import {
  type GivenValue,
  maxTextCharacters,
  parseValueLines,
  type ResolvedValue,
  resolveValues,
} from "./resolve_values.ts";
import { findRecord, type FoundRecord, type RecordName } from "./find_record.ts";
import { choicesOfColumn, fieldsOfState, listChoices, nextStates } from "./choices.ts";
import { columnsOf, namedColumn, type TableColumns, unknownColumn } from "./columns.ts";
import { type Answer, invalidInput, type ServicenowFailure } from "./failure.ts";
import { shownValue } from "./search.ts";
import { failure, success } from "../lib/result.ts";

// Fields that a record is known to need before the instance accepts a change.

/** What the base system's data policies ask of each new record. */
const creating: Readonly<Record<string, readonly string[]>> = {
  incident: ["short_description", "caller_id"],
  problem: ["short_description"],
  change_request: ["short_description"],
  kb_knowledge: ["short_description", "kb_knowledge_base"],
};

/** Refuses where neither the record nor the change fills a mandatory field; `null` where all are filled. */
async function refuseMissing(
  parts: DeskParts,
  described: TableColumns,
  { values, record }: { readonly values: readonly ResolvedValue[]; readonly record: RecordFields | null },
) {
  const { table, columns, source } = described;
  const filled = (name: string): boolean => {
    const given = values.find((value) => value.name === name);
    return (given === undefined ? record === null ? "" : storedValue(record, name) : given.stored) !== "";
  };
  const wanted = new Set<string>(record === null ? creating[table] ?? [] : []);
  if (record === null && source === "dictionary") {
    for (const { name, mandatory, hasDefault } of columns) if (mandatory && !hasDefault) wanted.add(name);
  }
  for (const { name, column } of values) if (column.mandatory) wanted.add(name);
  const state = values.find(({ name }) => name === "state")?.stored ?? "";
  const known = new Set(columns.map(({ name }) => name));
  for (const name of await fieldsOfState(parts, table, state)) if (known.has(name)) wanted.add(name);
  const missing = [...wanted].filter((name) => !filled(name));
  if (missing.length === 0) return null;
  const [names, choices] = [missing.join(" and "), await choicesOfMissing(parts, described, missing)];
  return record === null
    ? invalidInput(`${table} must have ${names}${choices}. Nothing was sent`)
    : invalidInput(`${names} must be given for this change${choices}. Nothing was sent`);
}

/** The choices of those fields that have some, as the end of a refusal: they save the caller a guess. */
async function choicesOfMissing(parts: DeskParts, columns: TableColumns, missing: readonly string[]): Promise<string> {
  let text = "";
  for (const column of columns.columns) {
    if (column.choice === "none" || column.choice === "untold" || !missing.includes(column.name)) continue;
    const choices = await choicesOfColumn(parts, columns, column);
    if (choices.ok && choices.value.choices.length > 0) {
      text += `; ${column.name}: ${listChoices(choices.value.choices)}`;
    }
  }
  return text;
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
): Answer<ChangeReport> {
  const given = parseValueLines(text, "values");
  if (!given.ok) return invalidInput(given.error);
  if (given.value.length === 0) return invalidInput("values must name at least one field");
  const found = await findRecord(parts, { id, table }, { writing: true });
  if (!found.ok) return found;
  const { record: before } = found.value;
  if (found.value.table === "sysapproval_approver") return invalidInput("use servicenow_approve for approvals");
  const version = storedValue(before, "sys_mod_count");
  if (ifVersion !== undefined && !/^\d+$/.test(ifVersion)) {
    return invalidInput(
      `if_version is ${ifVersion === "" ? "empty" : "no number"}; the record's version is ${version}`,
    );
  }
  const by = shownValue(before, "sys_updated_by");
  const seen = ifVersion ?? (by === parts.person.account.userName ? undefined : parts.seen.of(found.value.sysId));
  if (seen !== undefined && seen !== version) {
    return invalidInput(
      `the record has changed: version ${version}, by ${by}, ${shownValue(before, "sys_updated_on")}. Read it again` +
        (ifVersion === undefined ? `, or give if_version=${version} to write all the same` : ""),
    );
  }
  return await writeChange(parts, { found: found.value, given: given.value, dryRun });
}

/** Changes a record that was found, and says what came of it. */
async function writeChange(
  parts: DeskParts,
  { found, given, dryRun }: {
    readonly found: FoundRecord;
    readonly given: readonly GivenValue[];
    readonly dryRun: boolean;
  },
): Answer<ChangeReport> {
  const { table, sysId, record: before } = found;
  const columns = await columnsOf(parts, table);
  if (!columns.ok) return columns;
  const resolved = await resolveValues(parts, columns.value, given, before);
  if (!resolved.ok) return resolved;
  const values = resolved.value;
  const refusal = await refuseMissing(parts, columns.value, { values, record: before });
  if (refusal !== null) return refusal;
  const { planned, finish } = planChange(parts, { table, before, values });
  if (dryRun) return success(planned);
  const body = Object.fromEntries(values.map(({ name, stored }) => [name, stored]));
  const after = await parts.tableApi.update(table, sysId, body);
  if (!after.ok) return await refusalOfWrite(parts, found, after.error);
  parts.seen.note(after.value);
  const report = finish(after.value);
  const notes = [...report.notes];
  if (report.notTaken.some(({ name }) => name === "state")) {
    notes.push(`The state was ${oneLine(shownValue(before, "state"))}.${await nextStates(parts, found)}`);
  }
  const [from = NaN, to = NaN] = [before, after.value].map((record) => Number(storedValue(record, "sys_mod_count")));
  if (to > from + 1) {
    notes.push(
      `Version ${from} became ${to}: another change came between the look and the write, a colleague's or a ` +
        "rule's, and may be overwritten. Read the record and its journal",
    );
  }
  return success({ ...report, notes });
}

/** The instance's refusal, with what it does not say: which state the record is in, and that it is closed. */
async function refusalOfWrite(
  parts: DeskParts,
  found: FoundRecord,
  error: ServicenowFailure,
): Promise<{ readonly ok: false; readonly error: ServicenowFailure }> {
  const state = oneLine(shownValue(found.record, "state"));
  if (error.reason !== "forbidden" || error.said === undefined || state === "") return failure(error);
  const isClosed = storedValue(found.record, "active") === "false";
  const next = await nextStates(parts, found);
  return failure({
    ...error,
    said: `${error.said}.${next} The record is ${state}${isClosed ? ", and not active" : ""}`,
  });
}

/** How a new record refers to the one it comes from, and that one to it. */
const origins: Readonly<Record<string, { readonly forward?: string; readonly back?: string }>> = {
  "incident problem": { forward: "first_reported_by_task", back: "problem_id" },
  "incident change_request": { back: "rfc" },
  "problem change_request": { back: "rfc" },
  "incident incident": { forward: "parent_incident" },
  "incident kb_knowledge": { forward: "source" },
  "problem incident": { forward: "problem_id" },
  "problem kb_knowledge": { forward: "source" },
  "change_request incident": { forward: "caused_by" },
  "change_request change_task": { forward: "change_request" },
  "problem problem_task": { forward: "problem" },
  "sc_req_item sc_task": { forward: "request_item" },
  "sc_req_item incident": { forward: "parent" },
};
const copied = ["short_description", "description", "cmdb_ci", "business_service", "impact", "urgency"];

export async function createRecord(
  parts: DeskParts,
  { table: named, values: text, from, dryRun }: Pick<UpdateRequest, "dryRun" | "values"> & {
    readonly table: string;
    /** A record that the new one comes from. */
    readonly from?: string | undefined;
  },
): Answer<ChangeReport> {
  const table = parts.access.writable(named);
  if (!table.ok) return table;
  const given = parseValueLines(text, "values");
  if (!given.ok) return invalidInput(given.error);
  const columns = await columnsOf(parts, table.value);
  if (!columns.ok) return columns;
  const has = (name: string): boolean => columns.value.columns.some((column) => column.name === name);
  const source = from === undefined ? success(null) : await findRecord(parts, { id: from });
  if (!source.ok) return source;
  const link = source.value === null ? undefined : origins[`${source.value.table} ${table.value}`];
  if (source.value !== null && link === undefined) {
    return invalidInput(notMadeFrom(table.value, source.value.table));
  }
  const resolved = await resolveValues(parts, columns.value, given.value);
  if (!resolved.ok) return resolved;
  const inherited = source.value === null ? [] : inheritedValues(source.value, link?.forward, has);
  const defaults: readonly GivenValue[] = table.value === "incident" ? [["caller_id", "me"]] : [];
  const further = [...inherited, ...defaults].filter(([name]) =>
    has(name) && !resolved.value.some((value) => value.name === name)
  );
  const added = await resolveValues(parts, columns.value, further);
  if (!added.ok) return added;
  const number = source.value === null ? "" : shownValue(source.value.record, "number");
  const linked = added.value.map((value) => value.name === link?.forward ? { ...value, shown: number } : value);
  const values = [...resolved.value, ...linked];
  const refusal = await refuseMissing(parts, columns.value, { values, record: null });
  if (refusal !== null) return refusal;
  const { planned, finish } = planChange(parts, { table: table.value, before: null, values });
  if (dryRun) return success(planned);
  const body = Object.fromEntries(
    values.filter(({ stored }) => stored !== "").map(({ name, stored }) => [name, stored]),
  );
  const after = await parts.tableApi.insert(table.value, body);
  if (!after.ok) return after;
  parts.seen.note(after.value);
  const report = finish(after.value);
  if (source.value === null || link?.back === undefined) return success(report);
  const sysId = storedValue(after.value, "sys_id");
  const note = await linkBack(parts, source.value, { field: link.back, to: sysId });
  // To be referred to may have changed the new record.
  const now = await parts.tableApi.row(table.value, sysId, ["sys_mod_count"]);
  const version = now.ok ? storedValue(now.value, "sys_mod_count") : null;
  return success({ ...report, version, notes: [...report.notes, note] });
}

function notMadeFrom(table: string, source: string): string {
  const made = Object.keys(origins).filter((pair) => pair.startsWith(`${source} `)).map((pair) => pair.split(" ")[1]);
  const others = made.length === 0 ? "" : `, and makes ${made.join(", ")}`;
  return `from names a record of ${source}, which makes no ${table}${others}; leave out from`;
}

function inheritedValues(
  { sysId, record }: FoundRecord,
  forward: string | undefined,
  has: (name: string) => boolean,
): readonly GivenValue[] {
  const values = copied.filter(has).map((name): GivenValue => [name, storedValue(record, name)])
    .filter(([, value]) => value !== "");
  return forward === undefined ? values : [...values, [forward, sysId]];
}

async function linkBack(
  { tableApi }: DeskParts,
  { table, sysId, record }: FoundRecord,
  { field, to }: { readonly field: string; readonly to: string },
): Promise<string> {
  const name = shownValue(record, "number");
  const linked = await tableApi.update(table, sysId, { [field]: to });
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
): Answer<ChangeReport> {
  if (text.trim() === "") return invalidInput("text must not be empty");
  if (text.length > maxTextCharacters) return invalidInput(`text must have at most ${maxTextCharacters} characters`);
  const found = await findRecord(parts, { id, table }, { writing: true });
  if (!found.ok) return found;
  const { record, sysId } = found.value;
  if (found.value.table === "sysapproval_approver") return invalidInput("use servicenow_approve for approvals");
  const name = fields[audience];
  const columns = await columnsOf(parts, found.value.table);
  if (!columns.ok) return columns;
  const column = await namedColumn(parts, columns.value, name);
  if (column === null) return invalidInput(unknownColumn(columns.value, name));
  const label = audience === "caller" ? `${column.label}, which the caller reads` : column.label;
  const values: readonly ResolvedValue[] = [
    { name, column: { ...column, label, type: "journal_input" }, stored: text, shown: text },
  ];
  const { planned, finish } = planChange(parts, { table: found.value.table, before: record, values });
  if (dryRun) return success(planned);
  const after = await parts.tableApi.update(found.value.table, sysId, { [name]: text });
  if (!after.ok) return await refusalOfWrite(parts, found.value, after.error);
  parts.seen.note(after.value);
  return success(finish(after.value));
}
