/** Finds the record that a caller names, by number, sys_id, link or name. */
import { isKept, knownTable, namingFields, numbersOf, plainId, recordOfLink, tableOfNumber } from "./tables.ts";
import { allOf, anyOf, type DeskParts, newestFirst, readOn, toQueryValue, toQueryValues } from "./table_api.ts";
import { attempt, excerpt, invalidInput, Refusal } from "./failure.ts";
import { cutText, displayValue, isStoredSysId, isSysId, oneLine, storedValue } from "./field_values.ts";
import type { RecordFields } from "./field_values.ts";
import { datesOf } from "./dates.ts";

/** A record: a number, a link, or with `table` a sys_id or a name. */
export interface RecordName {
  readonly id: string;
  readonly table?: string | undefined;
}

// The record that a name means: a person, a group, a configuration item. A name that means several is an error.

/** A record by its sys_id, and what to call it in an answer. */
export type Reference = Readonly<Record<"sysId" | "name", string>>;

const maxCandidates = 6;
const maxGroups = 200;
const maxDelegators = 100;
/** Words by which the nearest names are looked for. */
const maxNearWords = 8;
const maxDistinctionCharacters = 60;
/** Letters of a word that was not found anywhere. */
const minBeginning = 3;

const peopleNames = ["name", "user_name", "email"];
/** A name as a caller gave it. */
interface GivenName {
  readonly table: string;
  readonly text: string;
  /** For the words of a failure. */
  readonly field: string;
}

/** The record that a name means. */
export async function resolveReference(
  parts: DeskParts,
  { table, text: untrimmed, field }: GivenName,
): Promise<Reference> {
  const text = untrimmed.trim();
  if (table === "sys_user" && /^(me|myself|@me)$/i.test(text)) {
    return { sysId: parts.person.account.sysId, name: parts.person.account.name };
  }
  const target = table === "task" && /^[A-Za-z]{2,8}\d{4,12}$/.test(text) ? tableOfNumber(text) : table;
  if (!parts.access.mayRead(target)) {
    if (isSysId(text)) return { sysId: text.toLowerCase(), name: text.toLowerCase() };
    throw invalidInput(`${field} refers to the table ${target}, which cannot be read here: give a sys_id`);
  }
  const find = (each: string) =>
    attempt(parts.remember(["reference", target, each.toLowerCase()], () => {
      const load = isSysId(each) ? recordWith : lookUp;
      return load(parts, { table: target, text: each, field });
    }));
  const found = await find(text);
  if (found.ok) return found.value;
  // as answers show it: with what tells it apart behind it
  const [, name = "", details = ""] = /^(.+) \(([^()]+)\)$/.exec(text) ?? [];
  const [login = ""] = target === "sys_user" ? details.split(", ") : [name];
  const shown = /\bsys_id ([0-9a-f]{32})$/.exec(details)?.[1] ?? login;
  const meant = name === "" ? null : await find(shown); // once: what is shown has one pair of brackets behind it
  const isMeant = meant?.ok && meant.value.name.replace(/ \([^()]*\)$/, "").toLowerCase() === name.toLowerCase();
  if (isMeant) return meant.value;
  throw new Refusal(found.error);
}

/** A sys_id of another table would be stored, and lead nowhere. Where the person may not look, it is taken as given. */
async function recordWith(parts: DeskParts, { table, text, field }: GivenName): Promise<Reference> {
  const sysId = text.toLowerCase();
  const names = ["number", ...namingFields(table)];
  const found = await attempt(parts.tableApi.row(table, sysId, [...names, "user_name", "active"]));
  if (found.ok) {
    const named = names.find((each) => displayValue(found.value, each) !== "") ?? "name";
    return { sysId, name: nameOfRow(found.value, named) };
  }
  if (found.error.reason === "forbidden") return { sysId, name: sysId };
  if (found.error.reason !== "not_found") throw new Refusal(found.error);
  const seen = await parts.tableApi.rowsIfShown(table, { query: "", fields: [], limit: maxCandidates });
  if (seen.length === 0) return { sysId, name: sysId };
  throw invalidInput(`${field}: no ${labelOf(table)} with the sys_id ${sysId} that the user may see`);
}

function labelOf(table: string): string {
  return knownTable(table)?.label.toLowerCase() ?? table;
}

/** The records that a list means, names separated by commas or bars, as the instance stores and people see them. */
export async function resolveList(parts: DeskParts, { text, ...name }: GivenName) {
  const all = await Array.fromAsync(text.split(/[,|]/), async (each): Promise<Reference> => {
    const part = each.trim();
    const found = resolveReference(parts, { ...name, text: part });
    // Lists of people hold addresses of others too.
    if (name.table !== "sys_user" || !/^[^\s@]+@[^\s@]+$/.test(part)) return await found;
    const known = await attempt(found);
    if (!known.ok && known.error.reason !== "invalid_input") throw new Refusal(known.error);
    return known.ok ? known.value : { sysId: part, name: part };
  });
  const [ids, names] = [all.map(({ sysId }) => sysId), all.map((one) => one.name)];
  return { stored: ids.join(","), shown: names.join(", ") };
}

/** The groups of the person who calls. */
export function myGroups({ tableApi, remember, person }: DeskParts): Promise<readonly Reference[]> {
  return remember(["my groups"], async () => {
    const request = { query: `user=${person.account.sysId}`, fields: ["group"] };
    const found = await readOn(tableApi, "sys_user_grmember", request, { wanted: maxGroups, maxRequests: 2 });
    return found.rows.flatMap((row) => referenceIn(row, "group"));
  });
}

function referenceIn(row: RecordFields, field: string): readonly Reference[] {
  const sysId = storedValue(row, field);
  return isStoredSysId(sysId) ? [{ sysId, name: oneLine(displayValue(row, field)) }] : [];
}

/** Whose approvals the person may decide on today, as the base system's own check (`isApprovalMine`) reads it. */
export async function delegatorsOf(parts: DeskParts): Promise<readonly Reference[]> {
  const now = (await datesOf(parts, "now"))?.from ?? "";
  const query = `delegate=${parts.person.account.sysId}^approvals=true^ORDERBYDESCends`;
  const fields = ["user", "delegate", "starts", "ends"];
  const rows = await parts.tableApi.rowsIfShown("sys_user_delegate", { query, fields, limit: maxDelegators });
  // An instance ignores conditions that it does not understand.
  return rows.filter((row) =>
    storedValue(row, "delegate") === parts.person.account.sysId &&
    storedValue(row, "starts") <= now && storedValue(row, "ends") >= now
  ).flatMap((row) => referenceIn(row, "user"));
}

async function lookUp(parts: DeskParts, { table, text, field }: GivenName): Promise<Reference> {
  const isNumber = /^[A-Za-z]{2,8}\d{4,12}$/.test(text);
  const isNumbered = (knownTable(table)?.numberPrefix ?? "") !== "";
  const nameField = isNumber || isNumbered ? "number" : namingFields(table)[0] ?? "name";
  const exact = table === "sys_user" && !isNumber ? peopleNames : [nameField];
  const texts = nameField === "number" ? numbersOf(text, table) : [text];
  const { summaryFields = ["short_description"] } = knownTable(table) ?? {};
  const shown = isNumber ? [nameField] : [...new Set([nameField, ...summaryFields, "active"])];
  const request = { fields: [...exact, ...shown], limit: maxCandidates };
  const query = anyOf(toQueryValues(texts, field).flatMap((value) => exact.map((name) => `${name}=${value}`)));
  const found = await parts.tableApi.rows(table, { ...request, query });
  const named = found.rows.filter((row) => texts.some((each) => isNamed(row, exact, each)));
  // Where one of several is active, the others have left.
  const active = named.filter((row) => storedValue(row, "active") === "true");
  const rows = active.length === 1 ? active : named;
  const [first, second] = rows;
  if (first !== undefined && second === undefined) {
    return { sysId: storedValue(first, "sys_id"), name: nameOfRow(first, nameField) };
  }
  if (first !== undefined) {
    throw invalidInput(
      `${field} "${text}" is ambiguous${isKept(table) ? "" : `: ${listRows(rows, shown, true)}`}. Give one's ${
        table === "sys_user" ? "user name or " : ""
      }sys_id`,
    );
  }
  if (isKept(table)) throw invalidInput(`${field}: no ${labelOf(table)} "${text}" that the user may see`);
  if (isNumbered && !/\d{3}/.test(text)) {
    const remedy = "look for words of its title with servicenow_search";
    throw invalidInput(`${field}: name the ${labelOf(table)} by its number, not "${excerpt(text)}": ${remedy}`);
  }
  // Each word is checked: a script may follow the first.
  const words = text.split(/[\s,]+/).filter((word) => word.length > 1 && toQueryValue(word).ok && !word.includes("^"))
    .slice(0, maxNearWords);
  // A wrong letter is often late in the word; records' numbers all begin alike.
  const beginnings = words.map((word) =>
    /^[A-Za-z]{0,8}\d{4,}$/.test(word) ? word : word.slice(0, Math.max(minBeginning, Math.ceil(word.length / 2)))
  );
  const like = (part: string): string => `${exact[0]}LIKE${part}`;
  const tries = new Set([beginnings.map(like).join("^"), anyOf(words.map(like)), anyOf(beginnings.map(like))]);
  let near: readonly RecordFields[] = [];
  for (const alike of tries) {
    if (near.length > 0 || alike === "") continue;
    const similar = await parts.tableApi.rowsIfShown(table, { ...request, query: alike });
    // An instance that ignores the condition answers with any records.
    near = similar.filter((row) =>
      beginnings.some((part) => displayValue(row, nameField).toLowerCase().includes(part.toLowerCase()))
    );
  }
  const candidates = near.length > 0 ? `; nearest: ${listRows(near, shown)}` : "";
  throw invalidInput(`${field}: no ${labelOf(table)} "${text}" that the user may see${candidates}`);
}

/** An instance ignores a condition on a column that it does not have, and then answers with any record. */
function isNamed(row: RecordFields, fields: readonly string[], text: string): boolean {
  const wanted = oneLine(text.toLowerCase());
  const names = fields.flatMap((field) => [displayValue(row, field), storedValue(row, field)]);
  return names.some((name) => oneLine(name).toLowerCase() === wanted);
}

function listRows(rows: readonly RecordFields[], shown: readonly string[], toChoose = false): string {
  const names = rows.slice(0, maxCandidates - 1).map((row) => describeRow(row, shown, toChoose));
  return [...names, ...(rows.length >= maxCandidates ? ["and more"] : [])].join("; ");
}

/** Its name and what tells it apart; with a sys_id where a caller has to choose and no user name does. */
function describeRow(row: RecordFields, shown: readonly string[], toChoose: boolean): string {
  const [name = "", ...others] = shown.filter((field) => !/^active$|_on$/.test(field)).map((field) =>
    cutText(oneLine(displayValue(row, field)), maxDistinctionCharacters)
  ).filter((text) => text !== "");
  const state = storedValue(row, "active") === "false" ? ["inactive"] : [];
  const isNamed = storedValue(row, "user_name") !== "";
  const id = !isNamed && (toChoose || others.length === 0) ? [`sys_id ${storedValue(row, "sys_id")}`] : [];
  const details = [...others, ...state, ...id].join(", ");
  return details === "" ? name : `${name} (${details})`;
}

/** `Ada Lovelace (ada)`, marked if the person has left; for other records the name alone. */
function nameOfRow(row: RecordFields, nameField: string): string {
  const [name, login] = [nameField, "user_name"].map((field) => oneLine(displayValue(row, field)));
  const details = [...login === "" ? [] : [login], ...storedValue(row, "active") === "false" ? ["inactive"] : []];
  return details.length > 0 ? `${name} (${details.join(", ")})` : name || storedValue(row, "sys_id");
}

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

const numberPattern = /^[A-Za-z]{2,10}\d{4,12}$/;

/** Finds it with one request where its table is known. */
export async function findRecord(
  parts: DeskParts,
  name: RecordName,
  { fields, writing = false }: { readonly fields?: readonly string[] | undefined; readonly writing?: boolean } = {},
): Promise<FoundRecord> {
  const { access } = parts;
  const located = locate(parts, name);
  const open = writing ? access.writable : access.readable;
  // A number may be a task's of any table: which one is known once it is read.
  const isAnyTask = located.table === "task" && access.classesOf("task") !== null;
  if (!(writing && isAnyTask && located.by === "number")) open(located.table);
  const found = await read(parts, located, fields);
  if (!isAnyTask) return found;
  // The table itself has more columns than the task that it extends.
  return await read(parts, {
    table: open(storedValue(found.record, "sys_class_name")),
    by: "sys_id",
    value: found.sysId,
  }, fields);
}

/** A record's table, and the field that names it. */
export function locate(parts: DeskParts, { id, table }: RecordName): Locator {
  const { access, instance, person } = parts;
  const text = numberPattern.test(plainId(id)) ? plainId(id) : id.trim();
  const [, kind, resource = ""] = /^servicenow:\/\/([a-z_]+)\/(\w+)$/.exec(text) ?? [];
  if (kind !== undefined) return locate(parts, { id: resource, table: kind });
  if (/^https?:/i.test(text)) {
    const isHere = URL.parse(text)?.origin === instance.origin;
    const located = isHere ? recordOfLink(text) : null;
    if (located !== null) return located;
    throw invalidInput(isHere ? "the link names no record" : "the link leads to another host than the instance");
  }
  const named = table === undefined || table.trim() === "" ? null : access.readable(table);
  if (isSysId(text)) {
    if (named === null) throw invalidInput("table is required with a sys_id");
    return { table: named, by: "sys_id", value: text.toLowerCase() };
  }
  if (/^(me|my profile)$/i.test(text)) return { table: "sys_user", by: "sys_id", value: person.account.sysId };
  if (numberPattern.test(text) && (named === null || knownTable(named)?.numberPrefix !== "")) {
    // The prefix decides: agents give the number of a problem with the table incident.
    const byPrefix = tableOfNumber(text);
    const owner = byPrefix === "task" ? named ?? byPrefix : byPrefix;
    return { table: owner, by: "number", value: text.toUpperCase() };
  }
  if (text.split(/[\s,;|]+/).filter((part) => numberPattern.test(part)).length > 1) {
    throw invalidInput("id names one record: make a call for each");
  }
  if (named !== null) return { table: named, by: "name", value: text };
  throw invalidInput(`"${excerpt(text)}" is no record number such as INC0010001; give table with a name or sys_id`);
}

/**
 * The record with a number, also where it was written without zeros; `undefined` where the person sees none. Of the
 * versions of an article it is the newest; other records that share a number are refused.
 */
export async function rowByNumber(
  tableApi: DeskParts["tableApi"],
  table: string,
  number: string,
  { among = "", fields }: { readonly among?: string; readonly fields?: readonly string[] | undefined } = {},
): Promise<RecordFields | undefined> {
  const numbers = numbersOf(number, table);
  const isMeant = (row: RecordFields): boolean => numbers.includes(storedValue(row, "number").toUpperCase());
  const query = allOf(anyOf(numbers.map((each) => `number=${each}`)), among, newestFirst);
  const row = await tableApi.firstRow(table, { query, fields }, table === "kb_knowledge" ? undefined : isMeant);
  // An instance ignores a condition on a column that the table does not have, and then answers with any record.
  return row !== undefined && isMeant(row) ? row : undefined;
}

async function read(
  parts: DeskParts,
  { table, by, value }: Locator,
  fields: readonly string[] | undefined,
): Promise<FoundRecord> {
  const wanted = fields === undefined ? undefined : [...fields, "sys_class_name", "number", "sys_mod_count"];
  const { tableApi, access } = parts;
  if (by === "number") {
    const record = await rowByNumber(tableApi, table, value, { among: access.openRows(table), fields: wanted });
    if (record !== undefined) {
      return { table, sysId: storedValue(record, "sys_id"), record };
    }
    if (access.classesOf(table) === null) throw new Refusal({ reason: "not_found" });
    throw invalidInput(`there is no ${value} that the user may see in the tables that are open here`);
  }
  const { sysId } = by === "sys_id"
    ? { sysId: value }
    : await resolveReference(parts, { table, text: value, field: "id" });
  return { table, sysId, record: await tableApi.row(table, sysId, wanted) };
}
