/** What a call is about and what it would do, before it does it. */
import type { Tool, ToolContext, ToolOutcome } from "../mcp/tool.ts";
import { isObject } from "../lib/json.ts";

/** Shown of an effect; the digest is of all of it. */
export const maxEffectCharacters = 50_000;
const maxPlaces = 100;

/** Parameters whose values are places; tools name them alike. */
const placeNames: ReadonlySet<string> = new Set(["path", "filename", "destination", "save_as", "table"]);
const listNames: ReadonlySet<string> = new Set(["files", "edits", "images"]);

/** Parameters without which a tool looks at everything. */
const scopeNames = ["path", "table"];

/** The paths and tables that an input names; everything (an empty text) where it leaves out where to look. */
export function placesOf({ input: schema }: Pick<Tool, "input">, input: unknown): readonly string[] {
  if (!isObject(input)) return [];
  const found = new Set<string>();
  const add = (value: unknown): void => {
    if (typeof value === "string" && found.size < maxPlaces) found.add(value);
  };
  for (const [name, value] of Object.entries(input)) {
    if (placeNames.has(name)) add(value);
    if (!listNames.has(name) || !Array.isArray(value)) continue;
    for (const each of value) {
      if (!isObject(each)) add(each);
      else for (const [inner, member] of Object.entries(each)) if (placeNames.has(inner)) add(member);
    }
  }
  const { shape } = schema as { readonly shape?: Readonly<Record<string, unknown>> };
  if (shape !== undefined && scopeNames.some((name) => Object.hasOwn(shape, name) && !input[name])) add("");
  return [...found];
}

/**
 * What the call would do, for the person who decides: the tool's own preview, or what it answers with `dry_run`. A
 * failure is the call's own: there is nothing to decide. `null` where the tool can only say its arguments.
 */
export async function effectOf(
  tool: Tool,
  input: never,
  context: ToolContext,
): Promise<{ readonly text: string } | { readonly failure: ToolOutcome } | null> {
  if (tool.preview !== undefined) {
    const preview = await tool.preview(input, context);
    return typeof preview === "string" ? { text: preview } : { failure: preview };
  }
  if (!isObject(input) || !Object.hasOwn(input, "dry_run")) return null;
  const outcome = await tool.run({ ...input as Record<string, unknown>, dry_run: true } as never, context);
  if (!outcome.ok) return { failure: outcome };
  return { text: outcome.content.flatMap((block) => block.type === "text" ? [block.text] : []).join("\n\n") };
}
