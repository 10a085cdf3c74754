/** JSON schemas of a tool's input and output, made once when the tool is registered. */
import * as z from "zod";
import { isObject } from "../lib/json.ts";

/** A JSON schema whose root is an object. */
export type ObjectSchema = Readonly<Record<string, unknown>> & { readonly type: "object" };

/** Root keywords for which Anthropic's clients drop a tool. */
const rootKeywordsClientsDrop = ["oneOf", "anyOf", "allOf"];

/**
 * The JSON schema of a zod object, without the `$schema` marker; below its root, and in an output, it is closed to unknown
 * keys only where the zod schema is strict. Throws for a schema that no client could use: that is a mistake in the tool.
 */
export function toObjectSchema(schema: z.ZodType, direction: "input" | "output"): ObjectSchema {
  const { $schema: _marker, ...json } = z.toJSONSchema(schema, {
    io: direction,
    override: ({ zodSchema, jsonSchema }) => {
      const definition = zodSchema._zod.def as { readonly type: string; readonly catchall?: unknown };
      if (definition.type === "object" && definition.catchall === undefined) delete jsonSchema.additionalProperties;
      if (direction === "input") sayPlainly(jsonSchema);
      // zod's own bounds of every integer, not the tool's
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
    },
  });
  if (json.type !== "object") throw new TypeError("A tool's schema must be an object at its root");
  const dropped = rootKeywordsClientsDrop.find((keyword) => keyword in json);
  if (dropped !== undefined) throw new TypeError(`A tool's schema must not have ${dropped} at its root`);
  // a client that drops what a tool does not take can know it
  return (direction === "input"
    ? { ...json, additionalProperties: json.additionalProperties ?? false }
    : json) as ObjectSchema;
}

/** Gemini's dialect of JSON Schema has no `const` and no `propertyNames`; it drops tools that use them. */
function sayPlainly(schema: z.core.JSONSchema.BaseSchema): void {
  if (JSON.stringify(schema.propertyNames) === '{"type":"string"}') delete schema.propertyNames; // true of any object
  if (schema.const === undefined) return;
  schema.enum = [schema.const];
  delete schema.const;
}

/** A refusal names these when they matter; in each list they would cost the model tokens. */
const unlistedKeywords: ReadonlySet<string> = new Set([
  ...["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minLength", "maxLength", "pattern"],
  ...["minItems", "maxItems", "flat", "unlisted"],
  ...["empty", "clamped", "written", "listedAs"],
]);

/**
 * The schema as `tools/list` shows it: without bounds, without the default `false`, without the properties that are marked
 * `unlisted`, which are taken all the same, and open below its root, where a refusal names what an entry does not have.
 */
export function toListedSchema<Schema extends Readonly<Record<string, unknown>>>(
  schema: Schema,
  isRoot = true,
): Schema {
  const { properties, items, required, listedAs } = schema;
  const listed = Object.fromEntries(
    Object.entries(schema).filter(([keyword, value]) =>
      !unlistedKeywords.has(keyword) && !(keyword === "default" && value === false) &&
      !(keyword === "additionalProperties" &&
        (isRoot ? isObject(value) && Object.keys(value).length === 0 : value === false))
    ),
  );
  if (listedAs !== undefined) listed["type"] = listedAs;
  if (isObject(items)) listed["items"] = toListedSchema(items, false);
  if (!isObject(properties)) return listed as Schema;
  const kept = Object.entries(properties).filter(([, property]) =>
    !isObject(property) || property["unlisted"] !== true
  );
  listed["properties"] = Object.fromEntries(
    kept.map(([name, property]) => [name, isObject(property) ? toListedSchema(property, false) : property]),
  );
  if (kept.length === 0 && !isRoot) delete listed["properties"];
  const needed = Array.isArray(required) ? required.filter((name) => kept.some(([each]) => each === name)) : [];
  if (needed.length > 0) listed["required"] = needed;
  else delete listed["required"];
  return listed as Schema;
}

/**
 * The listed schema without its optional lists and objects, which ServiceNow's agents cannot fill in, and as the marks
 * `flat` of the whole schema say: a property is absent there, or required.
 */
export function toFlatSchema(listed: ObjectSchema, whole: ObjectSchema = listed): ObjectSchema {
  const marks = isObject(whole["properties"]) ? whole["properties"] : {};
  const markOf = (name: string): unknown => isObject(marks[name]) ? marks[name]["flat"] : undefined;
  const names = Object.keys(listed["properties"] ?? {});
  const required = names.filter((name) =>
    markOf(name) === "required" || (Array.isArray(listed["required"]) && listed["required"].includes(name))
  );
  const properties = Object.entries(listed["properties"] ?? {}).filter(([name, property]) =>
    required.includes(name) ||
    (markOf(name) !== "absent" && isObject(property) && property["type"] !== "array" && property["type"] !== "object")
  );
  return { ...listed, properties: Object.fromEntries(properties), ...(required.length === 0 ? {} : { required }) };
}
