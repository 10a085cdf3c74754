/** Finds records by words and conditions. A page is filled although the instance hides rows after it has cut the page. */
import * as z from "zod";
import { type Result, success } from "../lib/result.ts";
import type { DeskParts, Person } from "./table_api.ts";
import { invalidInput, type ServicenowFailure } from "./failure.ts";
import { maxSearchResults, type RecordPage, type RecordSearch } from "./port.ts";
import { htmlToText, oneLine } from "./field_values.ts";
import {
  ignoredCondition,
  linkTo,
  parseWords,
  readSelection,
  select,
  type Selection,
  textColumns,
  toShownRecord,
  withConditions,
} from "./selection.ts";
import { askJson } from "./calls.ts";
import { mayShowField } from "./table_access.ts";
import { knownTable, namingFields } from "./known_tables.ts";
import { type ReadingPlace, readOn } from "./read_on.ts";
import { columnsOf } from "./columns.ts";
import { findColumn } from "./columns_by_name.ts";
import { resolveReference } from "./references.ts";

// Articles by relevance, from the Knowledge API: published ones that the person may read.

const article = z.object({
  id: z.string().regex(/^(kb_knowledge:)?[0-9a-f]{32}$/),
  number: z.string().nullish(),
  title: z.string().nullish(),
  snippet: z.string().nullish(),
});
const articles = z.object({ articles: z.array(article) });

/** Answers by words; conditions narrow them. Fails as `not_found` or `rejected` where an instance has no such API. */
async function searchArticles(
  parts: DeskParts,
  search: RecordSearch & { readonly words: string; readonly offset: number; readonly isLoose: boolean },
  person: Person,
): Promise<Result<RecordPage, ServicenowFailure>> {
  const { where, isLoose } = search;
  const words = parseWords(search.words);
  if (!words.ok) return words;
  // The API finds what has some of the words: the filter asks for each.
  const named = { table: "kb_knowledge", words: isLoose ? undefined : search.words };
  const narrowed = await select(parts, { ...named, ...(where === undefined ? {} : { where }) }, person);
  if (!narrowed.ok) return narrowed;
  const { query: filter, understood } = narrowed.value;
  const parsed = await askJson(parts.callAs, person, {
    path: "/api/sn_km_api/knowledge/articles",
    query: {
      // Words alone: an instance puts them into an encoded query.
      query: words.value.join(" ").replaceAll("^", " ").trim(),
      language: "all",
      limit: String(search.limit),
      offset: String(search.offset),
      ...(filter === "" ? {} : { filter }),
    },
  }, articles);
  if (!parsed.ok) return parsed;
  const found = parsed.value.articles.slice(0, search.limit);
  if (found.length === 0 && !isLoose && search.offset === 0 && words.value.length > 1) {
    return await searchArticles(parts, { ...search, isLoose: true }, person);
  }
  const next = `${search.offset + found.length}${isLoose ? ".1" : ""}`;
  return success({
    table: "kb_knowledge",
    understood: isLoose
      ? [`by relevance to ${search.words.trim().slice(0, 200)} (no article has all of the words)`, ...understood]
      : understood,
    total: null,
    cursor: found.length < search.limit ? null : next,
    records: found.map(({ id, number, title, snippet }) => {
      const sysId = id.replace(/^kb_knowledge:/, "");
      return {
        table: "kb_knowledge",
        sysId,
        name: oneLine(number ?? sysId),
        namedBy: ["number"],
        link: linkTo(parts.instance.origin, "kb_knowledge", sysId),
        fields: [
          { name: "short_description", value: oneLine(title ?? "") },
          { name: "snippet", value: htmlToText(snippet ?? "") },
        ],
      };
    }),
  });
}

/** Requests for one page. */
const maxRequests = 4;
const maxFields = 30;
const maxOrders = 3;

/** The place that a cursor names: `offset.skip.given`. */
function parseCursor(cursor: string | undefined): ReadingPlace | null {
  if (cursor === undefined) return { offset: 0, skip: 0, given: 0 };
  const [, offset = "", skip = "0", given = "0"] = /^(\d{1,7})(?:\.(\d{1,3})(?:\.(\d{1,7}))?)?$/.exec(cursor) ?? [];
  return offset === "" ? null : { offset: Number(offset), skip: Number(skip), given: Number(given) };
}

export async function searchRecords(
  parts: DeskParts,
  asked: RecordSearch,
  person: Person,
): Promise<Result<RecordPage, ServicenowFailure>> {
  const search: RecordSearch = await withConditions(
    parts,
    { ...asked, limit: Math.min(asked.limit, maxSearchResults) },
    person,
  );
  const start = parseCursor(search.cursor);
  if (start === null) return invalidInput("cursor must be the one that the page before gave");
  const selected = await select(parts, search, person);
  if (!selected.ok) return selected;
  const { table } = selected.value;
  const isPlain = search.orderBy === undefined && search.fields === undefined;
  if (table === "kb_knowledge" && search.words !== undefined && isPlain) {
    const asked = { ...search, words: search.words, offset: start.offset, isLoose: start.skip === 1 };
    const articles = await searchArticles(parts, asked, person);
    if (articles.ok) return articles;
    // Where the Knowledge API is missing or closed, the Table API may answer.
    if (!["not_found", "rejected", "forbidden"].includes(articles.error.reason)) return articles;
  }
  const names = await chosenFields(parts, table, search.fields, person);
  if (!names.ok) return names;
  const orderBy = search.orderBy ?? selected.value.order.join(",");
  const order = await orderOf(parts, table, orderBy, person);
  if (!order.ok) return order;
  const page = { fields: names.value, order: order.value, start };
  const found = await readSelection(
    selected.value,
    (each) => readPage(parts, search, { ...page, selected: each }, person),
  );
  const { named } = selected.value;
  if (named === undefined || !found.ok || found.value.records.length > 0) return found;
  const nearest = await resolveReference(
    parts,
    { table, text: named, field: knownTable(table)?.nameField ?? "name" },
    person,
  );
  return nearest.ok || nearest.error.reason !== "invalid_input"
    ? found
    : success({ ...found.value, hint: nearest.error.message });
}

async function readPage(
  parts: DeskParts,
  search: RecordSearch,
  { selected, fields, order, start }: {
    readonly selected: Selection;
    readonly fields: readonly string[];
    readonly order: readonly string[];
    readonly start: ReadingPlace;
  },
  person: Person,
): Promise<Result<RecordPage, ServicenowFailure>> {
  const { table, query, understood, checked } = selected;
  const request = {
    query: [query, ...order].filter((term) => term !== "").join("^"),
    fields: [
      ...[...fields, "number", "sys_class_name", "sys_mod_count", ...namingFields(table)],
      ...checked.map(({ path }) => path),
    ],
  };
  const read = await readOn(parts.tableApi, table, request, { wanted: search.limit, maxRequests, start }, person);
  if (!read.ok) return read;
  const { rows, next, total } = read.value;
  const ignored = ignoredCondition(selected, rows);
  if (ignored !== null) return ignored;
  for (const row of rows) parts.seen.note(person, row);
  const origin = parts.instance.origin;
  const shown = search.fields === undefined ? knownTable(table)?.summaryFields : fields;
  return success({
    table,
    understood,
    cursor: next === null ? null : [next.offset, next.skip, next.given].join("."),
    total,
    records: rows.map((record) => toShownRecord(table, record, { origin, names: shown })),
  });
}

/** The fields to ask for, each known for the table. */
export async function chosenFields(
  parts: DeskParts,
  table: string,
  given: readonly string[] | undefined,
  person: Person,
): Promise<Result<readonly string[], ServicenowFailure>> {
  const known = knownTable(table);
  if (given === undefined && known?.name === table) return success(known.summaryFields);
  const columns = await columnsOf(parts, table, person);
  if (!columns.ok) return columns;
  if (given === undefined) {
    const present = new Set(columns.value.columns.map(({ name }) => name));
    const summary = known?.summaryFields.filter((name) => present.has(name)) ?? textColumns(columns.value);
    return success([
      ...summary,
      ...known === undefined ? ["state", "sys_updated_on"].filter((name) => present.has(name)) : [],
    ]);
  }
  if (given.length > maxFields) return invalidInput(`fields: at most ${maxFields}`);
  const paths: string[] = [];
  for (const name of given) {
    const found = await findColumn(parts, columns.value, name, person);
    if (!found.ok) return found;
    if (mayShowField(found.value.owner.table, found.value.column.name)) paths.push(found.value.path);
  }
  return success(paths);
}

async function orderOf(
  parts: DeskParts,
  table: string,
  orderBy: string,
  person: Person,
): Promise<Result<readonly string[], ServicenowFailure>> {
  if (orderBy === "") return success(["ORDERBYDESCsys_updated_on"]);
  const columns = await columnsOf(parts, table, person);
  if (!columns.ok) return columns;
  const terms: string[] = [];
  for (const part of orderBy.split(",").map((each) => each.trim()).slice(0, maxOrders)) {
    const [, name = "", direction = ""] = /^-?\s*(.*?)\s*(desc|asc|descending|ascending)?$/i.exec(part) ?? [];
    const found = await findColumn(parts, columns.value, name, person);
    if (!found.ok) return found;
    const isDescending = part.startsWith("-") || /^desc/i.test(direction);
    terms.push(`${isDescending ? "ORDERBYDESC" : "ORDERBY"}${found.value.path}`);
  }
  return success(terms);
}
