/** JSON schemas that callers hand in for a model's answer: which of them can be checked, and how their parts are found. */
import { isObject } from "../../lib/is_object.ts";

/** A JSON schema, as callers send it. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** Deeper than anything that is meant for people. */
export const maxSchemaDepth = 128;

/** Schemas within a schema; Ollama makes a grammar of them, which takes it long before this. */
const maxSchemaParts = 10_000;

/** Keywords that change what is valid and are not checked here: a schema with one of them is refused. */
const unsupported: ReadonlySet<string> = new Set([
  "if",
  "then",
  "else",
  "patternProperties",
  "propertyNames",
  "dependencies",
  "dependentRequired",
  "dependentSchemas",
  "contains",
  "additionalItems",
  "unevaluatedItems",
  "unevaluatedProperties",
  "$dynamicRef",
  "$recursiveRef",
]);
const typeNames: ReadonlySet<unknown> = new Set(["null", "boolean", "object", "array", "number", "integer", "string"]);
const childMaps = ["properties", "$defs", "definitions"];
const childLists = ["anyOf", "oneOf", "allOf", "prefixItems"];
const children = ["items", "additionalProperties", "not"];

/** Whether a JSON value is nested deeper than anything meant for people: what walks it by recursion could fail. */
export function isTooDeep(value: unknown): boolean {
  let level: unknown[] = [value];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > maxSchemaDepth) return true;
    level = level.flatMap((it) => typeof it === "object" && it !== null ? Object.values(it) : []);
  }
  return false;
}

/** A sentence about what keeps the schema from being checked, or null. */
export function schemaProblem(root: JsonSchema): string | null {
  if (isTooDeep(root)) return "it is nested too deeply";
  const queue: unknown[] = [root];
  for (let parts = 1; queue.length > 0; parts++) {
    if (parts + queue.length > maxSchemaParts) return `it has more than ${maxSchemaParts} parts`;
    const schema = queue.pop();
    if (typeof schema === "boolean") continue;
    if (!isObject(schema)) return "every schema in it has to be an object or a boolean";
    for (const key of Object.keys(schema)) if (unsupported.has(key)) return `this server cannot check \`${key}\``;
    const { type, $ref: ref } = schema;
    const types = Array.isArray(type) ? type : type === undefined ? [] : [type];
    if (!types.every((name) => typeNames.has(name))) return "`type` has to name JSON types";
    if (ref !== undefined && (typeof ref !== "string" || resolveReference(root, ref) === undefined)) {
      return "`$ref` has to lead to a part of the same schema";
    }
    for (const part of partsOf(schema)) queue.push(part);
  }
  return null;
}

function* partsOf(schema: JsonSchema): Generator<unknown> {
  for (const key of childMaps) if (isObject(schema[key])) yield* Object.values(schema[key]);
  for (const key of [...childLists, "items"]) yield* listOf(schema[key]);
  for (const key of children) if (schema[key] !== undefined && !Array.isArray(schema[key])) yield schema[key];
}

/** What a reference within the schema leads to: `#`, or `#/` and a JSON pointer (RFC 6901); undefined when it leads nowhere. */
export function resolveReference(root: JsonSchema, reference: string): unknown {
  if (reference === "#") return root;
  if (!reference.startsWith("#/")) return undefined;
  let at: unknown = root;
  for (const part of reference.slice(2).split("/")) {
    const key = part.replaceAll("~1", "/").replaceAll("~0", "~");
    if (typeof at !== "object" || at === null || !Object.hasOwn(at, key)) return undefined;
    at = (at as Record<string, unknown>)[key];
  }
  return at;
}

/** The value if it is an array, else an empty one. */
export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
