/** Values as callers write them: `name=value`, one a line, or a JSON object where a value has lines of its own. */
import { isObject, parseJson } from "../lib/json.ts";
import { failure, type Result, success } from "../lib/result.ts";
import { maxTextCharacters } from "./changes_port.ts";

const maxValues = 60;

/** A name and its value; an empty value clears the field. */
export type GivenValue = readonly [name: string, value: string];

/** A line that is not `name=value` is refused: pasted text must not set fields. */
export function parseValueLines(text: string, parameter: string): Result<readonly GivenValue[], string> {
  const values = text.trim().startsWith("{") ? fromJson(text, parameter) : fromLines(text, parameter);
  if (!values.ok) return values;
  if (values.value.length > maxValues) return failure(`${parameter} takes at most ${maxValues} values`);
  const names = values.value.map(([name]) => name.trim().toLowerCase());
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) return failure(`${parameter} gives ${twice.slice(0, 80)} twice`);
  const long = values.value.find(([, value]) => value.length > maxTextCharacters);
  return long === undefined
    ? values
    : failure(`${long[0].slice(0, 80)} must have at most ${maxTextCharacters} characters`);
}

function fromJson(text: string, parameter: string): Result<readonly GivenValue[], string> {
  const parsed = parseJson(text);
  if (!isObject(parsed)) return failure(`${parameter} begins like JSON and is none`);
  const values: GivenValue[] = [];
  for (const [name, value] of Object.entries(parsed)) {
    if (value !== null && !["string", "number", "boolean"].includes(typeof value)) {
      return failure(`${parameter}: ${name.slice(0, 80)} must be a text, a number, true or false`);
    }
    values.push([name, value === null ? "" : String(value)]);
  }
  return success(values);
}

function fromLines(text: string, parameter: string): Result<readonly GivenValue[], string> {
  const values: GivenValue[] = [];
  for (const line of text.split(/\r?\n/)) {
    if (line.trim() === "") continue;
    const [, name, value = ""] = /^\s*([^=\n]{1,200}?)\s*=\s?([^]*)$/.exec(line) ?? [];
    if (name === undefined) {
      return failure(
        `${parameter}: "${line.trim().slice(0, 80).toWellFormed()}" is not name=value; give a text of several lines ` +
          'as JSON: {"description": "first\\nsecond"}',
      );
    }
    const second = /(?:[,;]|\sand\s)\s*([a-z][a-z_]{2,})\s*=/.exec(value)?.[1];
    if (second !== undefined) { // several in one line would all end up in the first field
      return failure(
        `${parameter}: ${second} stands in the value of ${name}; write one name=value a line, or a JSON object`,
      );
    }
    values.push([name, value.trim()]);
  }
  return success(values);
}
