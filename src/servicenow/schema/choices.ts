/** The choices of a column: stored values and what people call them, in every language that the instance has. */
import { type Result, success } from "../../lib/result.ts";
import type { DeskParts } from "../desk/desk_parts.ts";
import type { ServicenowFailure } from "../failure.ts";
import { displayValue, storedValue } from "../field_values.ts";
import type { Column, TableColumns } from "./columns.ts";
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

/** The choices of one column; where the person may not read choices, those that occur in records. */
export async function choicesOfColumn(
  parts: DeskParts,
  columns: TableColumns,
  { name, choice }: Column,
  person: Person,
): Promise<Result<readonly Choice[], ServicenowFailure>> {
  const all = await choicesOf(parts, columns, person);
  if (!all.ok) return all;
  const known = choicesFor(all.value, name);
  if (known.length > 0 || choice !== "list") return success(known);
  return await parts.remember(person, ["choices seen", columns.table, name], async () => {
    const query = `${name}ISNOTEMPTY^ORDERBYDESCsys_updated_on`;
    const found = await parts.tableApi.rows(columns.table, { query, fields: [name], limit: maxRecordsRead }, person);
    if (!found.ok) return found;
    const usual = usualChoices(columns.lineage, name).map(({ value, label }) => [value, label] as const);
    const seen = found.value.rows.map((row) => [storedValue(row, name), displayValue(row, name)] as const);
    // The instance's own labels first: the first one is shown.
    return success([...new Map(seen), ...usual].map(([value, label]) => ({ value, label, language: "" })));
  });
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
