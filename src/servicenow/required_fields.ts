/** Fields that a record must have before the instance takes a change, as far as they can be known before it is sent. */
import type { DeskParts } from "./desk_parts.ts";
import { storedValue } from "./field_values.ts";
import type { RecordFields } from "./port.ts";
import { choicesOfColumn, listChoices } from "./choices.ts";
import type { TableColumns } from "./columns.ts";
import type { Person } from "./person_cache.ts";
import type { ResolvedValue } from "./resolve_values.ts";

/** The base system's data policies for work that is put on hold, resolved or closed: by table and state. */
const closing: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  incident: { "3": ["hold_reason"], "6": ["close_code", "close_notes"], "7": ["close_code", "close_notes"] },
  problem: { "106": ["resolution_code", "cause_notes", "fix_notes"] },
  change_request: { "3": ["close_code", "close_notes"] },
  change_task: { "3": ["close_code"] },
};
/** What they ask of each new record. */
const creating: Readonly<Record<string, readonly string[]>> = {
  incident: ["short_description", "caller_id"],
  problem: ["short_description"],
  change_request: ["short_description"],
  kb_knowledge: ["short_description", "kb_knowledge_base"],
};

/** Names of mandatory fields that neither the record nor the change fills. */
export function missingFields(
  { table, columns, source }: TableColumns,
  values: readonly ResolvedValue[],
  record: RecordFields | null,
): readonly string[] {
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
  for (const name of closing[table]?.[state] ?? []) if (known.has(name)) wanted.add(name);
  return [...wanted].filter((name) => !filled(name));
}

/** The choices of those fields that have some, as the end of a refusal: they save the caller a guess. */
export async function choicesOfMissing(
  parts: DeskParts,
  columns: TableColumns,
  missing: readonly string[],
  person: Person,
): Promise<string> {
  let text = "";
  for (const column of columns.columns) {
    if (column.choice === "none" || column.choice === "untold" || !missing.includes(column.name)) continue;
    const choices = await choicesOfColumn(parts, columns, column, person);
    if (choices.ok && choices.value.choices.length > 0) {
      text += `; ${column.name}: ${listChoices(choices.value.choices)}`;
    }
  }
  return text;
}
