/** The tools on offer. They may come and go while the server runs; lists made from them are renewed when they do. */
import type { Tool } from "./tool.ts";
import { type ObjectSchema, toObjectSchema } from "./tool_schema.ts";

/** A tool with its schemas as clients see them. */
export interface RegisteredTool {
  readonly tool: Tool;
  readonly inputSchema: ObjectSchema;
  readonly outputSchema: ObjectSchema | undefined;
}

/** The tools by name, in the order in which they were added. */
export interface ToolRegistry {
  get(name: string): RegisteredTool | undefined;
  all(): readonly RegisteredTool[];
  /** Grows with every change: whatever was made from the list may be kept for as long as it stays the same. */
  readonly version: number;
  /** Adds a tool. Throws when its name is taken or malformed, or its schemas are of no use to clients. */
  add(tool: Tool): void;
  /** Removes a tool and says whether there was one. Calls that run go on. */
  remove(name: string): boolean;
  /** Calls `listener` after each change, until the returned function is called. */
  onChange(listener: () => void): () => void;
}

/** MCP 2025-11-25, server/tools: tool names. */
const namePattern = /^[A-Za-z0-9_.-]{1,64}$/;

/** Makes a registry with some tools in it. */
export function createToolRegistry(tools: Iterable<Tool>): ToolRegistry {
  const byName = new Map<string, RegisteredTool>();
  const listeners = new Set<() => void>();
  let version = 0;
  let ordered: readonly RegisteredTool[] = [];

  const changed = (): void => {
    version += 1;
    ordered = [...byName.values()];
    for (const listener of listeners) listener();
  };
  const register = (tool: Tool): void => {
    if (!namePattern.test(tool.name)) throw new TypeError(`Tool name "${tool.name}" is malformed`);
    if (byName.has(tool.name)) throw new TypeError(`Tool "${tool.name}" is already registered`);
    byName.set(tool.name, {
      tool,
      inputSchema: tool.inputSchema ?? toObjectSchema(tool.input, "input"),
      outputSchema: tool.output === undefined ? undefined : toObjectSchema(tool.output, "output"),
    });
  };
  for (const tool of tools) register(tool);
  changed();

  return {
    get: (name) => byName.get(name),
    all: () => ordered,
    get version() {
      return version;
    },
    add(tool) {
      register(tool);
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
