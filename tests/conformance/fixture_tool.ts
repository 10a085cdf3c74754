/** How the fixtures are written: as any tool of the product, but in one line. */
import { z } from "zod";
import { type ContentBlock, defineTool, type Tool, type ToolContext, type ToolOutcome } from "../../src/mcp/tool.ts";

/** A tool without parameters. */
export function fixture(
  name: string,
  run: (context: ToolContext) => ToolOutcome | Promise<ToolOutcome>,
): Tool {
  return fixtureWith(name, z.object({}), (_input, context) => run(context));
}

/** A tool with parameters. */
export function fixtureWith<Input extends z.ZodType>(
  name: string,
  input: Input,
  run: (input: z.output<Input>, context: ToolContext) => ToolOutcome | Promise<ToolOutcome>,
): Tool {
  const title = name.replaceAll("_", " ");
  return defineTool({
    name,
    title,
    description: `Conformance fixture: ${title}.`,
    scopes: [],
    annotations: { readOnlyHint: true },
    input,
    run,
  });
}

/** A success. */
export function content(...blocks: ContentBlock[]): ToolOutcome {
  return { ok: true, content: blocks };
}

/** A success that says something. */
export function text(words: string): ToolOutcome {
  return content({ type: "text", text: words });
}
