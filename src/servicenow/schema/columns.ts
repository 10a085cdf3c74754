/**
 * The columns of a table as one person sees them: from the dictionary, or where the instance keeps that from the person,
 * from a record of the table.
 */
import * as z from "zod";
import { type Result, success } from "../../lib/result.ts";
import { isSecretField, mayShowField } from "../access/field_access.ts";
import { knownTable } from "../access/known_tables.ts";
import type { DeskParts } from "../desk/desk_parts.ts";
import type { ServicenowFailure } from "../failure.ts";
import { storedValue } from "../field_values.ts";
import type { RecordFields } from "../port.ts";
import type { Person } from "./person_cache.ts";
import { askJson } from "../calls.ts";

export interface Column {
  readonly name: string;
  readonly label: string;
  /** The dictionary's internal type, such as `string`, `reference` or `glide_date_time`. */
  readonly type: string;
  /** The table that a reference leads to. */
  readonly reference: string | null;
  readonly mandatory: boolean;
  readonly hasDefault: boolean;
  readonly readOnly: boolean;
  /** Whether values come from a list of choices, and whether other values are taken too. */
  readonly choice: "none" | "list" | "suggestion";
}

export interface TableColumns {
  readonly table: string;
  /** The table and those that it extends, nearest first. */
  readonly lineage: readonly string[];
  /** Columns that may be shown and searched. */
  readonly columns: readonly Column[];
  /** `records`: the person may not read the dictionary, so types and mandatory fields are partly unknown. */
  readonly source: "dictionary" | "records";
}

const maxColumns = 1_000;
const dictionaryFields = [
  "name",
  "element",
  "column_label",
  "internal_type",
  "reference",
  "mandatory",
  "default_value",
  "read_only",
  "choice",
];

/** The columns that the person may see of a table. */
export function columnsOf(
  parts: DeskParts,
  table: string,
  person: Person,
): Promise<Result<TableColumns, ServicenowFailure>> {
  return parts.remember(person, ["columns", table], async () => {
    const lineage = await lineageOf(parts, table, person);
    const listed = await fromDictionary(parts, lineage, person);
    const source = listed.length > 0 ? "dictionary" : "records";
    const columns = source === "dictionary" ? success(listed) : await fromRecord(parts, table, person);
    if (!columns.ok) return columns;
    const shown = columns.value.filter(({ name, type }) => mayShowField(table, name, type));
    return success({ table, lineage, columns: shown, source } as const);
  });
}

async function lineageOf({ tableApi }: DeskParts, table: string, person: Person): Promise<readonly string[]> {
  const known = knownTable(table);
  if (known?.name === table && !table.startsWith("cmdb_")) return [table, ...known.parents ?? []];
  const steps = ["", ".super_class", ".super_class.super_class", ".super_class.super_class.super_class"];
  const fields = steps.map((step) => `${step}.name`.slice(1));
  const request = { query: `name=${table}`, fields, limit: 1, stored: true };
  const found = await tableApi.rows("sys_db_object", request, person);
  const [row] = found.ok ? found.value.rows : [];
  const names = fields.map((field) => row === undefined ? "" : storedValue(row, field)).filter((name) => name !== "");
  return names.length > 0 ? names : [table, ...(table.startsWith("cmdb_ci_") ? ["cmdb_ci"] : [])];
}

async function fromDictionary(
  { tableApi }: DeskParts,
  lineage: readonly string[],
  person: Person,
): Promise<readonly Column[]> {
  const query = `nameIN${lineage.join(",")}^elementISNOTEMPTY^active=true`;
  const found = await tableApi.rows(
    "sys_dictionary",
    { query, fields: dictionaryFields, limit: maxColumns, stored: true },
    person,
  );
  if (!found.ok) return [];
  const nearestFirst = found.value.rows.toSorted((a, b) =>
    lineage.indexOf(storedValue(a, "name")) - lineage.indexOf(storedValue(b, "name"))
  );
  const columns = new Map<string, Column>();
  for (const row of nearestFirst) {
    const column = toColumn(row);
    if (!columns.has(column.name)) columns.set(column.name, column);
  }
  return [...columns.values()];
}

async function fromRecord(
  { callAs }: DeskParts,
  table: string,
  person: Person,
): Promise<Result<readonly Column[], ServicenowFailure>> {
  const request = {
    path: `/api/now/table/${table}`,
    query: { sysparm_display_value: "false", sysparm_limit: "1" },
  };
  const parsed = await askJson(callAs, person, request, z.array(z.record(z.string(), z.unknown())));
  if (!parsed.ok) return parsed;
  const [row = {}] = parsed.value;
  const names = new Set([...Object.keys(row), ...knownTable(table)?.summaryFields ?? []]);
  return success([...names].filter((name) => !name.includes(".")).map((name) => guessColumn(name, row[name])));
}

function toColumn(row: RecordFields): Column {
  const choice = storedValue(row, "choice");
  const name = storedValue(row, "element");
  return {
    name,
    label: storedValue(row, "column_label") || name,
    type: storedValue(row, "internal_type") || "string",
    reference: storedValue(row, "reference") || (listsOfPeople.test(name) ? "sys_user" : null),
    mandatory: storedValue(row, "mandatory") === "true",
    hasDefault: storedValue(row, "default_value") !== "",
    readOnly: storedValue(row, "read_only") === "true",
    choice: choice === "1" || choice === "3" ? "list" : choice === "2" ? "suggestion" : "none",
  };
}

const listsOfPeople = /^(watch_list|work_notes_list|additional_assignee_list)$/;

/** References that every instance has, for people who may not read the dictionary. */
const usualReferences: Readonly<Record<string, string>> = {
  caller_id: "sys_user",
  opened_by: "sys_user",
  assigned_to: "sys_user",
  requested_by: "sys_user",
  requested_for: "sys_user",
  approver: "sys_user",
  author: "sys_user",
  manager: "sys_user",
  user: "sys_user",
  assignment_group: "sys_user_group",
  group: "sys_user_group",
  cmdb_ci: "cmdb_ci",
  department: "cmn_department",
  location: "cmn_location",
  parent_incident: "incident",
  problem_id: "problem",
  problem: "problem",
  rfc: "change_request",
  change_request: "change_request",
  request: "sc_request",
  request_item: "sc_req_item",
  cat_item: "sc_cat_item",
  kb_knowledge_base: "kb_knowledge_base",
};
const usualChoices =
  /^(state|priority|urgency|impact|category|subcategory|risk|type|approval|close_code|contact_type|hold_reason|resolution_code|stage|workflow_state|request_state)$/;
const dates = /(_at|_on|_date|_time|^due_date|^published|^valid_to)$/;

function guessColumn(name: string, value: unknown): Column {
  const link = typeof value === "object" && value !== null && "link" in value ? String(value.link) : "";
  const [, linked] = /\/table\/([a-z0-9_]+)\//.exec(link) ?? [];
  const reference = linked ?? usualReferences[name] ?? null;
  const isBoolean = value === "true" || value === "false";
  const type = reference !== null
    ? "reference"
    : isBoolean
    ? "boolean"
    : dates.test(name)
    ? "glide_date_time"
    : "string";
  return {
    name,
    label: name.replaceAll("_", " "),
    type: isSecretField(name) ? "password" : type,
    reference,
    mandatory: false,
    hasDefault: false,
    readOnly: false,
    choice: usualChoices.test(name) && reference === null ? "list" : "none",
  };
}
