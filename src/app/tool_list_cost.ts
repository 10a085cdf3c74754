/** What a client's list of tools costs its model, for the console: near enough to see that one more scope matters. */
import { createToolRegistry } from "../mcp/tool_registry.ts";
import type { Tool } from "../mcp/tool.ts";
import { effectiveScopes } from "../lib/scopes.ts";

/** Characters of such a list to a token of today's models, measured by `deno task bench:tokens`. */
const charactersPerToken = 4.3;

/** Estimates the tokens of `tools/list` for a token with these scopes. The schemas are made at the first use. */
export function createToolListCost(tools: readonly Tool[]): (scopes: readonly string[]) => number {
  let entries: readonly { readonly scopes: readonly string[]; readonly characters: number }[] | null = null;
  return (scopes) => {
    entries ??= createToolRegistry(tools).all().flatMap(({ tool, inputSchema }) => {
      if (tool.unlisted === true) return [];
      const { name, description } = tool;
      return [{ scopes: tool.scopes, characters: JSON.stringify({ name, description, inputSchema }).length }];
    });
    const held = effectiveScopes(scopes);
    const listed = entries.filter((entry) => entry.scopes.every((scope) => held.has(scope)));
    return Math.round(listed.reduce((sum, { characters }) => sum + characters, 0) / charactersPerToken);
  };
}
