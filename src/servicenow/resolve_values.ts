/** Values in people's words become what the instance stores. What cannot be resolved is refused before anything is sent. */
import { isObject, parseJson } from "../lib/json.ts";
import { displayValue, isNumber, type RecordFields, storedValue, truthOf } from "./field_values.ts";
import { type DeskParts, isPlatformField } from "./table_api.ts";
import { excerpt, invalidInput } from "./failure.ts";
import { type Column, isNumeric, namedColumn, type TableColumns, unknownColumn } from "./columns.ts";
import {
  choicesOfColumn,
  type ColumnChoices,
  labelOf,
  listChoices,
  notAmongKnown,
  unlistedChoice,
  valuesOfChoice,
} from "./choices.ts";
import { resolveList, resolveReference } from "./find_record.ts";
import { dateValue } from "./dates.ts";

/** Free text that is sent to the instance. */
export const maxTextCharacters = 20_000;

// Values as callers write them: `name=value`, one a line, or a JSON object if a value has several lines.

const maxValues = 60;
/** Lines that are looked at, empty ones included. */
const maxLines = 2_000;

/**
 * A name and its value; an empty value clears the field. `next` is the line after it: part of it perhaps, where the
 * value is a text.
 */
export type GivenValue = readonly [name: string, value: string, next?: string];

/** Refuses a text that a line follows: pasted words must not set fields. */
export function refuseLineAfter(name: string, next: string | undefined, parameter: string): void {
  if (next === undefined) return;
  const shown = next.trim().slice(0, 60).toWellFormed();
  throw invalidInput(
    `${parameter}: the lines after ${name} may be part of its text ("${shown}"); ` +
      `give a JSON object: {"${name}": "…", …}`,
  );
}

/** A line that is not `name=value` is refused: pasted text must not set fields. */
export function parseValueLines(text: string, parameter: string): readonly GivenValue[] {
  const values = text.trim().startsWith("{") ? fromJson(text, parameter) : fromLines(text, parameter);
  if (values.length > maxValues) throw invalidInput(`${parameter} takes at most ${maxValues} values`);
  const names = values.map(([name]) => name.trim().toLowerCase());
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw invalidInput(`${parameter} gives ${excerpt(twice)} twice`);
  const long = values.find(([, value]) => value.length > maxTextCharacters);
  if (long !== undefined) throw invalidInput(`${excerpt(long[0])} must have at most ${maxTextCharacters} characters`);
  return values;
}

function fromJson(text: string, parameter: string): readonly GivenValue[] {
  const parsed = parseJson(text);
  if (!isObject(parsed)) throw invalidInput(`${parameter} begins like JSON and is none`);
  const values = Object.entries(parsed);
  const wrong = values.find(([, value]) => value !== null && !["string", "number", "boolean"].includes(typeof value));
  if (wrong !== undefined) {
    throw invalidInput(`${parameter}: ${excerpt(wrong[0])} must be a text, a number, true or false`);
  }
  return values.map(([name, value]) => [name, String(value ?? "")] as const);
}

function fromLines(text: string, parameter: string): readonly GivenValue[] {
  const values: GivenValue[] = [];
  const lines = text.split(/\r?\n/, maxLines + 1);
  if (lines.length > maxLines) throw invalidInput(`${parameter} takes at most ${maxValues} values`);
  const filled = lines.filter((line) => line.trim() !== "");
  for (const [index, line] of filled.entries()) {
    const [, name, value = ""] = /^\s*([^=\n]{1,200}?)\s*=\s?([^]*)$/.exec(line) ?? [];
    if (name === undefined) {
      throw invalidInput(
        `${parameter}: "${excerpt(line)}" is not name=value; give a text of several lines ` +
          'as JSON: {"description": "first\\nsecond"}',
      );
    }
    const second = /(?:[,;]|\sand\s)\s*([a-z][a-z_]{2,})\s*=/.exec(value)?.[1];
    if (second !== undefined) { // several in one line would all end up in the first field
      throw invalidInput(
        `${parameter}: ${second} stands in the value of ${name}; give a JSON object: {"${name}": "…", "${second}": "…"}`,
      );
    }
    const next = filled[index + 1];
    values.push(next === undefined ? [name, value.trim()] : [name, value.trim(), next]);
  }
  return values;
}

export interface ResolvedValue {
  readonly name: string;
  readonly column: Column;
  readonly stored: string;
  /** What people see of it. */
  readonly shown: string;
  /** What is not known of it. */
  readonly doubt?: string;
}

export async function resolveValues(
  parts: DeskParts,
  columns: TableColumns,
  values: readonly GivenValue[],
  record: RecordFields = {},
): Promise<readonly ResolvedValue[]> {
  const resolved: ResolvedValue[] = [];
  for (const [given, value, next] of values) {
    const column = await namedColumn(parts, columns, given);
    if (column === null) throw invalidInput(unknownColumn(columns, given));
    if (resolved.some(({ name }) => name === column.name)) throw invalidInput(`${column.name} is given twice`);
    const changed = new Set(resolved.map(({ name }) => name));
    const kept = Object.keys(record).filter((name) => !changed.has(name)).map((name) => storedValue(record, name));
    const others = [...resolved.map(({ stored }) => stored), ...kept];
    const { isText = false, ...one } = await resolveValue(parts, { columns, column, value, record, others });
    if (isText) refuseLineAfter(column.name, next, "values");
    resolved.push({ name: column.name, column, ...one });
  }
  return resolved;
}

/** `isText`: any text would be taken. */
type Value = Pick<ResolvedValue, "stored" | "shown" | "doubt"> & { readonly isText?: boolean };

async function resolveValue(
  parts: DeskParts,
  { columns, column, value, record, others }: {
    readonly columns: TableColumns;
    readonly column: Column;
    readonly value: string;
    readonly record: RecordFields;
    /** What other fields hold. */
    readonly others: readonly string[];
  },
): Promise<Value> {
  const { name, type, reference } = column;
  if (isPlatformField(name)) throw invalidInput(`${name} is kept by ServiceNow itself`);
  if (name === "comments") {
    throw invalidInput("comments go to the caller: use servicenow_add_note with audience=caller");
  }
  if (value === "") return { stored: "", shown: "" };
  if (reference !== null && type === "glide_list") {
    return await listValue(parts, { table: reference, text: value, field: name }, record);
  }
  if (reference !== null) {
    const one = await resolveReference(parts, { table: reference, text: value, field: name });
    return { stored: one.sysId, shown: one.name };
  }
  if (type === "boolean") {
    const isTrue = truthOf(value);
    if (isTrue === null) throw invalidInput(`${name} is true or false`);
    return { stored: String(isTrue), shown: String(isTrue) };
  }
  if (column.choice !== "none") {
    const { choices, isWhole } = await choicesOfColumn(parts, columns, column);
    if (choices.length > 0 && (isWhole || valuesOfChoice(value, choices).length > 0)) {
      // one label may stand for several values, each with another value of the field that it depends on
      const offered = choices.filter(({ dependsOn = "" }) => dependsOn === "" || others.includes(dependsOn));
      return choiceValue(name, value, valuesOfChoice(value, offered).length > 0 ? offered : choices);
    }
    if (column.choice === "list") {
      // Not all are known: as a record has it stored, or as it was given.
      const found = await unlistedChoice(parts, columns, { name, word: value, choices });
      if (found === null) throw invalidInput(notAmongKnown(name, value, choices));
      const doubt = `whether ${name} has such a value is not known: it is sent as given`;
      const [one] = found;
      return one ? { stored: one.value, shown: one.label } : { stored: value, shown: value, doubt };
    }
  }
  if (/^(glide_date|glide_date_time|due_date)$/.test(type)) {
    return await dateValue(parts, { name, value, isDay: type === "glide_date" });
  }
  if (isNumeric(type) && !isNumber(value)) {
    throw invalidInput(`${name} must be a number`);
  }
  return { stored: value, shown: value, isText: !isNumeric(type) };
}

/** `+ada, -ben` changes the list that the record has; names alone are the whole list, and must keep those in it. */
async function listValue(
  parts: DeskParts,
  { text, ...field }: { readonly table: string; readonly text: string; readonly field: string },
  record: RecordFields,
): Promise<Value> {
  const names = text.split(/\s*[,|]\s*/);
  const idsOf = (list: string): readonly string[] => list.split(/\s*,\s*/).filter((each) => each !== "");
  const now = idsOf(storedValue(record, field.field));
  if (names.every((name) => /^[+-]/.test(name))) {
    const idsBehind = async (sign: string): Promise<readonly string[]> => {
      const own = names.filter((name) => name.startsWith(sign)).map((name) => name.slice(1).trim());
      return own.length === 0 ? [] : idsOf((await resolveList(parts, { ...field, text: own.join(",") })).stored);
    };
    const [added, removed] = [await idsBehind("+"), await idsBehind("-")];
    const stored = [...new Set([...now, ...added])].filter((id) => !removed.includes(id)).join(",");
    return { stored, shown: text };
  }
  const whole = await resolveList(parts, { ...field, text });
  if (now.every((id) => whole.stored.split(",").includes(id))) return whole;
  const shown = displayValue(record, field.field);
  throw invalidInput(`${field.field} has ${shown}: write +NAME to add and -NAME to remove`);
}

function choiceValue(name: string, value: string, choices: ColumnChoices["choices"]): Value {
  const [stored, other] = valuesOfChoice(value, choices);
  if (stored !== undefined && other === undefined) {
    return { stored, shown: labelOf(stored, choices) ?? stored };
  }
  const listed = listChoices(choices);
  throw invalidInput(
    stored === undefined
      ? `${name} cannot be "${excerpt(value)}"; its values: ${listed}`
      : `${name} "${excerpt(value)}" means several values; give one of: ${listed}`,
  );
}
