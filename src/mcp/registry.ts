/**
 * A registry of named items, which may be added and removed while the server runs; tools with their schemas, and which
 * one a wrong name means.
 */
import * as z from "zod";
import { isObject } from "../lib/json.ts";
import { hasScopes, type Principal } from "../lib/principal.ts";
import { closestWord } from "../lib/suggestible.ts";
import type { Tool } from "./tool.ts";

/** The things by name, in the order in which they were added. */
type Registry<Given extends Named, Entry> = ReturnType<typeof createRegistry<Given, Entry>>;

type Named = { readonly name: string };

/** Makes a registry; `prepare` turns what is added into what is kept. */
export function createRegistry<Given extends Named, Entry>(
  initial: Iterable<Given>,
  prepare: (given: Given) => Entry,
) {
  const byName = new Map<string, Entry>();
  const listeners = new Set<() => void>();
  let version = 0;
  let ordered: readonly Entry[] = [];

  const changed = (): void => {
    version += 1;
    ordered = [...byName.values()];
    for (const listener of [...listeners]) listener();
  };
  const register = (given: Given): void => {
    if (byName.has(given.name)) throw new TypeError(`"${given.name}" is already registered`);
    byName.set(given.name, prepare(given));
  };
  for (const given of initial) register(given);
  changed();

  return {
    get: (name: string): Entry | undefined => byName.get(name),
    all: (): readonly Entry[] => ordered,
    /** Grows with every change: whatever was made from the list may be kept for as long as it stays the same. */
    get version() {
      return version;
    },
    /** Adds one. Throws when its name is taken, or clients could not use it. */
    add(given: Given) {
      register(given);
      changed();
    },
    /** Prepares one that is there anew, in its place. */
    renew(given: Given) {
      if (!byName.has(given.name)) return;
      byName.set(given.name, prepare(given));
      changed();
    },
    /** Removes one and says whether there was one. Calls that run go on. */
    remove(name: string) {
      const removed = byName.delete(name);
      if (removed) changed();
      return removed;
    },
    /** Calls `listener` after each change, until the returned function is called. */
    onChange(listener: () => void) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}

/** A tool with its schemas. */
export interface RegisteredTool {
  readonly tool: Tool;
  /** What arguments are held against. */
  readonly wholeSchema: ObjectSchema;
  /** What clients see of it. */
  readonly inputSchema: ObjectSchema;
  readonly outputSchema: ObjectSchema | undefined;
  /** The names of the input's properties. */
  readonly parameters: ReadonlySet<string>;
  /** Parameters that a modern client repeats in headers. */
  readonly headerParameters: readonly HeaderParameter[];
}

export type ToolRegistry = Registry<Tool, RegisteredTool>;

/** MCP 2025-11-25, server/tools: tool names. */
const namePattern = /^[A-Za-z0-9_.-]{1,64}$/;

/**
 * Makes a registry with some tools in it. Throws for a tool that clients could not use. The schemas of the server's
 * `own` tools, which its tests check, are made at their first use: to make all of them takes a tenth of a start.
 */
export function createToolRegistry(tools: Iterable<Tool>, own: ReadonlySet<Tool> = new Set()): ToolRegistry {
  const all = [...tools];
  const registry = createRegistry(all, (tool) => own.has(tool) ? registerTool(tool) : checked(tool));
  for (const tool of all) tool.follow?.(() => registry.renew(tool));
  return registry;
}

function checked(tool: Tool): RegisteredTool {
  if (!namePattern.test(tool.name)) throw new TypeError(`Tool name "${tool.name}" is malformed`);
  return { ...registerTool(tool) }; // reads every schema
}

function registerTool(tool: Tool): RegisteredTool {
  let input: InputSchemas | undefined;
  let output: ObjectSchema | undefined;
  return {
    tool,
    get wholeSchema() {
      return (input ??= inputSchemasOf(tool)).wholeSchema;
    },
    get inputSchema() {
      return (input ??= inputSchemasOf(tool)).inputSchema;
    },
    get parameters() {
      return (input ??= inputSchemasOf(tool)).parameters;
    },
    get headerParameters() {
      return (input ??= inputSchemasOf(tool)).headerParameters;
    },
    get outputSchema() {
      return tool.output === undefined ? undefined : output ??= toObjectSchema(tool.output, "output");
    },
  };
}

type InputSchemas = Omit<RegisteredTool, "tool" | "outputSchema">;

function inputSchemasOf(tool: Tool): InputSchemas {
  const wholeSchema = tool.inputSchema ?? toObjectSchema(tool.input, "input");
  return {
    wholeSchema,
    inputSchema: tool.inputSchema ?? toListedSchema(wholeSchema),
    parameters: new Set(Object.keys(wholeSchema["properties"] ?? {})),
    headerParameters: findHeaderParameters(wholeSchema),
  };
}

/** A JSON schema whose root is an object. */
type ObjectSchema = Readonly<Record<string, unknown>> & { readonly type: "object" };

/** Root keywords for which Anthropic's clients drop a tool. */
const rootKeywordsClientsDrop = ["oneOf", "anyOf", "allOf"];

/**
 * The JSON schema of a zod object, without the `$schema` marker; below its root, and in an output, it is closed to
 * unknown keys only where the zod schema is strict. Throws for a schema that no client could use: that is a mistake in
 * the tool.
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
  ...["empty", "clamped", "written", "listedAs", "joined"],
]);

/**
 * The schema as `tools/list` shows it: without bounds, without the default `false`, without the properties that are
 * marked `unlisted`, which are taken all the same, and open below its root, where a refusal names what an entry does
 * not have.
 */
function toListedSchema<Schema extends Readonly<Record<string, unknown>>>(schema: Schema, isRoot = true): Schema {
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

// Tool parameters that modern clients repeat in `Mcp-Param-*` headers (MCP 2026-07-28, server/tools: x-mcp-header).

interface HeaderParameter {
  /** The keys that lead to its value in the arguments. */
  readonly path: readonly string[];
  /** The header's name, in lower case. */
  readonly header: string;
}

/** Reads the declarations out of an input schema. */
function findHeaderParameters(schema: unknown, path: readonly string[] = []): readonly HeaderParameter[] {
  const properties = isObject(schema) && isObject(schema["properties"]) ? schema["properties"] : {};
  return Object.entries(properties).flatMap(([key, property]) => {
    const here = [...path, key];
    const name = isObject(property) ? property["x-mcp-header"] : undefined;
    const inside = findHeaderParameters(property, here);
    return name === undefined ? inside : [{ path: here, header: `mcp-param-${name}`.toLowerCase() }, ...inside];
  });
}

const maxNameCharacters = 128;

/** The tool that the caller may use and that is called nearly so, here or elsewhere; `null` when none is. */
export function nearestTool(name: string, tools: ToolRegistry, principal: Principal): string | null {
  if (name.length > maxNameCharacters) return null;
  const offered = tools.all().map(({ tool }) => tool).filter(({ scopes, profile }) =>
    profile === undefined && hasScopes(principal, scopes)
  );
  // clients put a server's name before it: mcp__files__file_read, files.file_read
  const bare = name.split(/__|[./:]/).findLast((part) => part !== "") ?? name;
  const plain = fold(bare);
  const words = wordsIn(bare);
  const known = offered.map(({ name: own, knownAs }) => ({ own, names: [own, ...knownAs?.split(" ") ?? []] }));
  const found =
    known.find(({ own, names }) =>
      names.some((each) => plain === fold(each)) || (plain.endsWith(fold(own)) && /[^a-z]/i.test(name))
    ) ?? known.find(({ names }) => words !== "" && names.some((each) => words === wordsIn(each)));
  // find_and_replace, copy_path: what is done comes last, and the rest says nothing
  const verbs = allWordsIn(bare).filter((word) => word !== "" && !besideVerbs.includes(` ${word} `)).map((verb) =>
    known.find(({ names }) => names.includes(verb))?.own
  );
  const byVerb = verbs.includes(undefined) ? undefined : verbs.at(-1);
  return found?.own ?? byVerb ?? closestWord(name, offered.map(({ name: own }) => own));
}

const besideVerbs = " file files path paths text directory content contents line lines name names string strings " +
  "regex range keyword code in into to by and multi multiple many single new ";

/** What a name says: `file_copy`, `copyFiles` and `copy` are one. */
function wordsIn(name: string): string {
  return allWordsIn(name).filter((word) => !/^(?:files?|)$/.test(word)).sort().join("_");
}

function allWordsIn(name: string): string[] {
  const words = name.replace(/([a-z])(?=[A-Z])/g, "$1_").toLowerCase().split(/[_\W]+/);
  return words.map((word) => word.replace(/^(?:dirs?|folders?|directories)$/, "directory"));
}

/** A longer name is left as it is. */
const maxFolded = 64;

/** Without what names are written apart with. */
export function fold(name: string): string {
  return name.length > maxFolded ? name : name.replace(/[_-]/g, "").toLowerCase();
}
