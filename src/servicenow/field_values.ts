/** A record's fields as agents see them: stored value and display value side by side where they differ. */
import * as z from "zod";
import type { FieldValue, RecordFields } from "./port.ts";

const scalar = z.union([z.string(), z.number(), z.boolean(), z.null()]);
const pair = z.object({ value: z.string().nullish(), display_value: z.string().nullish() });
const list = z.array(z.unknown());

/**
 * A record as the Table API gives it, parsed to fields in the same order. A journal has no value of its own: its
 * entries are the display value.
 */
export const recordSchema: z.ZodType<RecordFields> = z.record(
  z.string(),
  z.union([scalar, pair.transform(toFieldValue), list.transform((items) => JSON.stringify(items))]),
);

function toFieldValue({ value, display_value: displayValue }: z.output<typeof pair>): FieldValue {
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
