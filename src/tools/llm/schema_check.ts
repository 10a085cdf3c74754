/**
 * Holds a model's answer against the JSON schema that its caller asked for. Written here and not taken from a library
 * because the schema comes from the caller: validators compile it, run its regular expressions and follow its
 * references for as long as it wants, so that a schema of 1 KB can stop the server (2^30 branches of `anyOf`, `(a+)+$`).
 * This one counts its steps, runs no `pattern` and resolves references within the schema only.
 */
import { failure, type Result, success } from "../../lib/result.ts";
import { isObject } from "../../lib/is_object.ts";
import { type JsonSchema, listOf, maxSchemaDepth, resolveReference } from "./schema.ts";

const maxSteps = 200_000;

/** The first place where `value` does not follow the schema, in words that begin with its JSON pointer. */
export function checkAgainstSchema(root: JsonSchema, value: unknown): Result<void, string> {
  let steps = 0;
  const spend = (amount: number): void => {
    steps += 1 + amount;
    if (steps > maxSteps) throw new TooMuchWork();
  };

  const check = (schema: unknown, value: unknown, at: string, depth: number): string | null => {
    spend(0);
    if (depth > maxSchemaDepth) throw new TooMuchWork();
    if (schema === false) return `${at}: nothing is allowed here`;
    if (!isObject(schema)) return null;
    const inner = (part: unknown): string | null => check(part, value, at, depth + 1);
    if (typeof schema["$ref"] === "string") {
      spend(schema["$ref"].length / 8);
      const found = inner(resolveReference(root, schema["$ref"]));
      if (found !== null) return found;
    }
    const own = checkValue(schema, value, spend);
    if (own !== null) return `${at}: ${own}`;
    for (const part of listOf(schema["allOf"])) {
      const found = inner(part);
      if (found !== null) return found;
    }
    const any = listOf(schema["anyOf"]);
    if (any.length > 0 && !any.some((part) => inner(part) === null)) return `${at}: no alternative of anyOf fits`;
    const one = listOf(schema["oneOf"]);
    if (one.length > 0 && one.filter((part) => inner(part) === null).length !== 1) {
      return `${at}: exactly one alternative of oneOf has to fit`;
    }
    if (schema["not"] !== undefined && inner(schema["not"]) === null) return `${at}: this is excluded by not`;
    if (Array.isArray(value)) {
      const tuple = listOf(schema["prefixItems"] ?? schema["items"]);
      for (const [index, item] of value.entries()) {
        const part = tuple[index] ?? (Array.isArray(schema["items"]) ? undefined : schema["items"]);
        const found = check(part ?? true, item, `${at}/${index}`, depth + 1);
        if (found !== null) return found;
      }
    } else if (isObject(value)) {
      const properties = isObject(schema["properties"]) ? schema["properties"] : {};
      for (const [key, item] of Object.entries(value)) {
        spend(key.length / 8);
        const part = Object.hasOwn(properties, key) ? properties[key] : schema["additionalProperties"] ?? true;
        const found = check(part, item, `${at}/${key.replaceAll("~", "~0").replaceAll("/", "~1")}`, depth + 1);
        if (found !== null) return found;
      }
    }
    return null;
  };

  try {
    const found = check(root, value, "", 0);
    return found === null ? success(undefined) : failure(found.slice(0, 200));
  } catch (error) {
    if (error instanceof TooMuchWork) return failure("checking it would take too long; use a simpler schema");
    throw error;
  }
}

class TooMuchWork extends Error {}

/** The keywords that look at one value alone; `spend` is told how much work each of them is. */
function checkValue(schema: JsonSchema, value: unknown, spend: (amount: number) => void): string | null {
  const { type, enum: allowed } = schema;
  const same = (a: unknown, b: unknown): boolean => {
    if (typeof a === "string" && typeof b === "string" && a.length === b.length) spend(a.length / 32);
    if (a === b || typeof a !== "object" || typeof b !== "object") return a === b;
    const [textA, textB] = [canonical(a), canonical(b)];
    spend((textA.length + textB.length) / 8);
    return textA === textB;
  };
  const limit = (keyword: string): number | undefined => {
    const bound = schema[keyword];
    return typeof bound === "number" ? bound : undefined;
  };
  const outside = (size: number, minimum: string, maximum: string): string | null => {
    if (size < (limit(minimum) ?? -Infinity)) return `violates ${minimum}`;
    return size > (limit(maximum) ?? Infinity) ? `violates ${maximum}` : null;
  };

  const types: readonly unknown[] = Array.isArray(type) ? type : [type];
  spend(types.length / 2);
  if (type !== undefined && !types.some((name) => hasType(value, name))) {
    return `has to be ${types.slice(0, 7).join(" or ")}`;
  }
  if (Array.isArray(allowed)) {
    spend(allowed.length);
    if (!allowed.some((it) => same(it, value))) return "is not in the enum";
  }
  if (Object.hasOwn(schema, "const") && !same(schema["const"], value)) return "is not the const";
  if (typeof value === "number") {
    const step = limit("multipleOf");
    if (value <= (limit("exclusiveMinimum") ?? -Infinity)) return "violates exclusiveMinimum";
    if (value >= (limit("exclusiveMaximum") ?? Infinity)) return "violates exclusiveMaximum";
    if (step !== undefined && Math.abs(value / step - Math.round(value / step)) > 1e-9) return "violates multipleOf";
    return outside(value, "minimum", "maximum");
  }
  if (typeof value === "string") {
    if (schema["minLength"] === undefined && schema["maxLength"] === undefined) return null;
    spend(value.length / 16);
    return outside([...value].length, "minLength", "maxLength");
  }
  if (Array.isArray(value)) {
    if (schema["uniqueItems"] === true) {
      const texts = value.map(canonical);
      spend(texts.reduce((sum, text) => sum + text.length, 0) / 8);
      if (new Set(texts).size < value.length) return "repeats an item";
    }
    return outside(value.length, "minItems", "maxItems");
  }
  if (!isObject(value)) return null;
  const required = listOf(schema["required"]);
  spend(required.length + Object.keys(value).length);
  const missing = required.find((name) => typeof name === "string" && !Object.hasOwn(value, name));
  if (missing !== undefined) return `lacks ${JSON.stringify(String(missing).slice(0, 100))}`;
  return outside(Object.keys(value).length, "minProperties", "maxProperties");
}

function hasType(value: unknown, name: unknown): boolean {
  switch (name) {
    case "null":
      return value === null;
    case "array":
      return Array.isArray(value);
    case "object":
      return isObject(value);
    case "integer":
      return Number.isInteger(value);
    default: {
      const kind: string = typeof value;
      return kind === name;
    }
  }
}

/** The same text for equal JSON values, whatever the order of their keys. */
function canonical(value: unknown): string {
  return JSON.stringify(
    value,
    (_key, it: unknown) =>
      isObject(it) ? Object.fromEntries(Object.entries(it).sort(([a], [b]) => a < b ? -1 : 1)) : it,
  );
}
