/** Finds the column that a caller means, by name, label, or through references (`caller_id.department`). */
import { closestWord } from "../lib/closest_word.ts";
import { success } from "../lib/result.ts";
import type { DeskParts } from "./table_api.ts";
import { type Answer, excerpt, invalidInput } from "./failure.ts";
import { type Column, columnsOf, possibleColumn, type TableColumns } from "./columns.ts";
import { storedValue } from "./field_values.ts";
import { isKept } from "./tables.ts";

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

/** What agents call a person's part in a record, by the columns that tables have for it. */
const roles: Readonly<Record<string, readonly string[]>> = {
  caller: ["caller_id", "requested_for", "requested_by", "author"],
  requester: ["requested_by", "requested_for", "caller_id"],
  assignee: ["assigned_to"],
  group: ["assignment_group", "group"],
  resolution_code: ["close_code"],
  resolution_notes: ["close_notes"],
  ci: ["cmdb_ci"],
  updated: ["sys_updated_on"],
  created: ["sys_created_on"],
  class: ["sys_class_name"],
};

/** By name, by label, and where neither fits by the labels of other languages, which are asked for then. */
export async function namedColumn(parts: DeskParts, columns: TableColumns, given: string): Promise<Column | null> {
  const known = columnNamed(columns, given);
  if (known !== undefined) return known;
  const { lineage } = columns;
  const { tableApi, remember } = parts;
  const elements = await remember(["labels", lineage[0] ?? ""], async () => {
    const query = `nameIN${lineage.join(",")}^elementISNOTEMPTY`;
    const request = { query, fields: ["element", "label"], limit: maxLabels, stored: true };
    const rows = await tableApi.rows("sys_documentation", request);
    if (!rows.ok) return rows;
    return success(
      Object.fromEntries(
        rows.value.rows.map((row) => [storedValue(row, "label").toLowerCase(), storedValue(row, "element")]),
      ),
    );
  });
  const label = given.trim().toLowerCase();
  const named = elements.ok && Object.hasOwn(elements.value, label) ? elements.value[label] : undefined;
  const column = columns.columns.find(({ name }) => name === named);
  if (column !== undefined) return column;
  const possible = await possibleColumn(parts, columns, given);
  return possible.ok ? possible.value : null;
}

export async function findColumn(parts: DeskParts, start: TableColumns, given: string): Answer<FoundColumn> {
  const steps = given.trim().split(".");
  if (steps.length > maxSteps) return invalidInput(`${given} goes through more than ${maxSteps - 1} references`);
  let owner = start;
  const path: string[] = [];
  for (const [index, step] of steps.entries()) {
    const column = await namedColumn(parts, owner, step);
    if (column === null) return invalidInput(unknownColumn(owner, step));
    path.push(column.name);
    if (index === steps.length - 1) return success({ path: path.join("."), column, owner });
    const target = column.reference;
    // Rows of a base table may belong to a table that is not open here, unless a search leaves those out.
    const isNarrowed = index === 0 && column.name === parts.access.taskField(start.table);
    if (
      target === null || isKept(target) || !parts.access.mayRead(target) ||
      (parts.access.classesOf(target) !== null && !isNarrowed)
    ) {
      return invalidInput(`${step} leads to no table that can be read here`);
    }
    const next = await columnsOf(parts, target);
    if (!next.ok) return next;
    owner = next.value;
  }
  return invalidInput(`${given} is no field`);
}

export function columnNamed({ columns }: TableColumns, given: string): Column | undefined {
  const name = given.trim().toLowerCase().replaceAll(/[\s-]+/g, "_");
  const named = columns.find((column) => column.name === name);
  if (named !== undefined) return named;
  const label = given.trim().toLowerCase();
  const labelled = columns.filter((column) => column.label.toLowerCase() === label);
  if (labelled.length === 1) return labelled[0];
  const [role] = (Object.hasOwn(roles, name) ? roles[name] ?? [] : []).flatMap((each) =>
    columns.filter((column) => column.name === each)
  );
  return role;
}

/** The message for a field that a table does not have, or may not have: the nearest names, or all of them. */
export function unknownColumn({ table, columns, source }: TableColumns, given: string): string {
  const shown = excerpt(given);
  const names = columns.map(({ name }) => name);
  const nearest = closestWord(shown.toLowerCase().replaceAll(" ", "_"), names) ??
    names.find((name) => name.includes(shown.toLowerCase().replaceAll(" ", "_")));
  const known = names.filter((name) => !name.startsWith("sys_"));
  const remedy = nearest !== undefined
    ? `did you mean ${nearest}?`
    : `${source === "dictionary" ? "it has" : "known are"} ${known.slice(0, maxNamesShown).join(", ")}${
      known.length > maxNamesShown ? ", …" : ""
    }`;
  return source === "dictionary"
    ? `${table} has no field ${shown}; ${remedy}`
    : `${shown} is not known here as a field of ${table}, whose dictionary ServiceNow keeps from this user: give the ` +
      `true name of the column; ${remedy}`;
}
