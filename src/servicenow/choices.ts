/** The choices of a column: stored values and what people call them, in every language that the instance has. */
import { namedLines } from "./tables.ts";
import { success } from "../lib/result.ts";
import type { DeskParts } from "./table_api.ts";
import { type Answer, excerpt, isKeptBack } from "./failure.ts";
import { displayValue, storedValue } from "./field_values.ts";
import type { Column, TableColumns } from "./columns.ts";
import { anyOf, toQueryValue } from "./conditions.ts";

interface UsualChoice {
  readonly value: string;
  readonly label: string;
}

/** A line for each list: `table.field: value=label; ...`; what a task has, each table that extends it may have. */
const lists = `
  task.priority: 1=1 - Critical; 2=2 - High; 3=3 - Moderate; 4=4 - Low; 5=5 - Planning
  task.urgency: 1=1 - High; 2=2 - Medium; 3=3 - Low
  task.impact: 1=1 - High; 2=2 - Medium; 3=3 - Low
  task.state: -5=Pending; 1=Open; 2=Work in Progress; 3=Closed Complete; 4=Closed Incomplete; 7=Closed Skipped
  task.approval: not requested=Not Yet Requested; requested=Requested; approved=Approved; rejected=Rejected
  task.contact_type: email=Email; phone=Phone; self-service=Self-service; chat=Chat; walk-in=Walk-in
  incident.category: inquiry=Inquiry / Help; software=Software; hardware=Hardware; network=Network; database=Database
  incident.state: 1=New; 2=In Progress; 3=On Hold; 6=Resolved; 7=Closed; 8=Canceled
  incident.hold_reason: 1=Awaiting Caller; 3=Awaiting Problem; 4=Awaiting Vendor; 5=Awaiting Change
  problem.state: 101=New; 102=Assess; 103=Root Cause Analysis; 104=Fix in Progress; 106=Resolved; 107=Closed
  problem.resolution_code: fix_applied=Fix Applied; risk_accepted=Risk Accepted; duplicate=Duplicate; canceled=Canceled
  change_request.state: -5=New; -4=Assess; -3=Authorize; -2=Scheduled; -1=Implement; 0=Review; 3=Closed; 4=Canceled
  change_request.close_code: successful=Successful; successful_issues=Successful with issues; unsuccessful=Unsuccessful
  change_request.type: normal=Normal; standard=Standard; emergency=Emergency
  change_request.risk: 2=High; 3=Moderate; 4=Low
  kb_knowledge.workflow_state: draft=Draft; review=Review; published=Published; retired=Retired
  change_task.state: -5=Pending; 1=Open; 2=In Progress; 3=Closed; 4=Canceled
  change_task.close_code: successful=Successful; successful_issues=Successful with issues; unsuccessful=Unsuccessful
  sysapproval_approver.state: requested=Requested; approved=Approved; rejected=Rejected; cancelled=Cancelled
`;

const byField: ReadonlyMap<string, readonly UsualChoice[]> = new Map(
  namedLines(lists).map(([field, choices]) => {
    const pairs = choices.split("; ").map((choice) => choice.split("="));
    return [field, pairs.map(([value = "", label = ""]) => ({ value, label }))];
  }),
);

/** `lineage` is the table and its parent tables, nearest first. */
export function usualChoices(lineage: readonly string[], field: string): readonly UsualChoice[] {
  const owner = lineage.find((table) => byField.has(`${table}.${field}`));
  return owner === undefined ? [] : byField.get(`${owner}.${field}`) ?? [];
}

interface Choice {
  readonly value: string;
  readonly label: string;
  readonly language: string;
  /** The value of another field with which this one is offered; empty where it always is. */
  readonly dependsOn?: string;
}

const maxChoices = 2_000;
const maxRecordsRead = 300;

/** Choices by the name of their column. Empty where the person may not read them. */
export function choicesOf(
  { tableApi, remember }: DeskParts,
  { lineage }: Pick<TableColumns, "lineage">,
): Answer<Readonly<Record<string, readonly Choice[]>>> {
  return remember(["choices", ...lineage], async () => {
    const found = await tableApi.rows("sys_choice", {
      query: `nameIN${lineage.join(",")}^inactive=false^ORDERBYsequence`,
      fields: ["name", "element", "value", "label", "language", "dependent_value"],
      limit: maxChoices,
      stored: true,
    });
    if (!found.ok) return isKeptBack(found.error) ? success({}) : found;
    const byColumn: Record<string, Choice[]> = Object.create(null); // a column may be named constructor
    const owners: Record<string, string> = Object.create(null);
    // A table's own choices replace those of the table that it extends.
    const nearestFirst = found.value.rows.toSorted((a, b) =>
      lineage.indexOf(storedValue(a, "name")) - lineage.indexOf(storedValue(b, "name"))
    );
    for (const row of nearestFirst) {
      const [owner, element] = [storedValue(row, "name"), storedValue(row, "element")];
      owners[element] ??= owner;
      if (owners[element] !== owner) continue;
      const [value, label] = [storedValue(row, "value"), storedValue(row, "label")];
      const [language, dependsOn] = [storedValue(row, "language"), storedValue(row, "dependent_value")];
      (byColumn[element] ??= []).push({ value, label, language, dependsOn });
    }
    return success(byColumn);
  });
}

/** The choices of one column. `isWhole`: there are no others. */
export interface ColumnChoices {
  readonly choices: readonly Choice[];
  readonly isWhole: boolean;
}

/** If the person may not read choices: the base system's, and values that occur in records. */
export async function choicesOfColumn(
  parts: DeskParts,
  columns: TableColumns,
  { name, choice }: Column,
): Answer<ColumnChoices> {
  const all = await choicesOf(parts, columns);
  if (!all.ok) return all;
  const known = choicesFor(all.value, name);
  if (known.length > 0 || choice !== "list") return success({ choices: known, isWhole: choice !== "suggestion" });
  return await parts.remember(["choices seen", columns.table, name], async () => {
    const seen = await seenChoices(parts, columns.table, name, `${name}ISNOTEMPTY^ORDERBYDESCsys_updated_on`);
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
): Promise<readonly Choice[]> {
  const found = await tableApi.rows(table, { query, fields: [name], limit: maxRecordsRead });
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
): Promise<readonly Choice[] | null> {
  const isNumber = (text: string): boolean => /^-?\d+$/.test(text);
  if (choices.length > 0 && choices.every(({ value }) => isNumber(value)) && !isNumber(word.trim())) return null;
  const spellings = [word, word.replaceAll(" ", "_"), word.replaceAll(" ", "-")].map(toQueryValue);
  const terms = spellings.flatMap((each) => each.ok ? [`${name}=${each.value}`] : []);
  const seen = terms.length === 0 ? [] : await seenChoices(parts, table, name, anyOf([...new Set(terms)]));
  const values = valuesOfChoice(word, seen);
  return seen.filter(({ value }) => values.includes(value));
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
  return `${name}: "${excerpt(word)}" is none of the values known here, and ServiceNow does not show ` +
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

export function choicesFor(choices: Readonly<Record<string, readonly Choice[]>>, column: string): readonly Choice[] {
  return Object.hasOwn(choices, column) ? choices[column] ?? [] : [];
}
