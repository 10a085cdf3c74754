/** What became of a change: what the instance took, what it dropped, and what it changed besides. */
import { knownTable } from "./tables.ts";
import { isSecretField } from "./table_access.ts";
import { cutText, displayValue, plainText, storedValue } from "./field_values.ts";
import type { ChangeReport, FieldChange, RecordFields } from "./answers.ts";
import { linkTo, nameOf, shownValue } from "./search.ts";
import type { ResolvedValue } from "./resolve_values.ts";

const maxShownCharacters = 300;
const bookkeeping =
  /^(sys_|comments|work_notes|comments_and_work_notes|activity_due|business_|calendar_|task_effective|route_reason|time_worked)/;

const short = (text: string): string => cutText(plainText(text), maxShownCharacters);

/** A change of a field, cut to what a caller needs to see of it. */
export function shortened({ before, after, ...change }: FieldChange): FieldChange {
  return { ...change, before: short(before), after: short(after) };
}

/** What would be sent. */
export function plannedReport(
  { table, record, origin, values }: {
    readonly table: string;
    readonly record: RecordFields | null;
    readonly origin: string;
    readonly values: readonly ResolvedValue[];
  },
): ChangeReport {
  return {
    dryRun: true,
    table,
    name: record === null ? null : nameOf(table, record),
    title: record === null ? "" : oneLine(shownValue(record, "short_description")),
    link: record === null ? null : linkTo(origin, table, storedValue(record, "sys_id")),
    changes: values.map(({ name, column: { label }, shown }) => ({
      ...{ name, label },
      before: record === null ? "" : plainText(shownValue(record, name)),
      after: plainText(shown),
    })),
    notTaken: [],
    alsoChanged: [],
    notes: values.flatMap(({ doubt }) => doubt ?? []),
    version: record === null ? null : storedValue(record, "sys_mod_count"),
    madeFrom: JSON.stringify([
      ...record === null ? [] : [storedValue(record, "sys_id"), storedValue(record, "sys_mod_count")],
      ...values.map(({ name, stored }) => [name, stored]),
    ]),
  };
}

/** The same after the instance has answered with the record as it is now. */
export function finishedReport(
  planned: ChangeReport,
  { before, after, origin, values }: {
    readonly before: RecordFields | null;
    readonly after: RecordFields;
    readonly origin: string;
    readonly values: readonly ResolvedValue[];
  },
): ChangeReport {
  const { table } = planned;
  const taken = values.filter((value) => isTaken(value, before, after));
  const isUnchanged = before !== null && storedValue(before, "sys_mod_count") === storedValue(after, "sys_mod_count") &&
    "sys_mod_count" in after;
  const names = new Set(values.map(({ name }) => name));
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
    changes: planned.changes.filter(({ name }) => taken.some((value) => value.name === name)).map((change) => ({
      ...change,
      after: labelled.has(change.name) ? shownValue(after, change.name) : change.after,
    })),
    notTaken: values.filter((value) => !taken.includes(value)).map(({ name, shown }) => ({
      name,
      wanted: short(shown),
      now: name in after ? short(shownValue(after, name)) : null,
      isUnknown: !(name in after) && !isUnchanged,
    })),
    alsoChanged: before === null ? newValues(table, after, names) : differences(before, after, names),
    version: storedValue(after, "sys_mod_count"),
  };
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

function oneLine(text: string): string {
  return text.replace(/\s+/g, " ").trim();
}
