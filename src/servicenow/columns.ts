/**
 * The columns of a table as one person sees them: from the dictionary, or where the instance keeps that from the
 * person, from a record of the table.
 */
import * as z from "zod";
import { isKept, knownTable, namedLines, namesIn } from "./tables.ts";
import { type DeskParts, hasFixedFields, isSecretField, mayShowField, newestFirst, toQueryValue } from "./table_api.ts";
import { attempt, excerpt, ifShown, invalidInput, Refusal } from "./failure.ts";
import { type RecordFields, storedValue } from "./field_values.ts";
import { closestWord } from "../lib/suggestible.ts";
import { lengthNames } from "./dates.ts";
import { askJson } from "./transport.ts";

/** Columns of the base system, beside those that a list of the table shows or looks for words in. */
const usual = `
  task: description active urgency impact approval opened_by opened_at closed_by closed_at due_date work_start work_end cmdb_ci business_service parent location company contact_type watch_list work_notes_list reassignment_count made_sla comments work_notes close_notes sys_class_name
  incident: category subcategory severity hold_reason close_code resolved_at resolved_by reopen_count problem_id rfc caused_by parent_incident
  problem: category first_reported_by_task known_error workaround cause_notes fix_notes resolution_code rfc resolved_at resolved_by
  problem_task: problem_task_type close_code
  change_request: category requested_by justification implementation_plan risk_impact_analysis backout_plan test_plan cab_required conflict_status on_hold on_hold_reason close_code reason
  change_task: change_task_type planned_start_date planned_end_date close_code on_hold
  sc_request: special_instructions
  sc_req_item: quantity price
  sc_task: request
  sysapproval_approver: comments due_date source_table document_id
  kb_knowledge: text kb_category valid_to active topic article_type
  cmdb_ci: short_description asset_tag serial_number install_status managed_by assigned_to ip_address environment department company
  task_sla: start_time end_time business_percentage
`;
const usualOf: ReadonlyMap<string, string> = new Map(namedLines(usual));

/** Names of columns; `lineage` is the table and its parent tables. Empty for a table that is not known here. */
function usualColumns(lineage: readonly string[]): readonly string[] {
  const known = lineage.flatMap((table) => knownTable(table) ?? []);
  const names = known.flatMap((
    { name, summaryFields, textFields },
  ) => [...namesIn(usualOf.get(name) ?? ""), ...summaryFields, ...textFields]);
  const own = names.filter((name) => !name.includes("."));
  return own.length === 0 ? [] : [...new Set([...own, "sys_created_on", "sys_created_by", "sys_updated_on"])];
}

const references = `
  sys_user: caller_id opened_by assigned_to requested_by requested_for approver author manager managed_by owned_by resolved_by closed_by user member watch_list work_notes_list additional_assignee_list
  sys_user_group: assignment_group group support_group
  cmdb_ci: cmdb_ci
  cmdb_ci_service: business_service
  cmn_department: department
  cmn_location: location
  core_company: company
  task: parent first_reported_by_task sysapproval task
  incident: parent_incident
  problem: problem_id problem
  change_request: rfc change_request caused_by
  sc_request: request
  sc_req_item: request_item
  sc_cat_item: cat_item
  kb_knowledge_base: kb_knowledge_base
  kb_category: kb_category
`;
/** By column: the table that it leads to in every instance. */
const usualReferences: ReadonlyMap<string, string> = new Map(
  namedLines(references).flatMap(([table, names]) => namesIn(names).map((name) => [name, table] as const)),
);

/** Labels of the base system that are not the column's name in words. */
const labels = "caller_id=Caller|start_date=Planned start date|end_date=Planned end date|work_start=Actual start|" +
  "work_end=Actual end|cmdb_ci=Configuration item|hold_reason=On hold reason|contact_type=Channel|opened_at=Opened|" +
  "closed_at=Closed|resolved_at=Resolved|rfc=Change request|problem_id=Problem|business_service=Service|" +
  "sys_created_on=Created|sys_updated_on=Updated|sys_class_name=Task type|first_reported_by_task=First reported by|" +
  "caused_by=Caused by change|cat_item=Item|kb_knowledge_base=Knowledge base";
const usualLabels: ReadonlyMap<string, string> = new Map(
  labels.split("|").map((each) => each.split("=") as [name: string, label: string]),
);

const listsOfPeople = /^(watch_list|work_notes_list|additional_assignee_list)$/;
/** Columns with a list of choices. */
const usualLists =
  /^(state|priority|urgency|impact|severity|category|subcategory|risk|type|approval|close_code|contact_type|hold_reason|resolution_code|stage|workflow_state|request_state|operational_status|install_status|conflict_status|(change|problem)_task_type)$/;
const types: readonly (readonly [type: string, names: RegExp])[] = [
  ["journal_input", /^(comments|work_notes)$/],
  ["boolean", /^(active|known_error|cab_required|on_hold|made_sla|vip|has_breached)$/],
  ["html", /^(text|workaround|cause_notes|fix_notes)$/],
  ["integer", /_count$|^(quantity|order|percentage)$/],
  ["glide_duration", lengthNames],
  ["glide_date_time", /(_at|_on|_date|_time|^due_date|^published|^valid_to|^work_(start|end))$/],
];

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
  /** Whether values come from a list of choices, and whether other values are taken too. `untold`: if it has choices. */
  readonly choice: "none" | "list" | "suggestion" | "untold";
}

/** Whether values of a column of this type are numbers. */
export function isNumeric(type: string): boolean {
  return /^(integer|decimal|float|longint|currency2?|price|percent_complete|order_index|auto_increment|numeric)$/.test(
    type,
  );
}

export interface TableColumns {
  readonly table: string;
  /** The table and its parent tables, nearest first. */
  readonly lineage: readonly string[];
  /** Columns that may be shown and searched. */
  readonly columns: readonly Column[];
  /** `records`: the person may not read the dictionary, so types and mandatory fields are partly unknown. */
  readonly source: "dictionary" | "records";
}

const maxColumns = 1_000;
/** Records that are looked at for columns. */
const rowsRead = 30;
const dictionaryFields = namesIn(
  "name element column_label internal_type reference mandatory default_value read_only choice",
);

/** The columns that the person may see of a table. */
export function columnsOf(parts: DeskParts, table: string): Promise<TableColumns> {
  return parts.remember(["columns", table], async () => {
    const lineage = await lineageOf(parts, table);
    const { columns: listed, isWhole } = await fromDictionary(parts, lineage);
    const source = isWhole ? "dictionary" : "records";
    const guessed = isWhole ? [] : await fromRecords(parts, { table, lineage });
    const names = new Set(listed.map(({ name }) => name));
    const columns = [...listed, ...guessed.filter(({ name }) => !names.has(name))];
    const shown = columns.filter(({ name, type }) => mayShowField(table, name, type));
    return { table, lineage, columns: shown, source } as const;
  });
}

async function lineageOf({ tableApi }: DeskParts, table: string): Promise<readonly string[]> {
  const known = knownTable(table);
  if (known?.name === table && !table.startsWith("cmdb_")) return [table, ...known.parents];
  const steps = ["", ".super_class", ".super_class.super_class", ".super_class.super_class.super_class"];
  const fields = steps.map((step) => `${step}.name`.slice(1));
  const request = { query: `name=${table}`, fields, limit: 1, stored: true };
  const [row = {}] = await tableApi.rowsIfShown("sys_db_object", request);
  const names = fields.map((field) => storedValue(row, field)).filter((name) => name !== "");
  return names.length > 0 ? names : [table, ...(table.startsWith("cmdb_ci_") ? ["cmdb_ci"] : [])];
}

/** `isWhole`: it has columns of each table of the lineage, and was not cut. Rows can be hidden from a person one by one. */
async function fromDictionary({ tableApi }: DeskParts, lineage: readonly string[]) {
  const query = `nameIN${lineage.join(",")}^elementISNOTEMPTY^active=true`;
  const request = { query, fields: dictionaryFields, limit: maxColumns, stored: true };
  const rows = await tableApi.rowsIfShown("sys_dictionary", request);
  const columns = Map.groupBy(nearestFirst(rows, lineage).map(toColumn), ({ name }) => name);
  const described = new Set(rows.map((row) => storedValue(row, "name")));
  return {
    columns: [...columns.values()].flatMap((same) => same.slice(0, 1)),
    isWhole: rows.length < maxColumns && lineage.every((each) => described.has(each)),
  };
}

/** Rows about a table, by `name`, before those about the tables that it extends. */
export function nearestFirst(rows: readonly RecordFields[], lineage: readonly string[]): readonly RecordFields[] {
  const distance = (row: RecordFields): number => lineage.indexOf(storedValue(row, "name"));
  return rows.toSorted((a, b) => distance(a) - distance(b));
}

/** Columns of the base system, and columns that occur in records: the newest, and the person's own. */
async function fromRecords(parts: DeskParts, { table, lineage }: Pick<TableColumns, "table" | "lineage">) {
  const columns = new Map(usualColumns(lineage).map((name) => [name, guessColumn(name, undefined)]));
  // A page is cut before the rights: the newest may all be hidden.
  const own = toQueryValue(parts.person.account.userName);
  for (const query of [newestFirst, ...own.ok ? [`sys_created_by=${own.value}`] : []]) {
    const seen = await attempt(seenColumns(parts, table, { query }));
    const isHidden = !seen.ok && /^(forbidden|not_found|rejected|too_large)$/.test(seen.error.reason);
    if (!seen.ok && (!isHidden || columns.size === 0)) throw new Refusal(seen.error);
    for (const column of seen.ok ? seen.value : []) columns.set(column.name, column);
  }
  return [...columns.values()];
}

/** The columns that occur in records, each with what it holds in the first one that has it filled. */
async function seenColumns(
  { callAs, person }: DeskParts,
  table: string,
  { query, fields }: { readonly query: string; readonly fields?: string },
): Promise<readonly Column[]> {
  const ask = (limit: number) =>
    askJson(callAs, person, {
      path: `/api/now/table/${table}`,
      query: {
        sysparm_display_value: "false",
        sysparm_limit: String(limit),
        sysparm_query: query,
        ...(fields === undefined ? {} : { sysparm_fields: fields }),
      },
    }, z.array(z.record(z.string(), z.unknown())));
  const many = await attempt(ask(rowsRead));
  if (!many.ok && many.error.reason !== "too_large") throw new Refusal(many.error);
  const rows = many.ok ? many.value : await ask(1);
  const values = new Map<string, unknown>();
  for (const [name, value] of rows.flatMap((row) => Object.entries(row))) {
    if (!name.includes(".") && (values.get(name) ?? "") === "") values.set(name, value);
  }
  return [...values].map(([name, value]) => guessColumn(name, value));
}

/**
 * A column that is not known of a table whose dictionary is kept from the person: seen in a record that has it filled,
 * or possible, and then whether it is there shows when it is used. `null` where its name is that of none or likely a
 * mistake.
 */
async function possibleColumn(parts: DeskParts, { table, columns, source }: TableColumns, given: string) {
  const name = given.trim();
  if (source === "dictionary" || !/^[a-z][a-z0-9_]{1,79}$/.test(name) || !mayShowField(table, name)) return null;
  return await parts.remember(["column", table, name], async () => {
    const seen = await ifShown(seenColumns(parts, table, { query: `${name}ISNOTEMPTY`, fields: name }), []);
    const column = seen.find((each) => each.name === name);
    if (column !== undefined) return column;
    const isLikelyMistake = !/^[ux]_/.test(name) && closestWord(name, columns.map((each) => each.name)) !== null;
    return isLikelyMistake ? null : guessColumn(name, undefined);
  });
}

/** What the dictionary writes of a column's choices: a list with or without none, or suggestions. */
const choiceKinds: ReadonlyMap<string, Column["choice"]> = new Map([["1", "list"], ["2", "suggestion"], ["3", "list"]]);

function toColumn(row: RecordFields): Column {
  const choice = storedValue(row, "choice");
  const isUntold = choice === "" && /^(string|integer|choice)$/.test(storedValue(row, "internal_type"));
  const name = storedValue(row, "element");
  return {
    name,
    label: storedValue(row, "column_label") || name,
    type: storedValue(row, "internal_type") || "string",
    reference: storedValue(row, "reference") || (listsOfPeople.test(name) ? "sys_user" : null),
    mandatory: storedValue(row, "mandatory") === "true",
    hasDefault: storedValue(row, "default_value") !== "",
    readOnly: storedValue(row, "read_only") === "true",
    choice: choiceKinds.get(choice) ?? (isUntold ? "untold" : "none"),
  };
}

function guessColumn(name: string, value: unknown): Column {
  const link = typeof value === "object" && value !== null && "link" in value ? String(value.link) : "";
  const [, linked] = /\/table\/([a-z0-9_]+)\//.exec(link) ?? [];
  // That of the base system before the link, which may lead to a table that extends it.
  const reference = usualReferences.get(name) ?? linked ?? null;
  const usual = value === "true" || value === "false" ? "boolean" : types.find(([, names]) => names.test(name))?.[0];
  const type = reference === null ? usual ?? "string" : listsOfPeople.test(name) ? "glide_list" : "reference";
  return {
    name,
    label: usualLabels.get(name) ?? name.replaceAll("_", " "),
    type: isSecretField(name) ? "password" : type,
    reference,
    mandatory: false,
    hasDefault: false,
    readOnly: false,
    choice: reference !== null ? "none" : usualLists.test(name) ? "list" : type === "string" ? "untold" : "none",
  };
}

// The column that a caller means, by name, label, or through references (`caller_id.department`).

/** A column and how to reach it from the table. */
export interface FoundColumn {
  readonly path: string;
  readonly column: Column;
  /** The table that has the column. */
  readonly owner: TableColumns;
}

const maxSteps = 3;
/** Labels of one table, in all languages of the instance. */
const maxLabels = 4_000;
const maxNamesShown = 40;

/** What agents call a part of a record, and the columns that tables have for it. */
const spoken = `
  caller: caller_id requested_for requested_by author
  requester: requested_by requested_for caller_id
  assignee: assigned_to
  group: assignment_group group
  resolution_code: close_code
  resolution_notes: close_notes
  ci: cmdb_ci
  updated: sys_updated_on
  created: sys_created_on
  class: sys_class_name
`;
const spokenNames: ReadonlyMap<string, string> = new Map(namedLines(spoken));

/** By name, by label, and where neither fits by the labels of other languages, which are asked for then; or refused. */
export async function namedColumn(parts: DeskParts, columns: TableColumns, given: string): Promise<Column> {
  const known = columnNamed(columns, given);
  if (known !== undefined) return known;
  const { lineage } = columns;
  const { tableApi, remember } = parts;
  const labels = await ifShown(
    remember(["labels", lineage[0] ?? ""], async () => {
      const query = `nameIN${lineage.join(",")}^elementISNOTEMPTY`;
      const request = { query, fields: ["element", "label"], limit: maxLabels, stored: true };
      const { rows } = await tableApi.rows("sys_documentation", request);
      return rows.map((row) => [storedValue(row, "label").toLowerCase(), storedValue(row, "element")]);
    }),
    [],
  );
  const named = labels.findLast(([label]) => label === given.trim().toLowerCase())?.[1];
  const column = columns.columns.find(({ name }) => name === named) ?? await possibleColumn(parts, columns, given);
  if (column === null) throw invalidInput(unknownColumn(columns, given));
  return column;
}

/** The column of a table that a caller names, and those of several names. */
export async function findColumn(parts: DeskParts, table: string, given: string): Promise<FoundColumn> {
  const steps = given.trim().split(".");
  if (steps.length > maxSteps) throw invalidInput(`${given} goes through more than ${maxSteps - 1} references`);
  let owner = await columnsOf(parts, table);
  const path: string[] = [];
  for (const [index, step] of steps.entries()) {
    const column = await namedColumn(parts, owner, step);
    path.push(column.name);
    if (index === steps.length - 1) return { path: path.join("."), column, owner };
    const target = column.reference;
    // Rows of a base table may belong to a table that is not open here, unless a search leaves those out.
    const isNarrowed = index === 0 && column.name === parts.access.taskField(table);
    if (
      target === null || isKept(target) || !parts.access.mayRead(target) ||
      (parts.access.classesOf(target) !== null && !isNarrowed)
    ) {
      throw invalidInput(`${step} leads to no table that can be read here`);
    }
    owner = await columnsOf(parts, target);
  }
  throw invalidInput(`${given} is no field`);
}

export function findColumns(parts: DeskParts, table: string, names: readonly string[]) {
  return Array.fromAsync(names, (name) => findColumn(parts, table, name));
}

export function columnNamed({ columns }: TableColumns, given: string): Column | undefined {
  const name = given.trim().toLowerCase().replaceAll(/[\s-]+/g, "_");
  const named = columns.find((column) => column.name === name);
  if (named !== undefined) return named;
  const label = given.trim().toLowerCase();
  const labelled = columns.filter((column) => column.label.toLowerCase() === label);
  if (labelled.length === 1) return labelled[0];
  const meant = namesIn(spokenNames.get(name) ?? "").find((each) => columns.some((column) => column.name === each));
  return columns.find((column) => column.name === meant);
}

/** The message for a field that a table does not have, or may not have: the nearest names, or all of them. */
function unknownColumn({ table, columns, source }: TableColumns, given: string): string {
  const shown = excerpt(given);
  const names = columns.map(({ name }) => name);
  const nearest = closestWord(shown.toLowerCase().replaceAll(" ", "_"), names) ??
    names.find((name) => shown.toLowerCase().split(/[\s.]+/).includes(name)) ??
    names.find((name) => shown.length > 2 && name.includes(shown.toLowerCase().replaceAll(" ", "_")));
  const known = names.filter((name) => !name.startsWith("sys_"));
  const remedy = nearest !== undefined
    ? `did you mean ${nearest}?`
    : `${source === "dictionary" ? "it has" : "known are"} ${known.slice(0, maxNamesShown).join(", ")}${
      known.length > maxNamesShown ? ", …" : ""
    }`;
  if (hasFixedFields(table) || isSecretField(shown.toLowerCase())) {
    return `${shown} of ${table} is not shown here; ${remedy}`;
  }
  return source === "dictionary"
    ? `${table} has no field ${shown}; ${remedy}`
    : `${shown} is not known here as a field of ${table}, whose dictionary ServiceNow keeps from this user: give the ` +
      `true name of the column; ${remedy}`;
}
