/** Models write `"3"` for 3 and `"true"` for true: the canonical text of a number or boolean, where the schema has one. */
import { isObject } from "../../lib/json.ts";

/** The value with such texts replaced, as deep as the schema describes it; what fits nothing stays as it is. */
export function asSchemaTypes(schema: unknown, value: unknown): unknown {
  if (!isObject(schema)) return value;
  if (typeof value === "string") return fromText(schema["type"], value);
  const { properties, items } = schema;
  if (Array.isArray(value) && isObject(items)) return value.map((item) => asSchemaTypes(items, item));
  if (!isObject(value) || !isObject(properties)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [
      name,
      Object.hasOwn(properties, name) ? asSchemaTypes(properties[name], member) : member,
    ]),
  );
}

function fromText(type: unknown, text: string): unknown {
  if (type === "boolean") return text === "true" ? true : text === "false" ? false : text;
  if (type !== "integer" && type !== "number") return text;
  const number = Number(text);
  return Number.isFinite(number) && String(number) === text ? number : text;
}
