/** A table as the person sees it: the true names of its fields, what they hold, and which values they take. */
import { type Result, success } from "../lib/result.ts";
import type { DeskParts, Person } from "./table_api.ts";
import { invalidInput, type ServicenowFailure } from "./failure.ts";
import type { DescribedField, TableDescription } from "./port.ts";
import { choicesFor, choicesOf, distinctChoices } from "./choices.ts";
import { columnsOf } from "./columns.ts";
import { findColumn } from "./columns_by_name.ts";

const maxChoicesInList = 12;
const maxFields = 120;

export async function describeTable(
  parts: DeskParts,
  { table: named, field }: { readonly table: string; readonly field?: string | undefined },
  person: Person,
): Promise<Result<TableDescription, ServicenowFailure>> {
  const table = parts.access.readable(named);
  if (!table.ok) return table;
  const columns = await columnsOf(parts, table.value, person);
  if (!columns.ok) return columns;
  const choices = await choicesOf(parts, columns.value, person);
  if (!choices.ok) return choices;
  let wanted = columns.value.columns.filter(({ name, type }) => !name.startsWith("sys_") && type !== "collection");
  if (field !== undefined) {
    wanted = [];
    for (const name of field.split(",").filter((each) => each.trim() !== "").slice(0, maxFields)) {
      const found = await findColumn(parts, columns.value, name, person);
      if (!found.ok) return found;
      if (found.value.owner.table !== table.value) return invalidInput(`field must be one of ${table.value}`);
      wanted.push(found.value.column);
    }
  }
  const fields = wanted.slice(0, maxFields).map((column): DescribedField => {
    const all = distinctChoices(choicesFor(choices.value, column.name));
    const listed = field === undefined ? all.slice(0, maxChoicesInList) : all;
    return { ...column, choices: listed, choicesLeft: all.length - listed.length };
  });
  return success({
    table: table.value,
    writable: parts.access.writable(table.value).ok,
    source: columns.value.source,
    fields,
    fieldsLeft: Math.max(0, wanted.length - maxFields),
  });
}
