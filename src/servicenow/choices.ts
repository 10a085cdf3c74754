/** The choices of a column: stored values and what people call them, in every language that the instance has. */
import { knownTable, listOf, namedLines, namesIn } from "./tables.ts";
import { allOf, anyOf, type DeskParts, newestFirst, noRows, toQueryValue } from "./table_api.ts";
import { attempt, excerpt, ifShown, invalidInput } from "./failure.ts";
import { displayValue, type RecordFields, storedValue } from "./field_values.ts";
import { type Column, columnsOf, findColumns, nearestFirst, type TableColumns } from "./columns.ts";
import type { FoundRecord } from "./find_record.ts";
import * as z from "zod";
import { askJson } from "./transport.ts";

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

const byField: ReadonlyMap<string, readonly Choice[]> = new Map(
  namedLines(lists).map(([field, choices]) => {
    const pairs = choices.split("; ").map((choice) => choice.split("="));
    return [field, pairs.map(([value = "", label = ""]) => ({ value, label, language: "" }))];
  }),
);

/** `lineage` is the table and its parent tables, nearest first. */
function usualChoices(lineage: readonly string[], field: string): readonly Choice[] {
  return lineage.map((table) => byField.get(`${table}.${field}`)).find((each) => each !== undefined) ?? [];
}

type Named = Readonly<Record<"value" | "label", string>>;

interface Choice extends Named {
  readonly language: string;
  /** The value of another field with which this one is offered; empty where it always is. */
  readonly dependsOn?: string;
  /** Forms do not offer it any more; records may hold it. */
  readonly isInactive?: boolean;
}

const maxChoices = 2_000;
const maxRecordsRead = 300;

/**
 * Choices by the name of their column, in an object without a prototype; those of one column where it is named. Empty
 * where the person may not read them. `isCut`: there are more.
 */
function choicesOf({ tableApi, remember }: DeskParts, { lineage }: Pick<TableColumns, "lineage">, column = "") {
  return remember(["choices", column, ...lineage], async () => {
    const query = allOf(`nameIN${lineage.join(",")}`, column && `element=${column}`, "ORDERBYsequence");
    const fields = namesIn("name element value label language dependent_value inactive");
    const request = { query, fields, limit: maxChoices, stored: true };
    const { rows, nextOffset, total } = await ifShown(tableApi.rows("sys_choice", request), noRows);
    const byColumn: Record<string, Choice[]> = Object.create(null); // a column may be named constructor
    const owners: Record<string, string> = Object.create(null);
    const isInactive = (row: RecordFields): boolean => storedValue(row, "inactive") === "true";
    // A table's own choices replace those of the table that it extends.
    for (const row of nearestFirst(rows, lineage).toSorted((a, b) => +isInactive(a) - +isInactive(b))) {
      const [owner = "", element = "", value = "", label = "", language = "", dependsOn = ""] = fields.map((field) =>
        storedValue(row, field)
      );
      owners[element] ??= owner;
      const choice = { value, label, language, dependsOn, isInactive: isInactive(row) };
      if (owners[element] === owner) (byColumn[element] ??= []).push(choice);
    }
    const isCut = rows.length > 0 && (nextOffset !== null || rows.length >= maxChoices || (total ?? 0) > rows.length);
    return { byColumn, isCut };
  });
}

/** The choices of one column that the instance shows. */
async function shownChoices(parts: DeskParts, columns: Pick<TableColumns, "lineage">, name: string) {
  const all = await choicesOf(parts, columns);
  const { byColumn, isCut } = all.isCut ? await choicesOf(parts, columns, name) : all;
  return { choices: byColumn[name] ?? [], isCut };
}

/** The choices of one column. `isWhole`: there are no others. */
export type ColumnChoices = Awaited<ReturnType<typeof choicesOfColumn>>;

/** If the person may not read choices: the base system's, and values that occur in records. */
export async function choicesOfColumn(parts: DeskParts, columns: TableColumns, { name, choice }: Column) {
  const { choices, isCut } = await shownChoices(parts, columns, name);
  if (choices.length > 0 || choice !== "list") return { choices, isWhole: choice !== "suggestion" && !isCut };
  return await parts.remember(["choices seen", columns.table, name], async () => {
    const seen = await seenChoices(parts, columns.table, name, `${name}ISNOTEMPTY^${newestFirst}`);
    // The instance's own labels first: the first one is shown.
    return { choices: [...seen, ...usualChoices(columns.lineage, name)], isWhole: false };
  });
}

/** The choices that occur in the records of a query. */
async function seenChoices({ tableApi }: DeskParts, table: string, name: string, query: string) {
  const rows = await tableApi.rowsIfShown(table, { query, fields: [name], limit: maxRecordsRead });
  const seen = rows.map((row) => [storedValue(row, name), displayValue(row, name)] as const);
  return [...new Map(seen)].filter(([value]) => value !== "").map((
    [value, label],
  ): Choice => ({ value, label, language: "" }));
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
    const isBetter = choice.language === "en" && choice.isInactive !== true;
    if (!byValue.has(choice.value) || isBetter) byValue.set(choice.value, choice);
  }
  return [...byValue.values()];
}

/** What people call a stored value, in English where the instance has that. */
export function labelOf(value: string, choices: readonly Choice[]): string | undefined {
  const found = distinctChoices(choices).find((choice) => choice.value === value);
  return found?.isInactive === true ? `${found.label} (inactive)` : found?.label;
}

const maxChoicesShown = 25;

/** Those that forms offer. */
export function offeredChoices(choices: readonly Choice[]): readonly Choice[] {
  return choices.filter(({ isInactive }) => isInactive !== true);
}

/** Distinct choices that are offered, in words; the stored value stands beside a label that differs from it. */
export function listChoices(choices: readonly Choice[]): string {
  const offered = offeredChoices(distinctChoices(choices));
  return offered.slice(0, maxChoicesShown).map(({ label, value }) =>
    label.toLowerCase() === value.toLowerCase() ? label : `${label} (${value})`
  ).concat(offered.length > maxChoicesShown ? ["and more"] : []).join(", ");
}

/** The words for a number of which not all labels are known. */
export function notAmongKnown(name: string, word: string, choices: readonly Choice[]): string {
  return `${name}: "${excerpt(word)}" is none of the values known here, and ServiceNow does not show ` +
    `this user all of them: give its number; known are ${listChoices(choices)}`;
}

/** The values that a caller's word means: the value itself, a label in any language, or a label without its number. */
export function valuesOfChoice(text: string, choices: readonly Named[]): readonly string[] {
  const word = text.trim().toLowerCase();
  const matching = [
    ({ value }: Named) => value.toLowerCase() === word,
    ({ label }: Named) => label.toLowerCase() === word,
    ({ value, label }: Named) => `${label} (${value})`.toLowerCase() === word, // as refusals list them
    ({ label }: Named) => bareLabel(label) === bareLabel(word),
    // "P1" for "1 - Critical".
    ({ value, label }: Named) => word === `p${value}` && label.startsWith(`${value} - `),
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

// States of records: which may follow, and which fields they require. The instance's own definition takes precedence.
// What the base system has is used only if the instance's states have the same names.

/** States in which the base system takes work as done, and keeps it active until it is closed. */
const resolved: Readonly<Record<string, string>> = { incident: "6", problem: "106" };
/** The base system's data policies for work that is put on hold, resolved or closed: by table and state. */
const demands: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  incident: { "3": ["hold_reason"], "6": ["close_code", "close_notes"], "7": ["close_code", "close_notes"] },
  problem: { "106": ["resolution_code", "cause_notes", "fix_notes"] },
  change_request: { "3": ["close_code", "close_notes"] },
  change_task: { "3": ["close_code"] },
};
/** Where the base system lets people take a record on from a state: `table type: state>next,next; ...` */
const moves = `
  incident: 1>2,3,6,8; 2>3,6,8; 3>2,6,8; 6>2,7
  problem: 101>102; 102>103,106; 103>104,106; 104>103,106; 106>103,107; 107>103
  change_request normal: -5>-4,4; -4>-5,4; -3>-5,4; -2>-1,4; -1>0,4; 0>3,-1
  change_request standard: -5>-2,4; -2>-1,4; -1>0,4; 0>3,-1
  change_request emergency: -5>-3,4; -3>-5,4; -2>-1,4; -1>0,4; 0>3,-1
`;

async function stateLabels(parts: DeskParts, table: string) {
  const lineage = [table, ...knownTable(table)?.parents ?? []];
  const known = await attempt(shownChoices(parts, { lineage }, "state"));
  const own = known.ok ? known.value.choices : [];
  const usual = usualChoices(lineage, "state");
  const english = own.filter(({ language }) => language === "en");
  return {
    labelOf: (state: string) => labelOf(state, own) ?? labelOf(state, usual) ?? state,
    /** Whether it is the base system's state of this number; `null` where the instance shows no English label of it. */
    isUsual: (state: string) =>
      english.length === 0 ? null : labelOf(state, english)?.toLowerCase() === labelOf(state, usual)?.toLowerCase(),
  };
}

/** Fields that a record is known to need before it goes into a state. */
export async function fieldsOfState(parts: DeskParts, table: string, state: string): Promise<readonly string[]> {
  const fields = demands[table]?.[state] ?? [];
  return fields.length > 0 && (await stateLabels(parts, table)).isUsual(state) === true ? fields : [];
}

/** States in which work is done and not yet closed; `isUsual` is `null` where the instance does not show their labels. */
export async function resolvedStates(parts: DeskParts, tables: readonly string[]) {
  const states = Object.entries(resolved).filter(([table]) => tables.includes(table));
  const all = await Array.fromAsync(states, async ([table, state]) => {
    return { table, state, isUsual: (await stateLabels(parts, table)).isUsual(state) };
  });
  return all.filter(({ isUsual }) => isUsual !== false);
}

const nextState = z.object({ available_states: z.array(z.string().regex(/^[\w -]{1,40}$/)) });

/** A sentence about where the state of a record may lead; empty where that is not known. */
export async function nextStates(parts: DeskParts, { table: named, sysId, record }: FoundRecord): Promise<string> {
  const table = storedValue(record, "sys_class_name") || named;
  const state = storedValue(record, "state");
  const labels = await stateLabels(parts, table);
  const path = `/api/sn_chg_rest/change/${sysId}/nextstate`;
  const told = table === "change_request"
    ? await attempt(askJson(parts.callAs, parts.person, { path }, nextState))
    : null;
  const next = told?.ok === true ? told.value.available_states.filter((each) => each !== state) : [];
  if (next.length > 0) {
    return ` ServiceNow lets it go from ${labels.labelOf(state)} to ${next.map(labels.labelOf).join(", ")}.`;
  }
  const moves = await usualMoves(parts, table, { type: storedValue(record, "type"), state });
  return moves.length === 0 ? "" : ` ${byBaseSystem}: ${moves.join("; ")}.`;
}

const byBaseSystem = "Usual in the base system, and perhaps not in this instance";

/** Where the base system lets the states of a table lead, or the one that a record is in; in words. */
async function usualMoves(
  parts: DeskParts,
  table: string,
  at: { readonly type: string; readonly state: string } | null,
): Promise<readonly string[]> {
  const { labelOf, isUsual } = await stateLabels(parts, table);
  return namedLines(moves).flatMap(([kind, all]) => {
    const [owner, type] = kind.split(" ");
    if (owner !== table || (at !== null && type !== undefined && type !== at.type)) return [];
    const steps = all.split("; ").map((move) => move.split(">")).filter(([from = ""]) =>
      (at === null || from === at.state) && isUsual(from) !== false
    );
    return steps.map(([from = "", next = ""]) => {
      const following = next.split(",").filter((each) => isUsual(each) !== false).map(labelOf);
      return `${type ?? table}, from ${labelOf(from)} to ${following.join(", ")}`;
    });
  });
}

// A table as a person sees it.

const maxChoicesInList = 12;
const maxFields = 120;

/** Describes a table as the person sees it: names of its fields, their types, and the values they accept. */
export async function describeTable(
  parts: DeskParts,
  { table: named, field }: { readonly table: string; readonly field?: string | undefined },
) {
  const table = parts.access.readable(named);
  const columns = await columnsOf(parts, table);
  const { byColumn } = await choicesOf(parts, columns);
  const names = listOf(field)?.slice(0, maxFields) ?? [];
  const found = await findColumns(parts, table, names);
  const other = found.find(({ owner }) => owner.table !== table);
  if (other !== undefined) throw invalidInput(`${other.path} is a field of ${other.owner.table}: describe that table`);
  const wanted = field === undefined
    ? columns.columns.filter(({ name, type }) => !name.startsWith("sys_") && type !== "collection")
    : found.map(({ column }) => column);
  const fields = await Array.fromAsync(wanted.slice(0, maxFields), async (column) => {
    const own = field === undefined ? null : await shownChoices(parts, columns, column.name);
    const all = offeredChoices(distinctChoices(own?.choices ?? byColumn[column.name] ?? []));
    const listed = field === undefined ? all.slice(0, maxChoicesInList) : all;
    const isKnown = columns.columns.some(({ name }) => name === column.name);
    const label = isKnown ? column.label : "whether there is such a field is not known";
    return { ...column, label, choices: listed, choicesLeft: all.length - listed.length };
  });
  /** Which state may follow which, where the state alone was asked for. */
  const next = fields.length === 1 && fields[0]?.name === "state" ? await usualMoves(parts, table, null) : null;
  const notKnown = "Which state may follow which is NOT known: ServiceNow does not show it to this user.";
  return {
    table,
    writable: parts.access.mayWrite(table),
    source: columns.source,
    fields,
    fieldsLeft: Math.max(0, wanted.length - maxFields),
    next: next === null ? [] : next.length === 0 ? [notKnown] : [`${byBaseSystem}:`, ...next],
  };
}
