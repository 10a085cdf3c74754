/** The names that a file or a table may have in a call, for the rules about calls. */
import type { PlaceReader } from "../../approval/places.ts";
import { tableNameOf, tableOfNumber } from "../../servicenow/access/known_tables.ts";
import { relatedTables } from "../../servicenow/access/related_tables.ts";
import { parseNamedParts } from "../../tools/files/read_request.ts";
import { readName } from "../../workspace/file_display.ts";
import { parseFileUri } from "../../workspace/file_uri.ts";

const recordNumber = /^[A-Za-z]{2,10}\d{4,12}$/;

const tools: ReadonlyMap<string, string> = new Map([
  ["workspace_files", "file_read"],
  ["servicenow", "servicenow_get_record"],
  ["llm_models", "llm_models"],
]);

export const placeReader: PlaceReader = { pathNames, tableNames };

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

/** The names of what a resource is about; none where it is neither a file nor a record. */
export function placeOfResource(uri: string): readonly string[] {
  const scheme = "servicenow://";
  if (uri.startsWith(scheme)) {
    const [table = "", id] = uri.slice(scheme.length).split("/");
    return tableNames(id === undefined ? { id: table } : { table, id }) ?? [""];
  }
  if (!uri.startsWith("workspace:")) return [];
  // a directory, as completion suggests it, ends in a slash
  return [parseFileUri(uri.replace(/\/$/, ""))?.text ?? ""];
}

/** The tool that reads what a family of resources has. */
export function readingToolOf(family: string): string {
  return tools.get(family) ?? family;
}
