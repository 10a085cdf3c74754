/** A tool's outcome as the text of a `CallToolResult`. */
import type { Profile } from "../sessions/profile.ts";
import type { Revision } from "../revisions/revision.ts";
import type { RegisteredTool } from "../offers/tool_registry.ts";
import type { ContentBlock, ToolOutcome } from "../tool.ts";

/** The failure of a tool that broke its promise to match its output schema, or that threw. */
export function internalToolFailure(name: string): ToolOutcome {
  return { ok: false, code: "internal_error", message: `Internal error in tool ${name}` };
}

/** Whether an outcome keeps what the tool's output schema promises. A failure without structured content always does. */
export function conformsToOutput({ tool }: RegisteredTool, outcome: ToolOutcome): boolean {
  const structured = outcome.ok ? outcome.structuredContent : outcome.partial?.structuredContent;
  if (tool.output === undefined || (!outcome.ok && structured === undefined)) return true;
  return tool.output.safeParse(structured).success;
}

/**
 * The JSON text of the result. `isError` is always there, `content` is never empty, and `structuredContent` is `{}`
 * where no schema describes it. An error that has a schema but no part of an answer leaves it out, because clients would
 * check it against the schema.
 */
export function toToolResultText(
  { outputSchema }: RegisteredTool,
  outcome: ToolOutcome,
  revision: Revision,
  profile: Profile,
): string {
  if (!outcome.ok) {
    const { message, partial } = outcome;
    const content = encodeBlocks([{ type: "text", text: message }, ...partial?.content ?? []], revision, profile);
    const structured = partial?.structuredContent ?? (outputSchema === undefined ? {} : undefined);
    return structured === undefined
      ? `{"content":${content},"isError":true}`
      : `{"content":${content},"structuredContent":${JSON.stringify(structured)},"isError":true}`;
  }
  const structured = outcome.structuredContent === undefined ? "{}" : JSON.stringify(outcome.structuredContent);
  const content = outcome.content.length > 0
    ? encodeBlocks(outcome.content, revision, profile)
    : JSON.stringify([{ type: "text", text: structured }]); // MCP 2025-06-18, server/tools: structured content
  return `{"content":${content},"structuredContent":${structured},"isError":false}`;
}

function encodeBlocks(blocks: readonly ContentBlock[], revision: Revision, profile: Profile): string {
  return JSON.stringify(blocks.map((block) => encodeBlock(block, revision, profile)));
}

/** A content block as this revision and this client's habits have it. */
export function encodeBlock(block: ContentBlock, revision: Revision, profile: Profile): unknown {
  if (block.type === "text") return block;
  if (block.type === "image" && profile.addsMediaType) return { ...block, media_type: block.mimeType };
  return revision.encodeContent(block);
}
