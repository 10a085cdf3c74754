/** What a request touches, in short: a file, a record, a model. Never contents. */
import { isObject } from "../lib/json.ts";

const maxNames = 3;
const maxCharacters = 200;

/** From the parameters of a request, as the caller sent them; `null` where they name nothing. */
export function touchedBy(params: unknown): string | null {
  if (!isObject(params)) return null;
  const input = params["arguments"];
  if (!isObject(input)) return text(params["uri"]);
  const table = text(input["table"]);
  const record = text(input["id"]) ?? text(input["number"]) ?? text(input["attachment_id"]);
  if (table !== null || record !== null) return short([table, record].filter((part) => part !== null).join(" "));
  const { files, edits, paths } = input;
  const path = text(input["path"]) ?? text(input["filename"]);
  const destination = text(input["destination"]);
  const more = names([input["against"]]) + names(files) + names(edits) + names(paths);
  const from = path ?? (more === "" ? null : more.slice(2));
  if (destination !== null) return from === null ? destination : short(`${from} > ${destination}`);
  if (more !== "") return short(path === null ? more.slice(2) : path + more);
  return path ?? text(input["model"]);
}

/** Further files, each after a comma. */
function names(list: unknown): string {
  if (!Array.isArray(list)) return "";
  const found: string[] = [];
  for (const each of list.slice(0, maxNames)) {
    const name = isObject(each) ? text(each["path"]) ?? text(each["filename"]) : text(each);
    if (name !== null) found.push(`, ${name}`);
  }
  return found.join("") + (list.length > maxNames ? `, and ${list.length - maxNames} more` : "");
}

function text(value: unknown): string | null {
  return typeof value === "string" && value !== "" ? short(value) : null;
}

/** A copy: a slice would keep the whole text in memory. */
function short(value: string): string {
  return value.length <= maxCharacters ? value : JSON.parse(JSON.stringify(value.slice(0, maxCharacters)));
}
