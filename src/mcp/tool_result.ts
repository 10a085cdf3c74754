/** A tool's outcome as the text of a `CallToolResult`. */
import type { Profile } from "./profile.ts";
import type { Revision } from "./revisions/revision.ts";
import type { RegisteredTool } from "./tool_registry.ts";
import type { ContentBlock, ToolOutcome } from "./tool.ts";

/** The failure of a tool that broke its promise to match its output schema, or that threw. */
export function internalToolFailure(name: string): ToolOutcome {
  return { ok: false, code: "internal_error", message: `Internal error in tool ${name}` };
}

/** Whether a success keeps what the tool's output schema promises. A failure always does. */
export function conformsToOutput({ tool }: RegisteredTool, outcome: ToolOutcome): boolean {
  return !outcome.ok || tool.output === undefined || tool.output.safeParse(outcome.structuredContent).success;
}

/**
 * The JSON text of the result. `isError` is always there, `content` is never empty, and `structuredContent` is `{}`
 * where no schema speaks of it and left out of errors where one does: a client would check the error against it.
 */
export function toToolResultText(
  { outputSchema }: RegisteredTool,
  outcome: ToolOutcome,
  revision: Revision,
  profile: Profile,
): string {
  if (!outcome.ok) {
    const content = JSON.stringify([{ type: "text", text: outcome.message }]);
    return outputSchema === undefined
      ? `{"content":${content},"structuredContent":{},"isError":true}`
      : `{"content":${content},"isError":true}`;
  }
  const structured = outcome.structuredContent === undefined ? "{}" : JSON.stringify(outcome.structuredContent);
  const content = outcome.content.length > 0
    ? JSON.stringify(outcome.content.map((block) => encodeBlock(block, revision, profile)))
    : JSON.stringify([{ type: "text", text: structured }]); // MCP 2025-06-18, server/tools: structured content
  return `{"content":${content},"structuredContent":${structured},"isError":false}`;
}

/** A content block as this revision and this client's habits have it. */
export function encodeBlock(block: ContentBlock, revision: Revision, profile: Profile): unknown {
  if (block.type === "text") return block;
  if (block.type === "image" && profile.addsMediaType) return { ...block, media_type: block.mimeType };
  return revision.encodeContent(block);
}
