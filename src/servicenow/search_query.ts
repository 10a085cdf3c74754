/**
 * Builds encoded queries from named filters. No part of a query comes from outside as it is: fields and operators are
 * ours, values are escaped, and what an instance would run as a script is refused.
 */
import { failure, type Result, success } from "../lib/result.ts";
import type { SearchFilters } from "./port.ts";
import type { FilterName, TableDefinition } from "./tables.ts";

const maxValueCharacters = 200;
const datePattern = /^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])([ T]([01]\d|2[0-3]):[0-5]\d:[0-5]\d)?Z?$/;

/** The encoded query, or what is wrong with the filters. */
export function buildQuery(table: TableDefinition, search: SearchFilters): Result<string, string> {
  const terms: string[] = [];
  if (search.text !== undefined) {
    const text = toQueryValue(search.text);
    if (!text.ok) return failure(`text ${text.error}`);
    terms.push(anyOf(table.textFields.map((field) => `${field}LIKE${text.value}`)));
  }
  for (const [name, given] of Object.entries(search.filters) as [FilterName, string | undefined][]) {
    if (given === undefined) continue;
    const column = table.filters[name];
    if (column === undefined) {
      return failure(`${table.kind} cannot be filtered by ${name}; use ${Object.keys(table.filters).join(", ")}`);
    }
    const value = toQueryValue(given);
    if (!value.ok) return failure(`${name} ${value.error}`);
    terms.push(termOf(name, column, value.value));
  }
  for (
    const [name, operator, date] of [
      ["updated_after", ">=", search.updatedAfter],
      ["updated_before", "<=", search.updatedBefore],
    ] as const
  ) {
    if (date === undefined) continue;
    if (!datePattern.test(date)) return failure(`${name} must be a date such as 2026-03-01 or 2026-03-01 08:00:00`);
    terms.push(`sys_updated_on${operator}${toDateValue(date)}`);
  }
  const orderBy = search.orderBy ?? "sys_updated_on";
  if (!table.summaryFields.includes(orderBy)) {
    return failure(`${table.kind} cannot be ordered by ${orderBy}; use one of ${table.summaryFields.join(", ")}`);
  }
  terms.push(`${search.descending ?? true ? "ORDERBYDESC" : "ORDERBY"}${orderBy}`);
  return success(terms.join("^"));
}

/**
 * A value as part of a query: one line, `^` as `^^`. Refuses what begins like a script: the instance evaluates
 * `javascript:` values.
 */
export function toQueryValue(text: string): Result<string, string> {
  const value = text.replace(/[\p{Cc}\p{Cf}\u2028\u2029]+/gu, " ").trim();
  if (value === "") return failure("must not be empty");
  if (value.length > maxValueCharacters) return failure(`must have at most ${maxValueCharacters} characters`);
  if (/^javascript\s*:/i.test(value)) return failure("must not be a script");
  return success(value.replaceAll("^", "^^"));
}

/** A user or group is given by sys_id or by name, other things by their stored value. */
function termOf(name: FilterName, column: string, value: string): string {
  const isSysId = /^[0-9a-f]{32}$/i.test(value);
  switch (name) {
    case "assigned_to":
    case "caller":
      // The literal is this server's own: the one user whom a script may stand for is the caller.
      if (value.toLowerCase() === "me") return `${column}=javascript:gs.getUserID()`;
      return isSysId ? `${column}=${value}` : anyOf([`${column}.user_name=${value}`, `${column}.name=${value}`]);
    case "assignment_group":
      return isSysId ? `${column}=${value}` : `${column}.name=${value}`;
    default:
      return `${column}=${value}`;
  }
}

/** `^OR` binds to the term before it. */
function anyOf(terms: readonly string[]): string {
  return terms.join("^OR");
}

function toDateValue(date: string): string {
  const value = date.replace("T", " ").replace("Z", "");
  return value.length === 10 ? `${value} 00:00:00` : value;
}
