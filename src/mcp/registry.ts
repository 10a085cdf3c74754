/** A list of named things on offer, which may come and go while the server runs. */
import {
  findHeaderParameters,
  type HeaderParameter,
  type ObjectSchema,
  toListedSchema,
  toObjectSchema,
} from "./tool_schema.ts";
import type { Tool } from "./tool.ts";

/** The things by name, in the order in which they were added. */
export interface Registry<Given, Entry> {
  get(name: string): Entry | undefined;
  all(): readonly Entry[];
  /** Grows with every change: whatever was made from the list may be kept for as long as it stays the same. */
  readonly version: number;
  /** Adds one. Throws when its name is taken, or it is of no use to clients. */
  add(given: Given): void;
  /** Removes one and says whether there was one. Calls that run go on. */
  remove(name: string): boolean;
  /** Calls `listener` after each change, until the returned function is called. */
  onChange(listener: () => void): () => void;
}

/** Makes a registry; `prepare` turns what is added into what is kept. */
export function createRegistry<Given, Entry>(
  nameOf: (given: Given) => string,
  prepare: (given: Given) => Entry,
  initial: Iterable<Given>,
): Registry<Given, Entry> {
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
    const name = nameOf(given);
    if (byName.has(name)) throw new TypeError(`"${name}" is already registered`);
    byName.set(name, prepare(given));
  };
  for (const given of initial) register(given);
  changed();

  return {
    get: (name) => byName.get(name),
    all: () => ordered,
    get version() {
      return version;
    },
    add(given) {
      register(given);
      changed();
    },
    remove(name) {
      const removed = byName.delete(name);
      if (removed) changed();
      return removed;
    },
    onChange(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}

// The tools on offer, with their schemas as clients see them.

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
 * Makes a registry with some tools in it. Throws for a tool that clients could not use. The schemas of the server's `own`
 * tools, which its tests check, are made at their first use: to make all of them takes a tenth of a start.
 */
export function createToolRegistry(tools: Iterable<Tool>, own: ReadonlySet<Tool> = new Set()): ToolRegistry {
  return createRegistry((tool) => tool.name, (tool) => own.has(tool) ? registerTool(tool) : checked(tool), tools);
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
