/** The names that a file or a table may have in a call, for the rules about calls. */
import type { PlaceReader } from "../console/approvals/places.ts";
import type { FindStates } from "../console/approvals/gate.ts";
import type { FindTrueNames } from "../console/approvals/true_names.ts";
import { tableNameOf, tableOfNumber } from "../servicenow/known_tables.ts";
import { relatedTables, tablesOfKind } from "../servicenow/related_tables.ts";
import { parseNamedParts } from "../files/tools/read_request.ts";
import { listOf } from "../servicenow/outcome_tool.ts";
import { inStoredForm } from "../files/tools/near_names.ts";
import { readName, showName } from "../files/workspace/file_display.ts";
import { parseFileUri } from "../files/workspace/file_uri.ts";
import { parseDirectoryPath } from "../files/workspace/path.ts";
import { type EntryState, stateOf } from "../files/workspace/entry_state.ts";
import { workspaceOf, type WorkspaceSource } from "../files/workspace/port.ts";

const recordNumber = /^[A-Za-z]{2,10}\d{4,12}$/;

const tools: ReadonlyMap<string, string> = new Map([
  ["workspace_files", "file_read"],
  ["servicenow", "servicenow_get_record"],
  ["llm_models", "llm_models"],
]);

export const placeReader: PlaceReader = { pathNames, tableNames, includedTables };

/** The path, and the files of which its end may ask for a part. */
function pathNames(text: string): readonly string[] {
  const path = readName(text) ?? text;
  return [path, ...parseNamedParts(path).map(({ filename }) => filename)];
}

function tableNames(
  { table, id }: { readonly table?: unknown; readonly id?: unknown },
): readonly string[] | null {
  const named = typeof table === "string" && table.trim() !== "" ? table.trim() : null;
  const record = typeof id === "string" ? id.trim() : "";
  if (/^https?:/i.test(record)) return null;
  const byNumber = recordNumber.test(record) ? tableOfNumber(record) : null;
  if (/^(me|my profile)$/i.test(record)) return ["sys_user"];
  const given = named ?? byNumber;
  if (given === null) return null;
  // a number may be of another table than the one that is named with it
  return [given, byNumber ?? given].flatMap((each) => [tableNameOf(each), each, ...relatedTables(tableNameOf(each))]);
}

function includedTables({ include }: { readonly include?: unknown }): readonly string[] {
  if (typeof include !== "string") return [];
  const kinds = listOf(include) ?? [];
  return kinds.flatMap((kind) => Object.hasOwn(tablesOfKind, kind) ? tablesOfKind[kind] ?? [] : [])
    .flatMap((table) => [table, ...relatedTables(table)]);
}

/** The names of what a resource is about; none where it is neither a file nor a record. */
export function placeOfResource(uri: string): readonly string[] {
  const scheme = "servicenow://";
  if (uri.startsWith(scheme)) {
    const [table = "", id] = uri.slice(scheme.length).split("/");
    return tableNames(id === undefined ? { id: table } : { table, id }) ?? [""];
  }
  if (!isPathResource(uri)) return [];
  // a directory, as completion suggests it, ends in a slash
  return [parseFileUri(uri.replace(/\/$/, ""))?.text ?? ""];
}

export function isPathResource(uri: string): boolean {
  return /^workspace:/i.test(uri);
}

/**
 * Where a path leads in the workspace that a call uses. What cannot be resolved stands for everything, unless nothing is
 * there.
 */
export function createTrueNames(workspace: () => WorkspaceSource): FindTrueNames {
  return async (principal, text) => {
    const parsed = parseDirectoryPath(text);
    if (!parsed.ok || parsed.value.segments.length === 0) return []; // no tool takes the path, or it is the root
    const own = workspaceOf(workspace(), principal);
    const path = await inStoredForm(own, parsed.value);
    const names = own.trueNames(path);
    if (names.ok) return names.value;
    return ["not_found", "not_a_directory"].includes(names.error.reason) ? [path.text] : [""];
  };
}

/** What is at each path of a call; of a target no more than itself. */
export function createStates(workspace: () => WorkspaceSource): FindStates {
  return async (principal, { paths, targets }) => {
    const own = workspaceOf(workspace(), principal);
    const states: EntryState[] = [];
    for (const text of paths) {
      const parsed = parseDirectoryPath(text);
      if (!parsed.ok) continue; // no tool takes the path
      const path = await inStoredForm(own, parsed.value);
      const { words, version } = await stateOf(own, path, !targets.has(text));
      states.push({ words: `${showName(path.text === "" ? "." : path.text)}: ${words}`, version });
    }
    return states;
  };
}

/** The tool that reads what a family of resources has. */
export function readingToolOf(family: string): string {
  return tools.get(family) ?? family;
}
