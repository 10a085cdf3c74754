/** Words and conditions as one query on one table. */
import { type Result, success } from "../lib/result.ts";
import { knownTable } from "./known_tables.ts";
import type { DeskParts } from "./desk_parts.ts";
import { invalidInput, type ServicenowFailure } from "./failure.ts";
import type { RecordSearch } from "./desk_port.ts";
import { parseConditions } from "./conditions.ts";
import { anyOf, toQueryValue } from "./query_value.ts";
import { columnsOf, type TableColumns } from "./columns.ts";
import type { Person } from "./person_cache.ts";
import { resolveConditions } from "./resolve_conditions.ts";

const maxWords = 8;

/** What is looked for in one table: the query, and the same in words. */
export interface Selection {
  readonly table: string;
  readonly query: string;
  readonly understood: readonly string[];
  /** The same without looking for words beyond the table's own fields, which the person may not be allowed to. */
  readonly narrower?: Selection;
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
  if (where !== undefined && where.trim() !== "") {
    const conditions = parseConditions(where);
    if (!conditions.ok) return invalidInput(conditions.error);
    const columns = await columnsOf(parts, table.value, person);
    if (!columns.ok) return columns;
    const resolved = await resolveConditions(parts, columns.value, conditions.value, person);
    if (!resolved.ok) return resolved;
    terms.push(...resolved.value.terms);
    understood.push(...resolved.value.understood);
  }
  const select = (textual: readonly string[], words: readonly string[]): Selection => ({
    table: table.value,
    query: [...textual, ...terms].join("^"),
    understood: [...words, ...understood],
  });
  if (words === undefined) return success(select([], []));
  const parsed = parseWords(words);
  if (!parsed.ok) return parsed;
  const fields = await wordFields(parts, table.value, person);
  if (!fields.ok) return fields;
  const said = `with the words ${words.trim().slice(0, 200)}`;
  const whole = select(wordTerms(parsed.value, fields.value), [said]);
  const own = fields.value.filter((field) => !field.includes("."));
  if (own.length === 0 || own.length === fields.value.length) return success(whole);
  const others = fields.value.filter((field) => field.includes(".")).join(", ");
  const unsearched = `${said} (NOT looked for in ${others}, which ServiceNow keeps from this user)`;
  return success({ ...whole, narrower: select(wordTerms(parsed.value, own), [unsearched]) });
}

/** Runs `read` with the selection; where the instance refuses to look into other tables, with the narrower one. */
export async function readSelection<T>(
  { narrower, ...whole }: Selection,
  read: (selection: Selection) => Promise<Result<T, ServicenowFailure>>,
): Promise<Result<T, ServicenowFailure>> {
  const answer = await read(whole);
  return !answer.ok && answer.error.reason === "forbidden" && narrower !== undefined ? await read(narrower) : answer;
}

/** The words, each as a value of a query. */
export function parseWords(text: string): Result<readonly string[], ServicenowFailure> {
  const words = text.replace(/["“”„«»]/g, " ").split(/\s+/).filter((word) => word !== "" && word !== "AND");
  const operator = words.find((word) => /^(OR|NOT)$|^-\p{L}/u.test(word));
  if (operator !== undefined) {
    return invalidInput(
      `words have all to occur: "${operator.slice(0, 80).toWellFormed()}" would be looked for itself. ` +
        "Use where: short_description contains a or b; short_description does not contain c",
    );
  }
  if (words.length === 0) return invalidInput("words must not be empty");
  if (words.length > maxWords) return invalidInput(`words: at most ${maxWords}`);
  // A script may have blanks in it: the whole is looked at too.
  const values = [text, ...words].map(toQueryValue);
  const wrong = values.find((value) => !value.ok);
  if (wrong?.ok === false) return invalidInput(`words ${wrong.error}`);
  return success(values.slice(1).flatMap((value) => value.ok ? [value.value] : []));
}

/** The fields in which words are looked for. */
async function wordFields(
  parts: DeskParts,
  table: string,
  person: Person,
): Promise<Result<readonly string[], ServicenowFailure>> {
  const known = knownTable(table);
  if (known?.name === table) return success(known.textFields);
  const columns = await columnsOf(parts, table, person);
  if (!columns.ok) return columns;
  const fields = textColumns(columns.value);
  return fields.length === 0 ? invalidInput(`${table} has no text to search: use where`) : success(fields);
}

/** Each word has to be in one of the fields, in any order. */
function wordTerms(words: readonly string[], fields: readonly string[]): readonly string[] {
  return words.map((word) => anyOf(fields.map((field) => `${field}LIKE${word}`)));
}

/** Columns with words in them, of a table that is not known here. */
export function textColumns({ columns }: TableColumns): readonly string[] {
  const wanted = ["number", "name", "short_description", "description", "title", "label"];
  return wanted.filter((name) => columns.some((column) => column.name === name));
}
