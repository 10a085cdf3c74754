/** Which files and tables a call is about. */
import { isObject } from "../lib/json.ts";
import type { Tool } from "../mcp/tool.ts";

/** Places as a call names them, and further names that they may have. */
interface Places {
  readonly places: readonly string[];
  readonly otherNames: readonly string[];
}

/** Reads what a caller wrote: the name that is meant first, then what else it may mean. */
export interface PlaceReader {
  pathNames(text: string): readonly string[];
  /** `null` where the input does not say. */
  tableNames(input: { readonly table?: unknown; readonly id?: unknown }): readonly string[] | null;
}

const everything = "";
const maxPlaces = 500;
const maxDepth = 4;

/** Parameters whose values are paths; tools name them alike. */
const pathParameters: ReadonlySet<string> = new Set(["path", "filename", "destination", "save_as", "output"]);
/** Parameters that hold paths, or objects with them. */
const listParameters: ReadonlySet<string> = new Set(["files", "edits", "images", "messages"]);

/** The paths and tables that an input means. */
export function placesOf(tool: Pick<Tool, "places" | "input">, input: unknown, reader: PlaceReader): Places {
  const places = new Set(tool.places);
  const otherNames = new Set<string>();
  const add = ([place = everything, ...others]: readonly string[]): void => {
    places.add(places.size < maxPlaces ? place : everything); // too many are judged as all there is
    for (const name of others) otherNames.add(name);
  };
  const look = (members: Readonly<Record<string, unknown>>, depth: number): void => {
    for (const [name, value] of Object.entries(members)) {
      if (pathParameters.has(name) && typeof value === "string") add(reader.pathNames(value));
      if (!listParameters.has(name) || !Array.isArray(value)) continue;
      for (const each of value) {
        if (typeof each === "string") add(reader.pathNames(each));
        else if (isObject(each) && depth < maxDepth) look(each, depth + 1);
      }
    }
  };
  if (isObject(input)) {
    look(input, 0);
    const { shape } = tool.input as { readonly shape?: Readonly<Record<string, unknown>> };
    if (shape !== undefined && ["table", "id"].some((name) => Object.hasOwn(shape, name))) {
      add(reader.tableNames(input) ?? [everything]);
    }
  }
  return { places: [...places], otherNames: [...otherNames] };
}
