/** What names a record: a sys_id, or a number as users know it. Checked before anything is sent. */
import { failure, type Result, success } from "../lib/result.ts";
import type { ServicenowFailure } from "./failure.ts";
import type { TableDefinition } from "./tables.ts";

/** A record's name, by its kind of name. */
export type RecordId =
  | { readonly by: "sys_id"; readonly value: string }
  | { readonly by: "number"; readonly value: string };

/** A sys_id: 32 hexadecimal digits, in lower case. */
export function parseSysId(text: string): Result<string, ServicenowFailure> {
  return /^[0-9a-f]{32}$/i.test(text)
    ? success(text.toLowerCase())
    : failure({ reason: "invalid_record_id", expected: "32 hexadecimal digits" });
}

/**
 * Whether a stored reference can be a sys_id. People can store any text where one belongs; in a query it would be more
 * than a value.
 */
export function isStoredSysId(text: string): boolean {
  return /^[\w-]{1,32}$/.test(text);
}

/** A sys_id, or a number with the prefix of its table such as `INC0010001`. */
export function parseRecordId({ numberPrefix }: TableDefinition, text: string): Result<RecordId, ServicenowFailure> {
  const sysId = parseSysId(text);
  if (sysId.ok) return success({ by: "sys_id", value: sysId.value });
  if (numberPrefix === null) return sysId;
  const number = text.toUpperCase();
  if (number.startsWith(numberPrefix) && /^\d{4,12}$/.test(number.slice(numberPrefix.length))) {
    return success({ by: "number", value: number });
  }
  return failure({
    reason: "invalid_record_id",
    expected: `32 hexadecimal digits, or a number such as ${numberPrefix}0010001`,
  });
}
