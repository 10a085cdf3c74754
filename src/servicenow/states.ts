/**
 * States of records: which may follow, and which fields they require. The instance's own definition takes precedence.
 * What the base system has is used only if the instance's states have the same names.
 */
import * as z from "zod";
import { askJson } from "./calls.ts";
import { choicesFor, choicesOf, distinctChoices, usualChoices } from "./choices.ts";
import { storedValue } from "./field_values.ts";
import type { FoundRecord } from "./find_record.ts";
import type { DeskParts } from "./table_api.ts";
import { knownTable, namedLines } from "./tables.ts";

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

interface StateLabels {
  readonly labelOf: (state: string) => string;
  /** Whether it is the base system's state of this number; `null` where the instance shows no English label of it. */
  readonly isUsual: (state: string) => boolean | null;
}

async function stateLabels(parts: DeskParts, table: string): Promise<StateLabels> {
  const lineage = [table, ...knownTable(table)?.parents ?? []];
  const known = await choicesOf(parts, { lineage });
  const own = known.ok ? choicesFor(known.value, "state") : [];
  const usual = usualChoices(lineage, "state");
  const english = own.filter(({ language }) => language === "en");
  const find = (choices: readonly { readonly value: string; readonly label: string }[], state: string) =>
    choices.find(({ value }) => value === state)?.label;
  return {
    labelOf: (state) => find(distinctChoices(own), state) ?? find(usual, state) ?? state,
    isUsual: (state) =>
      english.length === 0 ? null : find(english, state)?.toLowerCase() === find(usual, state)?.toLowerCase(),
  };
}

/** Fields that a record is known to need before it goes into a state. */
export async function fieldsOfState(parts: DeskParts, table: string, state: string): Promise<readonly string[]> {
  const fields = demands[table]?.[state] ?? [];
  return fields.length > 0 && (await stateLabels(parts, table)).isUsual(state) === true ? fields : [];
}

/** The states in which work is done and not yet closed, by table. `isAssumed`: the instance does not show their labels. */
export async function resolvedStates(parts: DeskParts, tables: readonly string[]) {
  const states = new Map<string, string>();
  let isAssumed = false;
  for (const [table, state] of Object.entries(resolved)) {
    if (!tables.includes(table)) continue;
    const isUsual = (await stateLabels(parts, table)).isUsual(state);
    if (isUsual !== false) states.set(table, state);
    isAssumed ||= isUsual === null;
  }
  return { states, isAssumed };
}

const nextState = z.object({ available_states: z.array(z.string().regex(/^[\w -]{1,40}$/)) });
const maxFlows = 200;

/** A sentence about where the state of a record may lead; empty where that is not known. */
export async function nextStates(parts: DeskParts, { table: named, sysId, record }: FoundRecord): Promise<string> {
  const table = storedValue(record, "sys_class_name") || named;
  const state = storedValue(record, "state");
  const labels = await stateLabels(parts, table);
  const path = `/api/sn_chg_rest/change/${sysId}/nextstate`;
  const told = table === "change_request" ? await askJson(parts.callAs, parts.person, { path }, nextState) : null;
  const next = told?.ok === true ? told.value.available_states.filter((each) => each !== state) : [];
  if (next.length > 0) {
    return ` ServiceNow lets it go from ${labels.labelOf(state)} to ${next.map(labels.labelOf).join(", ")}.`;
  }
  const lines = await movesOf(parts, table, { type: storedValue(record, "type"), state });
  return lines.moves.length === 0 ? "" : ` ${lines.source}: ${lines.moves.join("; ")}.`;
}

/** Where the states of a table, or one of them, may lead; in words, and by whose word. */
export async function movesOf(
  parts: DeskParts,
  table: string,
  at: { readonly type: string; readonly state: string } | null,
): Promise<{ readonly source: string; readonly moves: readonly string[] }> {
  const { labelOf, isUsual } = await stateLabels(parts, table);
  const inWords = (kind: string, from: string, next: readonly string[]): string =>
    `${kind}, from ${labelOf(from)} to ${next.map(labelOf).join(", ")}`;
  const query = `table=${table}^active=true`;
  const fields = ["table", "starting_state", "ending_state"];
  const flows = await parts.tableApi.rows("sf_state_flow", { query, fields, limit: maxFlows, stored: true });
  // an instance ignores unknown conditions
  const own = (flows.ok ? flows.value.rows : []).filter((row) => storedValue(row, "table") === table);
  const byState = Map.groupBy(own, (row) => storedValue(row, "starting_state"));
  const told = [...byState].filter(([from]) => from !== "" && (at === null || from === at.state));
  if (told.length > 0) {
    const source = "By the state flows of this instance";
    return {
      source,
      moves: told.map(([from, rows]) => inWords(table, from, rows.map((row) => storedValue(row, "ending_state")))),
    };
  }
  const usual = namedLines(moves).flatMap(([kind, all]) => {
    const [owner, type] = kind.split(" ");
    if (owner !== table || (at !== null && type !== undefined && type !== at.type)) return [];
    return all.split("; ").map((move) => move.split(">")).filter(([from = ""]) =>
      (at === null || from === at.state) && isUsual(from) !== false
    ).map(([from = "", next = ""]) =>
      inWords(type ?? table, from, next.split(",").filter((each) => isUsual(each) !== false))
    );
  });
  return { source: "Usual in the base system, and perhaps not in this instance", moves: usual };
}
