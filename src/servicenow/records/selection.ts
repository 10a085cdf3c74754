/** Words and conditions as one query on one table. */
import { type Result, success } from "../../lib/result.ts";
import { knownTable } from "../access/known_tables.ts";
import type { DeskParts } from "../desk/desk_parts.ts";
import { invalidInput, type ServicenowFailure } from "../failure.ts";
import type { RecordSearch } from "../desk/port.ts";
import { parseConditions } from "../query/conditions.ts";
import { anyOf, toQueryValue } from "../query/query_value.ts";
import type { TableColumns } from "../schema/columns.ts";
import type { Person } from "../schema/person_cache.ts";

const maxWords = 8;

/** What is looked for in one table: the query, and the same in words. */
interface Selection {
  readonly table: string;
  readonly query: string;
  readonly understood: readonly string[];
}

/** Words and conditions become one query. */
export async function select(
  parts: DeskParts,
  { table: named, words, where }: Pick<RecordSearch, "table" | "words" | "where">,
  person: Person,
): Promise<Result<Selection, ServicenowFailure>> {
  const { access } = parts;
  const table = access.readable(named);
  if (!table.ok) return table;
  const terms: string[] = [];
  const understood: string[] = [];
  const open = access.openRows(table.value);
  if (open !== "") terms.push(open);
  if (words !== undefined) {
    const textual = await wordTerms(parts, table.value, words, person);
    if (!textual.ok) return textual;
    terms.push(...textual.value);
    understood.push(`with the words ${words.trim().slice(0, 200)}`);
  }
  if (where !== undefined && where.trim() !== "") {
    const conditions = parseConditions(where);
    if (!conditions.ok) return invalidInput(conditions.error);
    const columns = await parts.columnsOf(table.value, person);
    if (!columns.ok) return columns;
    const resolved = await parts.resolveConditions(columns.value, conditions.value, person);
    if (!resolved.ok) return resolved;
    terms.push(...resolved.value.terms);
    understood.push(...resolved.value.understood);
  }
  return success({ table: table.value, query: terms.join("^"), understood });
}

/** The words, each as a value of a query. */
export function parseWords(text: string): Result<readonly string[], ServicenowFailure> {
  const words = text.split(/\s+/).filter((word) => word !== "");
  if (words.length === 0) return invalidInput("words must not be empty");
  if (words.length > maxWords) return invalidInput(`words: at most ${maxWords}`);
  // A script may have blanks in it: the whole is looked at too.
  const values = [text, ...words].map(toQueryValue);
  const wrong = values.find((value) => !value.ok);
  if (wrong?.ok === false) return invalidInput(`words ${wrong.error}`);
  return success(values.slice(1).flatMap((value) => value.ok ? [value.value] : []));
}

/** Each word has to be in one of the fields, in any order. */
async function wordTerms(
  { columnsOf }: DeskParts,
  table: string,
  text: string,
  person: Person,
): Promise<Result<readonly string[], ServicenowFailure>> {
  const words = parseWords(text);
  if (!words.ok) return words;
  const known = knownTable(table);
  let fields = known?.name === table ? known.textFields : null;
  if (fields === null) {
    const columns = await columnsOf(table, person);
    if (!columns.ok) return columns;
    fields = textColumns(columns.value);
    if (fields.length === 0) return invalidInput(`${table} has no text to search: use where`);
  }
  const terms: string[] = [];
  for (const word of words.value) terms.push(anyOf(fields.map((field) => `${field}LIKE${word}`)));
  return success(terms);
}

/** Columns with words in them, of a table that is not known here. */
export function textColumns({ columns }: TableColumns): readonly string[] {
  const wanted = ["number", "name", "short_description", "description", "title", "label"];
  return wanted.filter((name) => columns.some((column) => column.name === name));
}
