/** What a call would do, before it does it. */
import type { Tool, ToolContext, ToolOutcome } from "../mcp/tool.ts";
import { isObject } from "../lib/json.ts";

/** What a dry run says of itself at its end. */
const ownWords = /\n\(dry run: [^()\n]*\)$/;

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
  const text = outcome.content.flatMap((block) => block.type === "text" ? [block.text] : []).join("\n\n");
  return { text: text.replace(ownWords, "") };
}
