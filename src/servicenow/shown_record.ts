/** A record as people see it: labels instead of stored values, dates in UTC, plain text, nothing secret. */
import { mayShowField } from "./field_access.ts";
import { knownTable, namingFields } from "./known_tables.ts";
import { displayValue, storedValue } from "./field_values.ts";
import type { ShownField, ShownRecord } from "./desk_port.ts";
import type { RecordFields } from "./port.ts";
import { oneLine, wordsOf } from "./plain_text.ts";

/** Columns that say nothing to a person; they are shown when they are asked for. */
const noise =
  /^(sys_(id|domain|domain_path|tags|class_path|created_by|updated_by|mod_count|class_name|id_seq|policy)|upon_(approval|reject)|activity_due|watch_list|work_notes_list|additional_assignee_list|knowledge|time_worked|business_(duration|stc)|calendar_(duration|stc)|notify|approval_(set|history)|route_reason|sla_due|expected_start|order|universal_request|task_effective_number|group_list|skills|correlation_(id|display)|contract|comments_and_work_notes|delivery_(plan|task)|user_input|rejection_goto|made_sla|reassignment_count|active|origin_(id|table)|task_for|incident_state|problem_state|child_incidents|related_incidents|sn_\w+|category_path)$/;
/** What is read after everything else. */
const last = /^(sys_|comments$|work_notes$)/;
const dateValue = /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/;

/** `names` are the fields that a caller asked for, in order; without them, those that hold something of interest. */
export function toShownRecord(
  table: string,
  record: RecordFields,
  { origin, names }: { readonly origin: string; readonly names?: readonly string[] | undefined },
): ShownRecord {
  const sysId = storedValue(record, "sys_id");
  const actual = storedValue(record, "sys_class_name");
  const owner = actual !== "" && actual !== table && knownTable(actual) !== undefined ? actual : table;
  const title = nameOf(owner, record);
  const shown = names ??
    Object.keys(record).filter((name) => !noise.test(name)).toSorted((a, b) =>
      Number(last.test(a)) - Number(last.test(b))
    );
  const fields: ShownField[] = [];
  for (const name of new Set(shown)) {
    if (!mayShowField(table, name)) continue;
    if (name.includes(".") && !mayShowField(table, name.split(".").at(-1) ?? "")) continue;
    const value = name === "sys_id" ? sysId : shownValue(record, name);
    if (names === undefined && value === title) continue;
    if (value !== "" || (names !== undefined && name in record)) fields.push({ name, value });
  }
  return {
    table: owner,
    sysId,
    name: title,
    namedBy: ["number", ...namingFields(owner)],
    link: linkTo(origin, owner, sysId),
    fields,
  };
}

/** What people see of a field; a moment is in UTC and says so. */
export function shownValue(record: RecordFields, name: string): string {
  const stored = storedValue(record, name);
  if (dateValue.test(stored)) return `${stored} UTC`;
  return wordsOf(displayValue(record, name));
}

/** What people call the record: its number, or its name; of a relation's two descriptors the first ("Depends on"). */
export function nameOf(table: string, record: RecordFields): string {
  const parts = namingFields(table).map((field) => {
    const part = displayValue(record, field);
    return field === "type" ? part.replace(/::[^]*/, "") : part;
  }).filter((part) => part !== "");
  const whole = displayValue(record, "number") || parts.join(knownTable(table)?.nameSeparator ?? ": ");
  return oneLine(whole || displayValue(record, "name")) || storedValue(record, "sys_id");
}

/** The record's page for people. */
export function linkTo(origin: string, table: string, sysId: string): string {
  if (table === "kb_knowledge") return `${origin}/kb_view.do?sys_kb_id=${sysId}`;
  if (table === "sc_cat_item") return `${origin}/sp?id=sc_cat_item&sys_id=${sysId}`;
  return `${origin}/${table}.do?sys_id=${sysId}`;
}
