/** Counts records that the person may see, all or by group. The instance's own count includes hidden ones. */
import { nextTurn } from "../lib/turns.ts";
import type { DeskParts } from "./table_api.ts";
import { invalidInput } from "./failure.ts";
import { type RecordFields, storedValue } from "./field_values.ts";
import { datesOf, wallClock } from "./dates.ts";
import { readSelection, type RecordsWanted, select, shownValue } from "./search.ts";
import { findColumn, findColumns } from "./columns.ts";

/** A mean over the records that have both dates. */
export interface MeanTime {
  readonly hours: number;
  readonly records: number;
}

const rowsPerRequest = 2_000;
const maxRows = 10_000;

/** Which records to count, and by which fields. */
interface RecordCountRequest extends RecordsWanted {
  /** A field; a date `by day`, `by week` or `by month`. */
  readonly groupBy?: string | undefined;
  /** Two date fields, comma-separated: the answer has the mean time between them. */
  readonly meanTime?: readonly string[] | undefined;
}

/** A field to group by. `unit`: the days, weeks or months of a date. */
type GroupField = Awaited<ReturnType<typeof groupField>>;

/** Counts rows as the Table API shows them, since those alone have passed the rules of the instance. */
export async function countRecords(parts: DeskParts, { groupBy, meanTime = [], ...request }: RecordCountRequest) {
  const selected = await select(parts, request);
  const { table } = selected;
  const group = groupBy === undefined ? null : await groupField(parts, table, groupBy);
  const dates = meanTime.length === 0 ? [] : await findColumns(parts, table, meanTime);
  const between = dates.filter(({ column }) => /date/.test(column.type)).map(({ path }) => path);
  if (meanTime.length > 0 && between.length !== 2) {
    throw invalidInput("mean_time takes two dates, such as opened_at,resolved_at");
  }
  const { rows, next, total, understood } = await readSelection(parts, selected, {
    fields: [...group === null ? [] : [group.path], ...between],
    order: ["ORDERBYsys_id"],
    ...{ wanted: maxRows, maxRequests: maxRows / rowsPerRequest + 1, firstChunk: rowsPerRequest },
  });
  const now = group === null || group.unit === null ? null : await datesOf(parts, "now");
  const groups = new Map<string, RecordFields[]>();
  for (const row of group === null ? [] : rows) {
    const name = groupName(row, group, now?.zone ?? "UTC");
    groups.getOrInsert(name, []).push(row);
    await nextTurn();
  }
  const isWhole = next === null;
  return {
    table,
    understood,
    /** Records that the person may see. */
    count: rows.length,
    /** Whether all were counted. */
    isWhole,
    /** The instance's own count where not all were counted. It may include records that the person may not see. */
    instanceCount: isWhole ? null : total,
    mean: meanOf(rows, between),
    groups: group === null
      ? null
      : [...groups].map(([name, own]) => ({ name, size: own.length, mean: meanOf(own, between) }))
        .toSorted((a, b) => group.unit === null ? b.size - a.size : a.name < b.name ? -1 : 1),
  };
}

async function groupField(parts: DeskParts, table: string, groupBy: string) {
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
  const spans = rows.map((row) => momentIn(row, until) - momentIn(row, from)).filter((span) => !Number.isNaN(span));
  if (spans.length === 0) return null;
  return { hours: spans.reduce((sum, span) => sum + span, 0) / spans.length / 3_600_000, records: spans.length };
}

function momentIn(row: RecordFields, name: string): number {
  return Date.parse(`${storedValue(row, name).replace(" ", "T")}Z`);
}

/** Days follow the person's calendar; a week is named by its Monday. */
function groupName(row: RecordFields, group: GroupField | null, zone: string): string {
  if (group === null || group.unit === null) return (group === null ? "" : shownValue(row, group.path)) || "(empty)";
  const stored = storedValue(row, group.path);
  if (Number.isNaN(momentIn(row, group.path))) return "(empty)";
  const day = (stored.length > 10 ? wallClock(stored, zone) : stored).slice(0, 10);
  if (group.unit !== "week") return day.slice(0, group.unit === "month" ? 7 : 10);
  const date = Temporal.PlainDate.from(day);
  return `week of ${date.subtract({ days: date.dayOfWeek - 1 })}`;
}
