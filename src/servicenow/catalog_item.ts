/** A catalog item and its questions, as the Service Catalog API tells a person who may order it. */
import * as z from "zod";
import { allOf, type DeskParts, isSecretField } from "./table_api.ts";
import { excerpt, ifShown, invalidInput, Refusal } from "./failure.ts";
import { type FoundRecord, locate, resolveList, resolveReference } from "./find_record.ts";
import {
  displayValue,
  isStoredSysId,
  isSysId,
  oneLine,
  plainText,
  type RecordFields,
  storedValue,
  truthOf,
  wordsOf,
} from "./field_values.ts";
import { askJson, maxReplyBytes } from "./transport.ts";
import { dateValue } from "./dates.ts";
import { valuesOfChoice } from "./choices.ts";
import { namingFields } from "./tables.ts";
import { nameOf } from "./search.ts";
import { closestWord } from "../lib/suggestible.ts";
import { type GivenValue, refuseLineAfter } from "./write_record.ts";

/** A question of a catalog item. */
interface ItemQuestion {
  /** The sys_id, or empty where the instance does not say it. */
  readonly id: string;
  readonly name: string;
  readonly label: string;
  readonly kind: "text" | "yes_no" | "checkbox" | "choice" | "reference" | "list" | "date" | "date_time" | "masked";
  readonly mandatory: boolean;
  readonly reference: string | null;
  readonly choices: readonly { readonly value: string; readonly label: string }[];
  readonly initial: string;
}

/** An item of the service catalog, with the questions that an order answers. */
export type CatalogItem = Awaited<ReturnType<typeof readItem>>;

const text = z.union([z.string(), z.number(), z.boolean()]).nullish().transform((value) => String(value ?? ""));
const variable = z.object({
  id: text,
  name: text,
  label: text,
  type: z.coerce.number(),
  mandatory: z.unknown().transform((value) => value === true || value === "true"),
  reference: text,
  value: text,
  choices: z.array(z.object({ label: text, value: text })).nullish().transform((value) => value ?? []),
  children: z.array(z.unknown()).nullish().transform((value) => value ?? []),
});
const itemReply = z.object({
  sys_id: z.string().regex(/^[0-9a-f]{32}$/),
  name: text,
  short_description: text,
  price: text,
  recurring_price: text,
  show_price: z.unknown().transform((value) => value !== false && value !== "false"),
  type: text,
  sys_class_name: text,
  variables: z.array(z.unknown()).nullish().transform((value) => value ?? []),
});

/** By number (product documentation "Types of service catalog variables"). */
const kinds: ReadonlyMap<number, ItemQuestion["kind"]> = new Map([
  ...[3, 4, 5, 18, 22].map((type) => [type, "choice"] as const),
  ...[8, 31].map((type) => [type, "reference"] as const),
  ...[[1, "yes_no"], [7, "checkbox"], [9, "date"], [10, "date_time"], [21, "list"], [25, "masked"]] as const,
]);
/** Variables that ask nothing: labels, breaks, macros, containers with their ends and splits. */
const silent: ReadonlySet<number> = new Set([11, 12, 14, 15, 17, 19, 20, 24, 32]);
/** In place of an answer that is masked. */
const masked = "•••";
const maxQuestions = 100;
const maxDepth = 4;

const kindOf = (type: number): ItemQuestion["kind"] => kinds.get(type) ?? "text";

/** Finds it by name, sys_id or link. */
export async function readItem(parts: DeskParts, item: string) {
  parts.access.readable("sc_cat_item");
  const located = locate(parts, { id: item, table: "sc_cat_item" });
  if (located.table !== "sc_cat_item") throw invalidInput("item must be the name, sys_id or link of a catalog item");
  const found = located.by === "sys_id"
    ? { sysId: located.value }
    : await resolveReference(parts, { table: "sc_cat_item", text: item, field: "item" });
  const request = { path: `/api/sn_sc/servicecatalog/items/${found.sysId}`, notFoundStatus: 400 };
  const parsed = await askJson(parts.callAs, parts.person, request, itemReply);
  const { name, price, recurring_price: recurring, type, show_price: isPriceShown } = parsed;
  const questions = toQuestions(parsed.variables, 0);
  if (questions.length > maxQuestions) throw new Refusal({ reason: "too_large", limitBytes: maxReplyBytes });
  return {
    sysId: parsed.sys_id,
    name: oneLine(name),
    about: wordsOf(parsed.short_description),
    /** As the instance shows it; empty where it shows none. */
    price: isPriceShown ? oneLine(price) : "",
    recurringPrice: isPriceShown ? oneLine(recurring) : "",
    /** Whether it makes a record of some table instead of a request. */
    isProducer: type === "record_producer" || parsed.sys_class_name === "sc_cat_item_producer",
    questions,
  };
}

/** Containers hold further variables. */
function toQuestions(variables: readonly unknown[], depth: number): readonly ItemQuestion[] {
  if (depth > maxDepth) return [];
  return variables.flatMap((each): readonly ItemQuestion[] => {
    const parsed = variable.safeParse(each);
    if (!parsed.success) return [];
    const { id, name, label, type, mandatory, reference, value, choices, children } = parsed.data;
    const inner = toQuestions(children, depth + 1);
    if (silent.has(type) || name === "") return inner;
    const question: ItemQuestion = {
      id: isStoredSysId(id) ? id : "",
      name: plainText(name),
      label: plainText(label) || name,
      kind: choices.length > 0 && type !== 21 ? "choice" : kindOf(type),
      mandatory,
      reference: reference === "" ? type === 31 ? "sys_user" : null : reference,
      choices: choices.filter((one) => one.value !== ""),
      initial: value,
    };
    return [question, ...inner];
  });
}

const maxChoicesShown = 100;

/**
 * Answers by the questions' names, as the instance takes them, and as people see them. Unknown questions and missing
 * mandatory answers are refused before anything is sent.
 */
export async function resolveAnswers(parts: DeskParts, { questions }: CatalogItem, given: readonly GivenValue[]) {
  const variables: Record<string, string> = Object.create(null);
  const shown: { readonly label: string; readonly value: string }[] = [];
  for (const [name, value, next] of given) {
    const question = questionNamed(questions, name);
    if (question === undefined) throw invalidInput(unknownQuestion(questions, name));
    if (Object.hasOwn(variables, question.name)) throw invalidInput(`${question.name} is answered twice`);
    const answer = await resolveAnswer(parts, question, value);
    const isText = question.kind === "text" || question.kind === "masked";
    if (isText) refuseLineAfter(question.name, next, "answers");
    variables[question.name] = answer.stored;
    shown.push({ label: question.label, value: question.kind === "masked" ? masked : answer.shown });
  }
  const missing = questions.filter(({ name, mandatory, kind, initial }) =>
    mandatory && (kind === "checkbox" ? (variables[name] ?? initial) !== "true" : (variables[name] ?? initial) === "")
  );
  if (missing.length > 0) {
    throw invalidInput(`answers must have ${missing.map(describeQuestion).join("; ")}. Nothing was sent`);
  }
  return { variables, shown };
}

function questionNamed(questions: readonly ItemQuestion[], given: string): ItemQuestion | undefined {
  const word = given.trim().toLowerCase().replace(/\?$/, "");
  return questions.find(({ name }) => name.toLowerCase() === word) ??
    questions.find(({ label }) => label.toLowerCase().replace(/\?$/, "") === word);
}

function unknownQuestion(questions: readonly ItemQuestion[], given: string): string {
  const names = questions.map(({ name }) => name);
  const nearest = closestWord(given.trim().toLowerCase(), names);
  const known = names.length === 0 ? "it asks nothing" : `it asks ${questions.map(describeQuestion).join("; ")}`;
  return `the item asks no ${excerpt(given)}; ${nearest === null ? known : `did you mean ${nearest}?`}`;
}

/** Its name, its words, and what it takes. */
export function describeQuestion({ name, label, kind, mandatory, reference, choices, initial }: ItemQuestion): string {
  const values = choices.slice(0, maxChoicesShown).map((choice) => choice.label);
  const more = choices.length > maxChoicesShown ? ", …" : "";
  return oneLine([
    `${name} (${label})`,
    reference === null ? kind : `→ ${reference}`,
    ...(mandatory ? ["mandatory"] : []),
    ...(values.length === 0 ? [] : [`[${values.join(", ")}${more}]`]),
    ...(initial === "" || kind === "masked" ? [] : [`default ${initial}`]),
  ].join(" "));
}

async function resolveAnswer(parts: DeskParts, question: ItemQuestion, value: string) {
  const { name, kind, choices, reference } = question;
  if (value === "") return { stored: "", shown: "" };
  switch (kind) {
    case "choice": {
      const [named] = valuesOfChoice(value, choices);
      const [first, second] = choices.filter(({ value: stored, label }) =>
        named === undefined ? label.toLowerCase().startsWith(value.trim().toLowerCase()) : stored === named
      );
      if (first === undefined || (named === undefined && second !== undefined)) {
        throw invalidInput(`no "${excerpt(value)}" for ${describeQuestion(question)}`);
      }
      return { stored: first.value, shown: first.label };
    }
    case "yes_no":
    case "checkbox": {
      const isTrue = truthOf(value);
      if (isTrue === null) throw invalidInput(`${name} is yes or no`);
      return { stored: kind === "yes_no" ? isTrue ? "Yes" : "No" : String(isTrue), shown: isTrue ? "yes" : "no" };
    }
    case "reference":
    case "list": {
      if (reference === null) return { stored: value, shown: value };
      const named = { table: reference, text: value, field: name };
      if (kind === "list") return await resolveList(parts, named);
      const found = await resolveReference(parts, named);
      return { stored: found.sysId, shown: found.name };
    }
    case "date":
    case "date_time":
      return await dateValue(parts, { name, value, isDay: kind === "date" });
    default:
      return { stored: value, shown: value };
  }
}

// What was answered to an item's questions when it was ordered.

const maxAnswers = 200;
const maxChoices = 1_000;
/** Tables of which names are asked for. */
const maxTables = 6;
/** Names of one table: their ids go into an address. */
const maxNames = 100;
/** The path from a row with an answer to its question. */
const questionPath = "sc_item_option.item_option_new";

/** `null` where ServiceNow keeps the answers from the person. */
export async function readAnswers(parts: DeskParts, { table, sysId, record }: FoundRecord) {
  const item = table === "sc_task" ? storedValue(record, "request_item") : sysId;
  if (!["sc_req_item", "sc_request", "sc_task"].includes(table) || !isStoredSysId(item)) {
    throw invalidInput(`a record of ${table} has no answers; leave it out of include`);
  }
  const field = table === "sc_request" ? "request_item.request" : "request_item";
  const inQuestion = ["question_text", "name", "type", "reference", "list_table"];
  const found = await ifShown(
    parts.tableApi.rows("sc_item_option_mtom", {
      query: `${field}=${item}^ORDERBYrequest_item^ORDERBYsc_item_option.order`,
      fields: [
        "sc_item_option.value",
        questionPath,
        "request_item",
        ...inQuestion.map((name) => `${questionPath}.${name}`),
      ],
      limit: maxAnswers,
    }),
    null,
  );
  if (found === null) return null;
  const stored = found.rows.map(storedAnswer).filter(({ value, type }) => value !== "" && !silent.has(type));
  const names = await recordNames(parts, stored);
  const asked = stored.map(({ type, question }) => kindOf(type) === "choice" ? question : "").filter(isStoredSysId);
  const query = `questionIN${[...new Set(asked)].join(",")}`;
  const texts = { query, fields: ["question", "value", "text"], limit: maxChoices };
  for (const row of asked.length === 0 ? [] : await parts.tableApi.rowsIfShown("question_choice", texts)) {
    names.set(`${storedValue(row, "question")} ${storedValue(row, "value")}`, oneLine(storedValue(row, "text")));
  }
  const answers = stored.map((each) => ({
    /** The number of the item; `null` where the record is or belongs to one. */
    item: table === "sc_request" ? each.item : null,
    label: each.label || "(a question that ServiceNow does not show)",
    value: shownAnswer(each, names),
  }));
  /** `isCut`: whether there are more. */
  return { answers, isCut: found.isCut };
}

type StoredAnswer = ReturnType<typeof storedAnswer>;

function storedAnswer(row: RecordFields) {
  const asked = (name: string): string => storedValue(row, `${questionPath}.${name}`);
  return {
    item: oneLine(displayValue(row, "request_item")),
    question: storedValue(row, questionPath),
    label: oneLine(asked("question_text") || asked("name")),
    name: asked("name"),
    type: Number(asked("type")),
    table: asked("reference") || asked("list_table"),
    value: storedValue(row, "sc_item_option.value"),
  };
}

/** The names of chosen records by sys_id, of open tables and records that the person may read. */
async function recordNames({ tableApi, access }: DeskParts, answers: readonly StoredAnswer[]) {
  const byTable = Map.groupBy(answers.filter(({ table }) => access.mayRead(table)), ({ table }) => table);
  const names = new Map<string, string>();
  for (const [table, chosen] of [...byTable].slice(0, maxTables)) {
    const ids = [...new Set(chosen.flatMap(({ value }) => sysIdsIn(value)))].slice(0, maxNames);
    if (ids.length === 0) continue;
    const query = allOf(`sys_idIN${ids.join(",")}`, access.openRows(table));
    const fields = ["number", "user_name", ...namingFields(table)];
    for (const row of await tableApi.rowsIfShown(table, { query, fields, limit: ids.length })) {
      const login = table === "sys_user" ? oneLine(storedValue(row, "user_name")) : "";
      names.set(storedValue(row, "sys_id"), login === "" ? nameOf(table, row) : `${nameOf(table, row)} (${login})`);
    }
  }
  return names;
}

function sysIdsIn(value: string): readonly string[] {
  return value.split(",").map((part) => part.trim()).filter(isSysId);
}

function shownAnswer({ type, name, table, question, value }: StoredAnswer, names: ReadonlyMap<string, string>): string {
  const kind = kindOf(type);
  // What cannot be known to be open may be masked: the person may not read the question.
  if (kind === "masked" || isSecretField(name) || !(type > 0)) return masked;
  if (kind === "checkbox") return value === "true" ? "yes" : "no";
  if (kind === "choice") return names.get(`${question} ${value}`) ?? oneLine(value);
  if (kind === "date_time" && /^\d{4}-\d\d-\d\d \d\d:/.test(value)) return `${value} UTC`;
  const ids = kind === "reference" || kind === "list" ? sysIdsIn(value) : [];
  if (ids.length === 0) return wordsOf(value);
  return ids.map((id) => names.get(id) ?? `a record of ${table || "another table"} that is not shown here`).join(", ");
}
