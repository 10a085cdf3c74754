/** A catalog item and its questions, as the Service Catalog API tells a person who may order it. */
import * as z from "zod";
import { failure, type Result, success } from "../lib/result.ts";
import type { DeskParts, Person } from "./table_api.ts";
import { invalidInput, type ServicenowFailure } from "./failure.ts";
import { locate } from "./find_record.ts";
import { oneLine, plainText, wordsOf } from "./field_values.ts";
import { maxReplyBytes } from "./transport.ts";
import type { CatalogItem, ItemQuestion } from "./port.ts";
import { resolveReference } from "./references.ts";
import { askJson } from "./calls.ts";

const text = z.union([z.string(), z.number(), z.boolean()]).nullish().transform((value) => String(value ?? ""));
const choice = z.object({ label: text, value: text });
const variable = z.object({
  name: text,
  label: text,
  type: z.coerce.number(),
  mandatory: z.unknown().transform((value) => value === true || value === "true"),
  reference: text,
  value: text,
  choices: z.array(choice).nullish().transform((value) => value ?? []),
  children: z.array(z.unknown()).nullish().transform((value) => value ?? []),
});
const itemReply = z.object({
  sys_id: z.string().regex(/^[0-9a-f]{32}$/),
  name: text,
  short_description: text,
  price: text,
  type: text,
  sys_class_name: text,
  variables: z.array(z.unknown()).nullish().transform((value) => value ?? []),
});

/** Types of variables by number (product documentation "Types of service catalog variables"). */
const kinds: Readonly<Record<number, ItemQuestion["kind"]>> = {
  1: "yes_no",
  3: "choice",
  4: "choice",
  5: "choice",
  7: "checkbox",
  8: "reference",
  9: "date",
  10: "date_time",
  18: "choice",
  21: "list",
  22: "choice",
  25: "masked",
  31: "reference",
};
/** Variables that ask nothing: labels, breaks, macros, containers with their ends and splits. */
const silent: ReadonlySet<number> = new Set([11, 12, 14, 15, 17, 19, 20, 24, 32]);
const maxQuestions = 100;
const maxDepth = 4;

export function kindOf(type: number): ItemQuestion["kind"] {
  return kinds[type] ?? "text";
}

export function asksNothing(type: number): boolean {
  return silent.has(type);
}

/** Finds it by name, sys_id or link. */
export async function readItem(
  parts: DeskParts,
  item: string,
  person: Person,
): Promise<Result<CatalogItem, ServicenowFailure>> {
  const open = parts.access.readable("sc_cat_item");
  if (!open.ok) return open;
  const located = locate(parts, { id: item, table: "sc_cat_item" }, person);
  if (!located.ok) return located;
  if (located.value.table !== "sc_cat_item") {
    return invalidInput("item must be the name, sys_id or link of a catalog item");
  }
  const found = located.value.by === "sys_id"
    ? success({ sysId: located.value.value })
    : await resolveReference(parts, { table: "sc_cat_item", text: item, field: "item" }, person);
  if (!found.ok) return found;
  const request = { path: `/api/sn_sc/servicecatalog/items/${found.value.sysId}`, notFoundStatus: 400 };
  const parsed = await askJson(parts.callAs, person, request, itemReply);
  if (!parsed.ok) return parsed;
  const { name, short_description: about, price, type, sys_class_name: className, variables } = parsed.value;
  const questions = toQuestions(variables, 0);
  if (questions.length > maxQuestions) return failure({ reason: "too_large", limitBytes: maxReplyBytes });
  return success({
    sysId: parsed.value.sys_id,
    name: oneLine(name),
    about: wordsOf(about),
    price: plainText(price),
    isProducer: type === "record_producer" || className === "sc_cat_item_producer",
    questions,
  });
}

/** Containers hold further variables. */
function toQuestions(variables: readonly unknown[], depth: number): readonly ItemQuestion[] {
  if (depth > maxDepth) return [];
  return variables.flatMap((each): readonly ItemQuestion[] => {
    const parsed = variable.safeParse(each);
    if (!parsed.success) return [];
    const { name, label, type, mandatory, reference, value, choices, children } = parsed.data;
    const inner = toQuestions(children, depth + 1);
    if (asksNothing(type) || name === "") return inner;
    const question: ItemQuestion = {
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
