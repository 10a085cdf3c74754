/** Combines the jobs of a service desk. Each call is one person's, and ends in time for ServiceNow's own agents. */
import { success } from "../lib/result.ts";
import { createDeskParts, type DeskParts } from "./table_api.ts";
import { type Answer, invalidInput } from "./failure.ts";
import type { DescribedField, TableDescription } from "./answers.ts";
import { choicesFor, choicesOf, distinctChoices } from "./choices.ts";
import { columnsOf } from "./columns.ts";
import { findColumn } from "./columns_by_name.ts";
import type { Caller } from "./calls.ts";
import { movesOf } from "./states.ts";
import { readItem } from "./catalog_item.ts";
import { orderFromCatalog } from "./order.ts";
import { addNote, createRecord, updateRecord } from "./write_record.ts";
import { decideApproval } from "./decide_approval.ts";
import type { ServicenowLinks } from "./links.ts";
import { countRecords } from "./count.ts";
import { getRecord } from "./get_record.ts";
import { attachFile, fetchNamedFile } from "./record_files.ts";
import { searchRecords } from "./search.ts";

const maxChoicesInList = 12;
const maxFields = 120;

/** Describes a table as the person sees it: names of its fields, their types, and the values they accept. */
async function describeTable(
  parts: DeskParts,
  { table: named, field }: { readonly table: string; readonly field?: string | undefined },
): Answer<TableDescription> {
  const table = parts.access.readable(named);
  if (!table.ok) return table;
  const columns = await columnsOf(parts, table.value);
  if (!columns.ok) return columns;
  const choices = await choicesOf(parts, columns.value);
  if (!choices.ok) return choices;
  let wanted = columns.value.columns.filter(({ name, type }) => !name.startsWith("sys_") && type !== "collection");
  if (field !== undefined) {
    wanted = [];
    for (const name of field.split(",").filter((each) => each.trim() !== "").slice(0, maxFields)) {
      const found = await findColumn(parts, columns.value, name);
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
    next: fields.length === 1 && fields[0]?.name === "state" ? await movesOf(parts, table.value, null) : null,
  });
}

/** ServiceNow's agents give up after 30 s. */
const jobMs = 24_000;

export function createDesk(
  { links, jobMs: limitMs = jobMs, ...place }: Parameters<typeof createDeskParts>[0] & {
    readonly links: Pick<ServicenowLinks, "access">;
    readonly jobMs?: number;
  },
) {
  const partsFor = createDeskParts(place);
  const { elapsed } = place;

  /** Who calls, by the instance's own account: what is remembered for one is never answered to another. */
  const job =
    <Request, T>(work: (parts: DeskParts, request: Request) => Answer<T>) =>
    async (request: Request, { subject, signal }: Caller): Answer<T> => {
      const access = await links.access(subject, { signal });
      if (!access.ok) return access;
      const { account } = access.value;
      const person = { subject, signal, deadline: elapsed() + limitMs, account, held: { current: access.value } };
      return await work(partsFor(person), request);
    };

  return {
    tables: place.access.names,
    search: job(searchRecords),
    count: job(countRecords),
    get: job(getRecord),
    describe: job(describeTable),
    fetchFile: job(fetchNamedFile),
    describeItem: job(readItem),
    order: job(orderFromCatalog),
    create: job(createRecord),
    update: job(updateRecord),
    addNote: job(addNote),
    decide: job(decideApproval),
    attach: job(attachFile),
  };
}
