/** Creates and updates records. Each request that writes is sent once; what it did is read from the instance's answer. */
import { type Result, success } from "../lib/result.ts";
import type { DeskParts } from "./desk_parts.ts";
import { invalidInput, type ServicenowFailure } from "./failure.ts";
import { storedValue } from "./field_values.ts";
import type { Person } from "./person_cache.ts";
import { findRecord, type FoundRecord } from "./find_record.ts";
import { shownValue } from "./shown_record.ts";
import { finishedReport, plannedReport, refusalOfWrite } from "./change_report.ts";
import type { ChangeReport, CreateRequest, UpdateRequest } from "./changes_port.ts";
import { choicesOfMissing, missingFields } from "./required_fields.ts";
import { resolveValues } from "./resolve_values.ts";
import { type GivenValue, parseValueLines } from "./value_lines.ts";
import { columnsOf } from "./columns.ts";

type Answer = Promise<Result<ChangeReport, ServicenowFailure>>;

export async function updateRecord(
  parts: DeskParts,
  { id, table, values: text, ifVersion, dryRun }: UpdateRequest,
  person: Person,
): Answer {
  const given = parseValueLines(text, "values");
  if (!given.ok) return invalidInput(given.error);
  if (given.value.length === 0) return invalidInput("values must name at least one field");
  const found = await findRecord(parts, { id, table }, person, { writing: true });
  if (!found.ok) return found;
  const { record: before } = found.value;
  if (found.value.table === "sysapproval_approver") return invalidInput("use servicenow_approve for approvals");
  const version = storedValue(before, "sys_mod_count");
  if (ifVersion !== undefined && ifVersion !== version) {
    const by = shownValue(before, "sys_updated_by");
    const at = shownValue(before, "sys_updated_on");
    if (ifVersion === "") return invalidInput(`if_version is empty; the record's version is ${version}`);
    return invalidInput(`the record has changed: version ${version}, by ${by}, ${at}. Read it again`);
  }
  return await writeChange(parts, { found: found.value, given: given.value, dryRun }, person);
}

/** Changes a record that was found, and says what came of it. */
async function writeChange(
  parts: DeskParts,
  { found: { table, sysId, record: before }, given, dryRun }: {
    readonly found: FoundRecord;
    readonly given: readonly GivenValue[];
    readonly dryRun: boolean;
  },
  person: Person,
): Answer {
  const columns = await columnsOf(parts, table, person);
  if (!columns.ok) return columns;
  const resolved = await resolveValues(parts, columns.value, given, person);
  if (!resolved.ok) return resolved;
  const values = resolved.value;
  const missing = missingFields(columns.value, values, before);
  if (missing.length > 0) {
    const choices = await choicesOfMissing(parts, columns.value, missing, person);
    return invalidInput(`${missing.join(" and ")} must be given for this change${choices}. Nothing was sent`);
  }
  const { origin } = parts.instance;
  const planned = plannedReport({ table, record: before, origin, values });
  if (dryRun) return success(planned);
  const body = Object.fromEntries(values.map(({ name, stored }) => [name, stored]));
  const after = await parts.tableApi.update(table, sysId, body, person);
  return after.ok
    ? success(finishedReport(planned, { before, after: after.value, origin, values }))
    : refusalOfWrite(after.error, before);
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
  { table: named, values: text, from, dryRun }: CreateRequest,
  person: Person,
): Answer {
  const table = parts.access.writable(named);
  if (!table.ok) return table;
  const given = parseValueLines(text, "values");
  if (!given.ok) return invalidInput(given.error);
  const columns = await columnsOf(parts, table.value, person);
  if (!columns.ok) return columns;
  const has = (name: string): boolean => columns.value.columns.some((column) => column.name === name);
  const source = from === undefined ? success(null) : await findRecord(parts, { id: from }, person);
  if (!source.ok) return source;
  const link = source.value === null ? undefined : origins[`${source.value.table} ${table.value}`];
  if (source.value !== null && link === undefined) {
    return invalidInput(notMadeFrom(table.value, source.value.table));
  }
  const resolved = await resolveValues(parts, columns.value, given.value, person);
  if (!resolved.ok) return resolved;
  const inherited = source.value === null ? [] : inheritedValues(source.value, link?.forward, has);
  const defaults: readonly GivenValue[] = table.value === "incident" ? [["caller_id", "me"]] : [];
  const further = [...inherited, ...defaults].filter(([name]) =>
    has(name) && !resolved.value.some((value) => value.name === name)
  );
  const added = await resolveValues(parts, columns.value, further, person);
  if (!added.ok) return added;
  const number = source.value === null ? "" : shownValue(source.value.record, "number");
  const linked = added.value.map((value) => value.name === link?.forward ? { ...value, shown: number } : value);
  const values = [...resolved.value, ...linked];
  const missing = missingFields(columns.value, values, null);
  if (missing.length > 0) {
    const choices = await choicesOfMissing(parts, columns.value, missing, person);
    return invalidInput(`${table.value} must have ${missing.join(" and ")}${choices}. Nothing was sent`);
  }
  const { origin } = parts.instance;
  const planned = plannedReport({ table: table.value, record: null, origin, values });
  if (dryRun) return success(planned);
  const body = Object.fromEntries(
    values.filter(({ stored }) => stored !== "").map(({ name, stored }) => [name, stored]),
  );
  const after = await parts.tableApi.insert(table.value, body, person);
  if (!after.ok) return after;
  const report = finishedReport(planned, { before: null, after: after.value, origin, values });
  if (source.value === null || link?.back === undefined) return success(report);
  const sysId = storedValue(after.value, "sys_id");
  const note = await linkBack(parts, source.value, { field: link.back, to: sysId }, person);
  // To be referred to may have changed the new record.
  const now = await parts.tableApi.row(table.value, sysId, person, ["sys_mod_count"]);
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
  person: Person,
): Promise<string> {
  const name = shownValue(record, "number");
  const linked = await tableApi.update(table, sysId, { [field]: to }, person);
  return linked.ok && storedValue(linked.value, field) === to
    ? `${name} refers to it now (${field}; version ${storedValue(linked.value, "sys_mod_count")} of ${name})`
    : `${name} could not be made to refer to it (${field}): set it with servicenow_update`;
}
