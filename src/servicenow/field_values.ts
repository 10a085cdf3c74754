/** A record's fields as agents see them: stored value and display value side by side where they differ. */
import * as z from "zod";
import type { FieldValue, RecordFields } from "./port.ts";

/**
 * A record as the Table API gives it, parsed to fields in the same order. A journal has no value of its own: its
 * entries are the display value.
 */
export const recordSchema: z.ZodType<RecordFields> = z.record(
  z.string(),
  // One function, not a union: a record has seventy fields, and a union tries each of its members on each of them.
  z.unknown().transform((field, { issues }): FieldValue => {
    if (field === null || typeof field === "string" || typeof field === "number" || typeof field === "boolean") {
      return field;
    }
    if (Array.isArray(field)) return JSON.stringify(field);
    const { value, display_value: displayValue } = (field ?? {}) as Readonly<Record<string, unknown>>;
    if (isTextOrNone(value) && isTextOrNone(displayValue) && field !== undefined) {
      return toFieldValue(value, displayValue);
    }
    issues.push({ code: "custom", input: field, message: "no field of a record" });
    return null;
  }),
);

function isTextOrNone(value: unknown): value is string | null | undefined {
  return value === undefined || value === null || typeof value === "string";
}

function toFieldValue(value: string | null | undefined, displayValue: string | null | undefined): FieldValue {
  if (displayValue === undefined || displayValue === null || displayValue === value) return value ?? "";
  if (value === undefined || value === null || value === "") return displayValue;
  return { value, display_value: displayValue };
}

export function storedValue(record: RecordFields, name: string): string {
  const field = record[name];
  if (field === undefined || field === null) return "";
  return typeof field === "object" ? field.value : String(field);
}

/** What people see of a field. */
export function displayValue(record: RecordFields, name: string): string {
  const field = record[name];
  if (field === undefined || field === null) return "";
  return typeof field === "object" ? field.display_value : String(field);
}
