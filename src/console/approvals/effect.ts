/** What a call would do, before it does it. */
import type { Tool, ToolContext, ToolOutcome } from "../../mcp/tool.ts";
import { isObject } from "../../lib/json.ts";

/** What a dry run says of itself at its end. */
const ownWords = /\n\(dry run: [^()\n]*\)$/;

interface Effect {
  /** For the person who decides. */
  readonly text: string;
  readonly madeFrom?: string | undefined;
}

/**
 * What the call would do, a failure too: the tool's own preview, or what it answers with `dry_run`; else its arguments.
 * The caller learns nothing of it.
 */
export async function effectOf(tool: Tool, input: never, context: ToolContext): Promise<Effect> {
  const hasDryRun = isObject(input) && Object.hasOwn(input, "dry_run");
  if (tool.preview === undefined && !hasDryRun) return { text: JSON.stringify(input, null, 2) };
  const quiet = contextWith(context, quietly);
  const outcome = tool.preview === undefined
    ? await tool.run({ ...input as Record<string, unknown>, dry_run: true } as never, quiet)
    : await tool.preview(input, quiet);
  if (typeof outcome === "string") return { text: outcome };
  const texts = (content: Extract<ToolOutcome, { ok: true }>["content"]) =>
    content.flatMap((block) => block.type === "text" ? [block.text] : []);
  if (outcome.ok) {
    return { text: texts(outcome.content).join("\n\n").replace(ownWords, ""), madeFrom: outcome.madeFrom };
  }
  return { text: ["This call would fail:", outcome.message, ...texts(outcome.partial?.content ?? [])].join("\n") };
}

/** Of a dry run the caller hears nothing, and is asked nothing. */
const quietly: Partial<ToolContext> = {
  progress() {},
  log() {},
  noteChange() {},
  release() {},
  handOut: () => Promise.resolve(),
  supports: () => false,
};

/** The context with other members in place of its own. */
export function contextWith(context: ToolContext, members: Partial<ToolContext>): ToolContext {
  return new Proxy(context, {
    get(target, name) {
      if (Object.hasOwn(members, name)) return Reflect.get(members, name);
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}
