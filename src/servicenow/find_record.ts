/** The record that a caller names: by number, sys_id, link or name. */
import { failure, type Result, success } from "../lib/result.ts";
import { knownTable, tableOfNumber } from "./known_tables.ts";
import type { DeskParts, Person } from "./table_api.ts";
import { invalidInput, type ServicenowFailure } from "./failure.ts";
import { parseSysId, storedValue } from "./field_values.ts";
import type { RecordFields, RecordName } from "./port.ts";
import { anyOf } from "./conditions.ts";
import { resolveReference } from "./references.ts";

/** A record with all that the person may see of it, or with the fields asked for. */
export interface FoundRecord {
  readonly table: string;
  readonly sysId: string;
  readonly record: RecordFields;
}

/** How a record is found: where, and by what. */
interface Locator {
  readonly table: string;
  readonly by: "sys_id" | "number" | "name";
  readonly value: string;
}

/** Of a number in the base system. */
const usualDigits = 7;
const numberPattern = /^[A-Za-z]{2,10}\d{4,12}$/;

/** Finds it with one request where its table is known. */
export async function findRecord(
  parts: DeskParts,
  name: RecordName,
  person: Person,
  { fields, writing = false }: { readonly fields?: readonly string[] | undefined; readonly writing?: boolean } = {},
): Promise<Result<FoundRecord, ServicenowFailure>> {
  const located = locate(parts, name, person);
  if (!located.ok) return located;
  const { by } = located.value;
  const table = writing ? parts.access.writable(located.value.table) : parts.access.readable(located.value.table);
  // A number may be a task's of any table: which one is known once it is read.
  if (!table.ok && !(writing && located.value.table === "task" && by === "number")) return table;
  const found = await read(parts, { ...located.value, table: table.ok ? table.value : "task" }, person, fields);
  if (!found.ok) return found;
  const actual = storedValue(found.value.record, "sys_class_name");
  if (located.value.table !== "task" || parts.access.classesOf("task") === null) {
    return writing && !table.ok ? table : found;
  }
  const open = writing ? parts.access.writable(actual) : parts.access.readable(actual);
  if (!open.ok) return open;
  // The table itself has more columns than the task that it extends.
  return await read(parts, { table: actual, by: "sys_id", value: found.value.sysId }, person, fields);
}

/** Where a record is, and by what it is named. */
export function locate(
  { access, instance }: DeskParts,
  { id, table }: RecordName,
  { account }: Person,
): Result<Locator, ServicenowFailure> {
  const text = id.trim();
  if (/^https?:/i.test(text)) return locateLink(text, instance.origin);
  const named = table === undefined || table.trim() === "" ? null : access.readable(table);
  if (named !== null && !named.ok) return named;
  const sysId = parseSysId(text);
  if (sysId.ok) {
    return named === null
      ? invalidInput("table is required with a sys_id")
      : success({ table: named.value, by: "sys_id", value: sysId.value });
  }
  if (/^(me|my profile)$/i.test(text)) return success({ table: "sys_user", by: "sys_id", value: account.sysId });
  if (numberPattern.test(text) && (named === null || hasNumbers(named.value))) {
    // The prefix decides: agents give the number of a problem with the table incident.
    return success({ table: numberTable(text, named?.value), by: "number", value: text.toUpperCase() });
  }
  if (text.split(/[\s,;|]+/).filter((part) => numberPattern.test(part)).length > 1) {
    return invalidInput("id names one record: make a call for each");
  }
  return named === null
    ? invalidInput(
      `"${text.slice(0, 80).toWellFormed()}" is no record number such as INC0010001; give table with a name or sys_id`,
    )
    : success({ table: named.value, by: "name", value: text });
}

/** `INC10016` as people say it is INC0010016. */
function paddedNumber(number: string): string {
  return number.replace(/\d+$/, (digits) => digits.padStart(usualDigits, "0"));
}

function numberTable(number: string, named: string | undefined): string {
  const byPrefix = tableOfNumber(number);
  if (named === undefined || byPrefix !== "task") return byPrefix;
  return named;
}

function hasNumbers(table: string): boolean {
  const known = knownTable(table);
  return known === undefined || known.nameField === undefined;
}

/** `/incident.do?sys_id=…`, the same inside `nav_to.do?uri=…`, `/now/nav/ui/…`, and an article's page. */
function locateLink(text: string, origin: string): Result<Locator, ServicenowFailure> {
  const url = URL.parse(text);
  if (url === null || url.origin !== origin) return invalidInput("the link leads to another host than the instance");
  const inner = decodeSafely(url.searchParams.get("uri") ?? url.pathname + url.search);
  const [, article] = /(?:kb_view\.do|kb_article).*[?&](?:sys_kb_id|sys_id)=([0-9a-f]{32})/.exec(inner) ?? [];
  if (article !== undefined) return success({ table: "kb_knowledge", by: "sys_id", value: article });
  const [, number] = /[?&]sysparm_article=(KB\d{4,12})/.exec(inner) ?? [];
  if (number !== undefined) return success({ table: "kb_knowledge", by: "number", value: number });
  const [, item] = /[?&]id=sc_cat_item\b.*[?&]?sys_id=([0-9a-f]{32})/.exec(inner) ?? [];
  if (item !== undefined) return success({ table: "sc_cat_item", by: "sys_id", value: item });
  const [, table, sysId] = /([a-z][a-z0-9_]{1,79})\.do\?(?:.*&)?sys_id=([0-9a-f]{32})/.exec(inner) ??
    /\/record\/([a-z][a-z0-9_]{1,79})\/([0-9a-f]{32})/.exec(inner) ?? [];
  return table === undefined || sysId === undefined
    ? invalidInput("the link names no record")
    : success({ table, by: "sys_id", value: sysId });
}

function decodeSafely(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

async function read(
  parts: DeskParts,
  { table, by, value }: Locator,
  person: Person,
  fields: readonly string[] | undefined,
): Promise<Result<FoundRecord, ServicenowFailure>> {
  const wanted = fields === undefined ? undefined : [...fields, "sys_class_name", "number", "sys_mod_count"];
  const { tableApi, access } = parts;
  if (by === "number") {
    const open = access.openRows(table);
    // A number may stand for several versions of an article: the newest is meant.
    const numbers = [...new Set([value, paddedNumber(value)])];
    const query = `${anyOf(numbers.map((number) => `number=${number}`))}${
      open === "" ? "" : `^${open}`
    }^ORDERBYDESCsys_updated_on`;
    const found = await tableApi.firstRow(
      table,
      { query, ...(wanted === undefined ? {} : { fields: wanted }) },
      person,
    );
    if (!found.ok) return found;
    const record = found.value;
    // An instance ignores a condition on a column that the table does not have, and then answers with any record.
    if (record !== undefined && numbers.includes(storedValue(record, "number").toUpperCase())) {
      return success({ table, sysId: storedValue(record, "sys_id"), record });
    }
    return access.classesOf(table) === null
      ? failure({ reason: "not_found" })
      : invalidInput(`there is no ${value} that the user may see in the tables that are open here`);
  }
  let sysId = value;
  if (by === "name") {
    const reference = await resolveReference(parts, { table, text: value, field: "id" }, person);
    if (!reference.ok) return reference;
    sysId = reference.value.sysId;
  }
  const record = await tableApi.row(table, sysId, person, wanted);
  return record.ok ? success({ table, sysId, record: record.value }) : record;
}
