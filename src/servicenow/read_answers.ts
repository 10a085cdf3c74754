/** What was answered to an item's questions when it was ordered, or to a record producer's, in people's words. */
import { type Result, success } from "../lib/result.ts";
import { isSecretField } from "./field_access.ts";
import { knownTable, namingFields } from "./known_tables.ts";
import type { ItemAnswers } from "./desk_port.ts";
import type { DeskParts } from "./desk_parts.ts";
import { invalidInput, type ServicenowFailure } from "./failure.ts";
import { displayValue, storedValue } from "./field_values.ts";
import type { RecordFields } from "./port.ts";
import { isStoredSysId } from "./record_id.ts";
import type { FoundRecord } from "./find_record.ts";
import { oneLine, wordsOf } from "./plain_text.ts";
import { nameOf } from "./shown_record.ts";
import type { Person } from "./person_cache.ts";
import { asksNothing, kindOf } from "./catalog_item.ts";

const maxAnswers = 200;
const maxChoices = 1_000;
/** Tables of which names are asked for. */
const maxTables = 6;
/** Names of one table: their ids go into an address. */
const maxNames = 100;
const masked = "•••";

/** Rows with an answer each, and the paths to the answer and to its question. */
interface Source {
  readonly table: string;
  readonly query: string;
  readonly answer: string;
  readonly question: string;
}

/** An answer as it is stored. */
interface StoredAnswer {
  readonly item: string;
  readonly question: string;
  readonly label: string;
  readonly name: string;
  readonly type: number;
  readonly table: string;
  readonly value: string;
}

/** Tables whose records are ordered, or told with the answers that made them. */
function mayHaveAnswers(table: string): boolean {
  const known = knownTable(table);
  return known === undefined || known.parents?.includes("task") === true;
}

/** `null` where ServiceNow keeps the answers from the person. */
export async function readAnswers(
  parts: DeskParts,
  found: FoundRecord,
  person: Person,
): Promise<Result<ItemAnswers | null, ServicenowFailure>> {
  if (!mayHaveAnswers(found.table)) {
    return invalidInput(`a record of ${found.table} has no answers; leave it out of include`);
  }
  const { table, query, answer, question } = sourceOf(found);
  const inQuestion = ["question_text", "name", "type", "reference", "list_table"].map((name) => `${question}.${name}`);
  const fields = [`${answer}value`, question, "request_item", ...inQuestion];
  const rows = await parts.tableApi.rows(table, { query, fields, limit: maxAnswers }, person);
  if (!rows.ok) return rows.error.reason === "forbidden" || rows.error.reason === "rejected" ? success(null) : rows;
  const stored = rows.value.rows.map((row): StoredAnswer => ({
    item: oneLine(displayValue(row, "request_item")),
    question: storedValue(row, question),
    label: oneLine(storedValue(row, `${question}.question_text`) || storedValue(row, `${question}.name`)),
    name: storedValue(row, `${question}.name`),
    type: Number(storedValue(row, `${question}.type`)),
    table: storedValue(row, `${question}.reference`) || storedValue(row, `${question}.list_table`),
    value: storedValue(row, `${answer}value`),
  })).filter(({ value, type }) => value !== "" && !asksNothing(type));
  const choices = await choiceTexts(parts, stored, person);
  const names = await recordNames(parts, stored, person);
  const answers = stored.map((each) => ({
    item: found.table === "sc_request" ? each.item : null,
    label: each.label || "(a question that ServiceNow does not show)",
    value: shownAnswer(each, { choices, names }),
  }));
  return success({ answers, isCut: rows.value.nextOffset !== null });
}

function sourceOf({ table, sysId, record }: FoundRecord): Source {
  const ordered = (query: string): Source => ({
    table: "sc_item_option_mtom",
    query: `${query}^ORDERBYrequest_item^ORDERBYsc_item_option.order`,
    answer: "sc_item_option.",
    question: "sc_item_option.item_option_new",
  });
  if (table === "sc_req_item") return ordered(`request_item=${sysId}`);
  if (table === "sc_request") return ordered(`request_item.request=${sysId}`);
  const item = table === "sc_task" ? storedValue(record, "request_item") : "";
  if (/^[0-9a-f]{32}$/.test(item)) return ordered(`request_item=${item}`);
  return {
    table: "question_answer",
    query: `table_name=${table}^table_sys_id=${sysId}^ORDERBYorder`,
    answer: "",
    question: "question",
  };
}

/** The words of chosen values, by question and value. */
async function choiceTexts(
  { tableApi }: DeskParts,
  answers: readonly StoredAnswer[],
  person: Person,
): Promise<ReadonlyMap<string, string>> {
  const questions = new Set(
    answers.filter(({ type, question }) => kindOf(type) === "choice" && isStoredSysId(question))
      .map(({ question }) => question),
  );
  if (questions.size === 0) return new Map();
  const query = `questionIN${[...questions].join(",")}`;
  const request = { query, fields: ["question", "value", "text"], limit: maxChoices };
  const rows = await tableApi.rows("question_choice", request, person);
  return new Map(
    (rows.ok ? rows.value.rows : []).map((row) => [
      `${storedValue(row, "question")} ${storedValue(row, "value")}`,
      storedValue(row, "text"),
    ]),
  );
}

/** The names of records that were chosen, by sys_id: of tables that can be read here, as far as the person may. */
async function recordNames(
  { tableApi, access }: DeskParts,
  answers: readonly StoredAnswer[],
  person: Person,
): Promise<ReadonlyMap<string, string>> {
  const byTable = Map.groupBy(answers.filter(({ table }) => access.mayRead(table)), ({ table }) => table);
  const names = new Map<string, string>();
  for (const [table, chosen] of [...byTable].slice(0, maxTables)) {
    const ids = [...new Set(chosen.flatMap(({ value }) => sysIdsIn(value)))].slice(0, maxNames);
    if (ids.length === 0) continue;
    const query = [`sys_idIN${ids.join(",")}`, access.openRows(table)].filter((term) => term !== "").join("^");
    const fields = ["number", "user_name", ...namingFields(table)];
    const rows = await tableApi.rows(table, { query, fields, limit: ids.length }, person);
    for (const row of rows.ok ? rows.value.rows : []) names.set(storedValue(row, "sys_id"), namedRow(table, row));
  }
  return names;
}

function namedRow(table: string, row: RecordFields): string {
  const login = table === "sys_user" ? oneLine(storedValue(row, "user_name")) : "";
  return login === "" ? nameOf(table, row) : `${nameOf(table, row)} (${login})`;
}

function sysIdsIn(value: string): readonly string[] {
  return value.split(",").map((part) => part.trim()).filter((part) => /^[0-9a-f]{32}$/.test(part));
}

function shownAnswer(
  { type, name, table, question, value }: StoredAnswer,
  { choices, names }: {
    readonly choices: ReadonlyMap<string, string>;
    readonly names: ReadonlyMap<string, string>;
  },
): string {
  const kind = kindOf(type);
  // What cannot be known to be open may be masked: the person may not read the question.
  if (kind === "masked" || isSecretField(name) || !(type > 0)) return masked;
  if (kind === "checkbox") return value === "true" ? "yes" : "no";
  if (kind === "date_time" && /^\d{4}-\d\d-\d\d \d\d:/.test(value)) return `${value} UTC`;
  if (kind === "choice") return oneLine(choices.get(`${question} ${value}`) ?? value);
  const ids = kind === "reference" || kind === "list" ? sysIdsIn(value) : [];
  if (ids.length === 0) return wordsOf(value);
  return ids.map((id) => names.get(id) ?? `a record of ${table || "another table"} that is not shown here`).join(", ");
}
