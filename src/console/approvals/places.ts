/** Which files and tables a call is about. */
import * as z from "zod";
import { isObject } from "../../lib/json.ts";
import type { Tool } from "../../mcp/mod.ts";
import type { Principal } from "../../lib/principal.ts";
import { decidingRule, type JudgedCall, placesThatDecide, type Rule } from "./rule.ts";

/** Reads what a caller wrote: the name that is meant first, then what else it may mean. */
export interface PlaceReader {
  pathNames(text: string): readonly string[];
  /** `null` where the input does not say. */
  tableNames(input: { readonly table?: unknown; readonly id?: unknown }): readonly string[] | null;
  /** Of records that are shown with others. */
  includedTables(input: { readonly include?: unknown }): readonly string[];
}

const everything = "";
const maxPlaces = 500;
const maxDepth = 4;

/** Parameters whose values are paths; tools name them alike. */
const pathParameters: ReadonlySet<string> = new Set([
  "path",
  "filename",
  "against",
  "destination",
  "save_as",
  "output",
]);
const targetParameters: ReadonlySet<string> = new Set(["destination", "save_as", "output"]);
/** Parameters that hold paths, or objects with them. */
const listParameters: ReadonlySet<string> = new Set(["files", "paths", "edits", "images", "messages"]);

/**
 * The paths and tables that an input means, and further names that they may have. `paths`: those of both that are paths
 * of the workspace; `targets`: those of them where something is put (of a directory there, what is in it stays).
 */
export function placesOf(tool: Pick<Tool, "places" | "input">, input: unknown, reader: PlaceReader) {
  const places = new Set(tool.places);
  const otherNames = new Set<string>();
  const paths = new Set<string>();
  const targets = new Set<string>();
  const addPath = (text: string, isTarget = false): void => {
    const names = reader.pathNames(text);
    for (const name of paths.size < maxPlaces ? names : [everything]) {
      if (isTarget && !paths.has(name)) targets.add(name);
      else targets.delete(name);
      paths.add(name);
    }
    add(names);
  };
  const add = ([place = everything, ...others]: readonly string[]): void => {
    places.add(places.size < maxPlaces ? place : everything); // too many are judged as all there is
    for (const name of others) otherNames.add(name);
  };
  const look = (members: Readonly<Record<string, unknown>>, depth: number): void => {
    for (const [name, value] of Object.entries(members)) {
      if (pathParameters.has(name) && typeof value === "string") addPath(value, targetParameters.has(name));
      if (!listParameters.has(name) || !Array.isArray(value)) continue;
      for (const each of value) {
        if (typeof each === "string") addPath(each);
        else if (isObject(each) && depth < maxDepth) look(each, depth + 1);
      }
    }
  };
  if (isObject(input)) {
    look(input, 0);
    const parameters = tool.input instanceof z.ZodLazy ? tool.input._zod.innerType : tool.input;
    const { shape } = parameters as { readonly shape?: Readonly<Record<string, unknown>> };
    if (shape !== undefined && ["table", "id"].some((name) => Object.hasOwn(shape, name))) {
      add(reader.tableNames(input) ?? [everything]);
      for (const name of reader.includedTables(input)) otherNames.add(name);
    }
  }
  return { places: [...places], otherNames: [...otherNames], paths: [...paths], targets };
}

/** The names that a path stands for, in the workspace of the principal; an empty one where that cannot be told. */
export type FindTrueNames = (principal: Principal, path: string) => Promise<readonly string[]>;

interface NamesOptions {
  readonly principal: Principal;
  readonly rules: readonly Rule[];
  readonly now: number;
  readonly find: FindTrueNames;
}

/** The rule that decides about the call by every name; `null` where none does. */
export async function judgeByNames(call: JudgedCall, options: NamesOptions): Promise<Rule | null> {
  const { rules, now } = options;
  const judged = placesThatDecide(rules, call, now).length > 0 ? await withTrueNames(call, options) : call;
  return decidingRule(rules, judged, now);
}

/** The call with what its paths and the rules' places lead to. */
export async function withTrueNames(
  call: JudgedCall,
  { principal, rules, now, find }: NamesOptions,
): Promise<JudgedCall> {
  const ofCall = new Set<string>();
  for (const path of call.paths ?? []) for (const name of await find(principal, path)) ofCall.add(name);
  const ofRules = new Map<string, readonly string[]>();
  for (const place of new Set(placesThatDecide(rules, call, now))) ofRules.set(place, await find(principal, place));
  return { ...call, trueNames: { ofCall: [...ofCall], ofRules } };
}
