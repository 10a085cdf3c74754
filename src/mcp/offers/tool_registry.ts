/** The tools on offer, with their schemas as clients see them. */
import { createRegistry, type Registry } from "./registry.ts";
import { findHeaderParameters, type HeaderParameter } from "./header_parameters.ts";
import type { Tool } from "../tool.ts";
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

/** Makes a registry with some tools in it. Throws for a tool that clients could not use. */
export function createToolRegistry(tools: Iterable<Tool>): ToolRegistry {
  return createRegistry((tool) => tool.name, registerTool, tools);
}

function registerTool(tool: Tool): RegisteredTool {
  if (!namePattern.test(tool.name)) throw new TypeError(`Tool name "${tool.name}" is malformed`);
  const wholeSchema = tool.inputSchema ?? toObjectSchema(tool.input, "input");
  return {
    tool,
    wholeSchema,
    inputSchema: tool.inputSchema ?? toListedSchema(wholeSchema),
    outputSchema: tool.output === undefined ? undefined : toObjectSchema(tool.output, "output"),
    parameters: new Set(Object.keys(wholeSchema["properties"] ?? {})),
    headerParameters: findHeaderParameters(wholeSchema),
  };
}
