/** The tools on offer, with their schemas as clients see them. */
import { createRegistry, type Registry } from "./registry.ts";
import { findHeaderParameters, type HeaderParameter } from "./header_parameters.ts";
import type { Tool } from "./tool.ts";
import { type ObjectSchema, toListedSchema, toObjectSchema } from "./tool_schema.ts";

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
