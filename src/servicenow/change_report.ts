/** The outcome of a change: what the instance accepted, dropped, and changed besides. */
import { knownTable } from "./tables.ts";
import { isSecretField } from "./table_access.ts";
import { cutText, displayValue, oneLine, plainText, type RecordFields, storedValue } from "./field_values.ts";
import { linkTo, nameOf, shownValue } from "./search.ts";
import type { ResolvedValue } from "./resolve_values.ts";
import type { DeskParts } from "./table_api.ts";

/** What a field held before a change, and what it holds after. */
export interface FieldChange {
  readonly name: string;
  /** What people call the field. */
  readonly label: string;
  readonly before: string;
  readonly after: string;
}

/** A change as planned, or as it came out. */
export interface ChangeReport {
  /** Nothing was sent. */
  readonly dryRun: boolean;
  readonly table: string;
  /** The record's number or name; `null` for a new one that is only planned. */
  readonly name: string | null;
  /** What the record is about; empty where it does not say. */
  readonly title: string;
  readonly link: string | null;
  /** As asked for: planned, or taken by the instance. */
  readonly changes: readonly FieldChange[];
  /** Asked for, and not what the record says now: dropped by an access rule, or changed by a business rule. */
  readonly notTaken: readonly {
    readonly name: string;
    readonly wanted: string;
    /** `null` where the instance does not show the field. */
    readonly now: string | null;
    /** Whether it may have been taken: the record changed, and the field is not shown. */
    readonly isUnknown: boolean;
  }[];
  /** What the instance changed besides. */
  readonly alsoChanged: readonly FieldChange[];
  /** In words: what else there is to know. */
  readonly notes: readonly string[];
  /** Of the record afterwards. */
  readonly version: string | null;
  /** What is sent, whole, and the version of the record that it was made from. */
  readonly madeFrom: string;
}

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
  const planned: ChangeReport = {
    dryRun: true,
    table,
    name: before === null ? null : nameOf(table, before),
    title: oneLine(shownValue(was, "short_description")),
    link: before === null ? null : linkTo(origin, table, storedValue(before, "sys_id")),
    changes: values.map(({ name, column: { label, type }, shown }) => ({
      ...{ name, label },
      before: type.startsWith("journal") ? "" : plainText(shownValue(was, name)), // an entry replaces none
      after: plainText(shown),
    })),
    notTaken: [],
    alsoChanged: [],
    notes: values.flatMap(({ doubt }) => doubt ?? []),
    version: before === null ? null : storedValue(before, "sys_mod_count"),
    madeFrom: JSON.stringify([
      ...before === null ? [] : [storedValue(before, "sys_id"), storedValue(before, "sys_mod_count")],
      ...values.map(({ name, stored }) => [name, stored]),
    ]),
  };

  /** The same after the instance has answered with the record as it is now. */
  const finish = (after: RecordFields): ChangeReport => {
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
