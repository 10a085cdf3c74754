/** The choices of a column: stored values and what people call them, in every language that the instance has. */
import { type Result, success } from "../lib/result.ts";
import type { DeskParts } from "./desk_parts.ts";
import type { ServicenowFailure } from "./failure.ts";
import { displayValue, storedValue } from "./field_values.ts";
import type { Column, TableColumns } from "./columns.ts";
import { anyOf, toQueryValue } from "./query_value.ts";
import type { Person } from "./person_cache.ts";
import { usualChoices } from "./usual_choices.ts";

interface Choice {
  readonly value: string;
  readonly label: string;
  readonly language: string;
}

const maxChoices = 2_000;
const maxRecordsRead = 300;

/** Choices by the name of their column. Empty where the person may not read them. */
export function choicesOf(
  { tableApi, remember }: DeskParts,
  { table, lineage }: TableColumns,
  person: Person,
): Promise<Result<Readonly<Record<string, readonly Choice[]>>, ServicenowFailure>> {
  return remember(person, ["choices", table], async () => {
    const found = await tableApi.rows("sys_choice", {
      query: `nameIN${lineage.join(",")}^inactive=false^ORDERBYsequence`,
      fields: ["name", "element", "value", "label", "language"],
      limit: maxChoices,
      stored: true,
    }, person);
    if (!found.ok) return isAboutRights(found.error) ? success({}) : found;
    const byColumn: Record<string, Choice[]> = {};
    const owners: Record<string, string> = {};
    // A table's own choices replace those of the table that it extends.
    const nearestFirst = found.value.rows.toSorted((a, b) =>
      lineage.indexOf(storedValue(a, "name")) - lineage.indexOf(storedValue(b, "name"))
    );
    for (const row of nearestFirst) {
      const [owner, element] = [storedValue(row, "name"), storedValue(row, "element")];
      owners[element] ??= owner;
      if (owners[element] !== owner) continue;
      const [value, label] = [storedValue(row, "value"), storedValue(row, "label")];
      (byColumn[element] ??= []).push({ value, label, language: storedValue(row, "language") });
    }
    return success(byColumn);
  });
}

/** The choices of one column. `isWhole`: there are no others. */
export interface ColumnChoices {
  readonly choices: readonly Choice[];
  readonly isWhole: boolean;
}

/** Where the person may not read choices, those of the base system and those that occur in records. */
export async function choicesOfColumn(
  parts: DeskParts,
  columns: TableColumns,
  { name, choice }: Column,
  person: Person,
): Promise<Result<ColumnChoices, ServicenowFailure>> {
  const all = await choicesOf(parts, columns, person);
  if (!all.ok) return all;
  const known = choicesFor(all.value, name);
  if (known.length > 0 || choice !== "list") return success({ choices: known, isWhole: choice !== "suggestion" });
  return await parts.remember(person, ["choices seen", columns.table, name], async () => {
    const seen = await seenChoices(parts, columns.table, name, `${name}ISNOTEMPTY^ORDERBYDESCsys_updated_on`, person);
    // The instance's own labels first: the first one is shown.
    const usual = usualChoices(columns.lineage, name).map((each) => ({ ...each, language: "" }));
    return success({ choices: [...seen, ...usual], isWhole: false });
  });
}

/** The choices that occur in the records of a query. */
async function seenChoices(
  { tableApi }: DeskParts,
  table: string,
  name: string,
  query: string,
  person: Person,
): Promise<readonly Choice[]> {
  const found = await tableApi.rows(table, { query, fields: [name], limit: maxRecordsRead }, person);
  const seen = (found.ok ? found.value.rows : []).map((row) =>
    [storedValue(row, name), displayValue(row, name)] as const
  );
  return [...new Map(seen)].filter(([value]) => value !== "").map(([value, label]) => ({ value, label, language: "" }));
}

/**
 * What a word stands for that is none of the choices known here: those with a stored value of its letters, as records
 * show them. `null`: it cannot be one, because the stored values are numbers.
 */
export async function unlistedChoice(
  parts: DeskParts,
  { table }: TableColumns,
  { name, word, choices }: { readonly name: string; readonly word: string; readonly choices: readonly Choice[] },
  person: Person,
): Promise<readonly Choice[] | null> {
  const isNumber = (text: string): boolean => /^-?\d+$/.test(text);
  if (choices.length > 0 && choices.every(({ value }) => isNumber(value)) && !isNumber(word.trim())) return null;
  const spellings = [word, word.replaceAll(" ", "_"), word.replaceAll(" ", "-")].map(toQueryValue);
  const terms = spellings.flatMap((each) => each.ok ? [`${name}=${each.value}`] : []);
  const seen = terms.length === 0 ? [] : await seenChoices(parts, table, name, anyOf([...new Set(terms)]), person);
  const values = valuesOfChoice(word, seen);
  return seen.filter(({ value }) => values.includes(value));
}

/** The instance keeps the choices from this person, or has no such table. */
function isAboutRights({ reason }: ServicenowFailure): boolean {
  return reason === "forbidden" || reason === "not_found" || reason === "rejected";
}

/** One choice for each value, in English where the instance has that. */
export function distinctChoices(choices: readonly Choice[]): readonly Choice[] {
  const byValue = new Map<string, Choice>();
  for (const choice of choices) {
    if (!byValue.has(choice.value) || choice.language === "en") byValue.set(choice.value, choice);
  }
  return [...byValue.values()];
}

const maxChoicesShown = 25;

/** Distinct choices in words; the stored value stands beside a label that differs from it. */
export function listChoices(choices: readonly Choice[]): string {
  return distinctChoices(choices).slice(0, maxChoicesShown).map(({ label, value }) =>
    label.toLowerCase() === value.toLowerCase() ? label : `${label} (${value})`
  ).join(", ");
}

/** The words for a number of which not all labels are known. */
export function notAmongKnown(name: string, word: string, choices: readonly Choice[]): string {
  return `${name}: "${
    word.slice(0, 80).toWellFormed()
  }" is none of the values known here, and ServiceNow does not show ` +
    `this user all of them: give its number; known are ${listChoices(choices)}`;
}

/** The values that a caller's word means: the value itself, a label in any language, or a label without its number. */
export function valuesOfChoice(text: string, choices: readonly Choice[]): readonly string[] {
  const word = text.trim().toLowerCase();
  const matching = [
    ({ value }: Choice) => value.toLowerCase() === word,
    ({ label }: Choice) => label.toLowerCase() === word,
    ({ label }: Choice) => bareLabel(label) === bareLabel(word),
    // "P1" for "1 - Critical".
    ({ value, label }: Choice) => word === `p${value}` && label.startsWith(`${value} - `),
  ];
  for (const matches of matching) {
    const values = new Set(choices.filter(matches).map(({ value }) => value));
    if (values.size > 0) return [...values];
  }
  return [];
}

/** `1 - Critical` is `critical`, `in_progress` and `In-Progress` are `in progress`. */
function bareLabel(label: string): string {
  return label.toLowerCase().replace(/^\d+\s*-\s*/, "").replaceAll(/[\s_-]+/g, " ").trim();
}

export function choicesFor(
  choices: Readonly<Record<string, readonly Choice[]>>,
  column: string,
): readonly Choice[] {
  return Object.hasOwn(choices, column) ? choices[column] ?? [] : [];
}
