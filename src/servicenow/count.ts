/** Counts records that the person may see, all or by group. The instance's own count includes hidden ones. */
import * as z from "zod";
import { type Result, success } from "../lib/result.ts";
import type { DeskParts, Person } from "./table_api.ts";
import { invalidInput, type ServicenowFailure } from "./failure.ts";
import type { RecordCount, RecordCountRequest, RecordFields } from "./port.ts";
import { readOn } from "./read_on.ts";
import { ignoredCondition, readSelection, select, type Selection, shownValue, withConditions } from "./selection.ts";
import { columnsOf } from "./columns.ts";
import { findColumn } from "./columns_by_name.ts";
import { askJson } from "./calls.ts";

const rowsPerRequest = 2_000;
const maxRows = 10_000;
const statistics = z.object({ stats: z.object({ count: z.coerce.number().int().nonnegative() }) });

/** Counts rows as the Table API shows them, since those alone have passed the rules of the instance. */
export async function countRecords(
  parts: DeskParts,
  { groupBy, ...request }: RecordCountRequest,
  person: Person,
): Promise<Result<RecordCount, ServicenowFailure>> {
  const selected = await select(parts, await withConditions(parts, request, person), person);
  if (!selected.ok) return selected;
  const { table } = selected.value;
  const grouped = groupBy === undefined ? success(null) : await groupField(parts, table, groupBy, person);
  if (!grouped.ok) return grouped;
  return await readSelection(selected.value, (each) => countSelected(parts, each, grouped.value, person));
}

async function countSelected(
  parts: DeskParts,
  selected: Selection,
  field: string | null,
  person: Person,
): Promise<Result<RecordCount, ServicenowFailure>> {
  const { table, query, understood, checked } = selected;
  const request = {
    query: `${query}${query === "" ? "" : "^"}ORDERBYsys_id`,
    fields: [...field === null ? [] : [field], ...checked.map(({ path }) => path)],
  };
  const reading = { wanted: maxRows, maxRequests: maxRows / rowsPerRequest + 1, firstChunk: rowsPerRequest };
  const read = await readOn(parts.tableApi, table, request, reading, person);
  if (!read.ok) return read;
  const { rows, next } = read.value;
  const ignored = ignoredCondition(selected, rows);
  if (ignored !== null) return ignored;
  const groups = new Map<string, number>();
  for (const row of rows) tally(groups, row, field);
  const isWhole = next === null;
  return success({
    table,
    understood,
    count: rows.length,
    isWhole,
    ...(isWhole ? {} : { instanceCount: await statisticsOf(parts, { table, query }, person) }),
    groups: field === null
      ? null
      : [...groups].map(([name, size]) => ({ name, size })).toSorted((a, b) => b.size - a.size),
  });
}

async function groupField(
  parts: DeskParts,
  table: string,
  groupBy: string,
  person: Person,
): Promise<Result<string, ServicenowFailure>> {
  const columns = await columnsOf(parts, table, person);
  if (!columns.ok) return columns;
  const found = await findColumn(parts, columns.value, groupBy, person);
  if (!found.ok) return found;
  return /^(journal|html|glide_date_time)/.test(found.value.column.type)
    ? invalidInput(`${found.value.path} has a value of its own in each record: group by another field`)
    : success(found.value.path);
}

function tally(groups: Map<string, number>, row: RecordFields, field: string | null): void {
  if (field === null) return;
  const name = shownValue(row, field) || "(empty)";
  groups.set(name, (groups.get(name) ?? 0) + 1);
}

/** The Aggregate API's count, for more records than are counted one by one; `null` where it gives none. */
async function statisticsOf(
  { callAs }: DeskParts,
  { table, query }: { readonly table: string; readonly query: string },
  person: Person,
): Promise<number | null> {
  const request = { path: `/api/now/stats/${table}`, query: { sysparm_count: "true", sysparm_query: query } };
  const parsed = await askJson(callAs, person, request, statistics);
  return parsed.ok ? parsed.value.stats.count : null;
}
