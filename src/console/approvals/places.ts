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

/** How a path is used: what it names is changed or read, something is put there, or it is a pattern of paths. */
type PathUse = "path" | "target" | "pattern";

/** Parameters whose values are paths, or lists of them or of objects with them; tools name them alike. */
const pathParameters: ReadonlyMap<string, PathUse> = new Map<string, PathUse>([
  ...["path", "paths", "filename", "files", "against", "edits", "images", "messages"].map((name) =>
    [name, "path"] as const
  ),
  ...["destination", "save_as", "output"].map((name) => [name, "target"] as const),
  ...["pattern", "exclude"].map((name) => [name, "pattern"] as const), // a backslash is a part of them
]);

/** The input with each path that it holds replaced by what `read` makes of it: the one walk over a call's paths. */
export function mapPaths(input: unknown, read: (text: string, use: PathUse) => string, depth = 0): unknown {
  const valueOf = (value: unknown, use: PathUse): unknown => {
    if (typeof value === "string") return read(value, use);
    if (Array.isArray(value)) return value.map((each) => Array.isArray(each) ? each : valueOf(each, use));
    return mapPaths(value, read, depth + 1);
  };
  if (!isObject(input) || depth > maxDepth) return input;
  if (!Object.keys(input).some((name) => pathParameters.has(name))) return input;
  return Object.fromEntries(
    Object.entries(input).map(([name, value]) => {
      const use = pathParameters.get(name);
      return [name, use === undefined ? value : valueOf(value, use)];
    }),
  );
}

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
  if (isObject(input)) {
    mapPaths(input, (text, use) => {
      if (use !== "pattern") addPath(text, use === "target");
      return text;
    });
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
