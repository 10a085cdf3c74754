/** A tool's outcome as the text of a `CallToolResult`. */
import type { Profile } from "./profile.ts";
import type { Revision } from "./revision.ts";
import type { Call } from "./call.ts";
import type { RegisteredTool } from "./registry.ts";
import type { ContentBlock, ToolOutcome } from "./tool.ts";

/** The failure of a tool that broke its promise to match its output schema, or that threw. */
export function internalToolFailure(name: string): ToolOutcome {
  return { ok: false, code: "internal_error", message: `Internal error in tool ${name}` };
}

/** Whether an outcome keeps what the tool's output schema promises. A failure without structured content always does. */
export function conformsToOutput({ tool }: RegisteredTool, outcome: ToolOutcome): boolean {
  if (outcome.ok && outcome.encoded !== undefined && outcome.encoded.size > 0) return true; // as it was the last time
  const structured = outcome.ok ? outcome.structuredContent : outcome.partial?.structuredContent;
  if (tool.output === undefined || (!outcome.ok && structured === undefined)) return true;
  return tool.output.safeParse(structured).success;
}

/** What the encoding of a result depends on. */
type ResultReader = Pick<Call, "revision" | "exchange" | "resultForm">;

/** The JSON text of the result, made once where the outcome keeps it. */
export function toToolResultText(registered: RegisteredTool, outcome: ToolOutcome, reader: ResultReader): string {
  const encoded = outcome.ok ? outcome.encoded : undefined;
  if (encoded === undefined) return encodeResult(registered, outcome, reader);
  const { revision, exchange: { profile }, resultForm } = reader;
  const kind = `${revision.version} ${profile.addsMediaType} ${resultForm}`;
  const known = encoded.get(kind);
  if (known !== undefined) return known;
  const text = encodeResult(registered, outcome, reader);
  encoded.set(kind, text);
  return text;
}

/**
 * `isError` is always there, `content` is never empty. An error of a tool with a schema but
 * no part of an answer has no `structuredContent`, because clients would check it against the schema.
 */
function encodeResult(
  { outputSchema }: RegisteredTool,
  outcome: ToolOutcome,
  { revision, exchange: { profile }, resultForm }: ResultReader,
): string {
  const answer = outcome.ok ? outcome : outcome.partial;
  const own = answer?.structuredContent;
  const blocks: readonly ContentBlock[] = outcome.ok
    ? outcome.content
    : [{ type: "text", text: outcome.message }, ...answer?.content ?? []];
  const long = longTextOf(blocks);
  const content = blocks.length > 0
    ? encodeBlocks(blocks, long, revision, profile)
    : JSON.stringify([{ type: "text", text: JSON.stringify(own ?? {}) }]); // MCP 2025-06-18, server/tools
  const isError = `"isError":${!outcome.ok}`;
  const lacksSchema = outcome.ok || outputSchema === undefined;
  if (resultForm === "text" || (own === undefined && !lacksSchema)) return `{"content":${content},${isError}}`;
  const structured = own ?? (resultForm === "structured_or_empty" ? {} : { text: blocks.map(wordsOf).join("\n") });
  return `{"content":${content},"structuredContent":${encodeMembers(structured, long)},${isError}}`;
}

/** A block for callers that read nothing but structured content. */
function wordsOf(block: ContentBlock): string {
  switch (block.type) {
    case "text":
      return block.text;
    case "resource":
      return block.resource.text ?? `(${block.resource.uri})`;
    case "resource_link":
      return `${block.name}: ${block.uri}`;
    case "image":
    case "audio":
      return `(${block.type}, ${block.mimeType})`;
  }
}

/** A text that is quoted once for JSON, since it is often both in a block and in the structured content. */
interface LongText {
  readonly text: string;
  readonly json: string;
}

/** Below, a second look at all members costs as much as quoting a text twice. */
const longCharacters = 2_048;

function longTextOf(blocks: readonly ContentBlock[]): LongText | null {
  for (const block of blocks) {
    if (block.type !== "text" || block.text.length < longCharacters) continue;
    return { text: block.text, json: JSON.stringify(block.text) };
  }
  return null;
}

function encodeBlocks(
  blocks: readonly ContentBlock[],
  long: LongText | null,
  revision: Revision,
  profile: Profile,
): string {
  if (long === null) return JSON.stringify(blocks.map((block) => encodeBlock(block, revision, profile)));
  const texts = blocks.map((block) =>
    block.type === "text" && block.text === long.text
      ? `{"type":"text","text":${long.json}}`
      : JSON.stringify(encodeBlock(block, revision, profile))
  );
  return `[${texts.join(",")}]`;
}

function encodeMembers(members: Readonly<Record<string, unknown>>, long: LongText | null): string {
  if (long === null) return JSON.stringify(members);
  const texts = Object.entries(members).filter(([, value]) => value !== undefined).map(([name, value]) =>
    `${JSON.stringify(name)}:${value === long.text ? long.json : JSON.stringify(value)}`
  );
  return `{${texts.join(",")}}`;
}

/** A content block as this revision and this client's habits have it. */
export function encodeBlock(block: ContentBlock, revision: Revision, profile: Profile): unknown {
  if (block.type === "text") return block;
  if (block.type === "image" && profile.addsMediaType) return { ...block, media_type: block.mimeType };
  return revision.encodeContent(block);
}
