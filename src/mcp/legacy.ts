/** The legacy era: the revisions with an `initialize` handshake, 2024-11-05 to 2025-11-25. */
import { noCapabilities } from "./question.ts";
import { mcpErrorCode, rpcErrorCode } from "./jsonrpc.ts";
import type { ContentBlock } from "./tool.ts";
import type { Revision } from "./revision.ts";

const methods = new Set([
  "initialize",
  "ping",
  "tools/list",
  "tools/call",
  "resources/list",
  "resources/templates/list",
  "resources/read",
  "resources/subscribe",
  "resources/unsubscribe",
  "prompts/list",
  "prompts/get",
  "completion/complete",
  "logging/setLevel",
]);

/** Errors travel at HTTP 200 in the legacy era, except what could not be read and what broke. */
function errorStatus(code: number): number {
  switch (code) {
    case rpcErrorCode.parseError:
      return 400;
    case rpcErrorCode.internalError:
      return 500;
    default:
      return 200;
  }
}

/** Claude Code cuts longer answers of a tool at 50,000 characters (code.claude.com/docs/en/mcp: raise the limit). */
const maxResultKey = "anthropic/maxResultSizeChars";

/** Links to resources came with 2025-06-18; before, their address is told as text. */
function encodeContentWithoutLinks(block: ContentBlock): unknown {
  return block.type === "resource_link" ? { type: "text", text: `${block.name}: ${block.uri}` } : block;
}

const revision20250326: Revision = {
  version: "2025-03-26",
  methods,
  acceptsBatches: true, // MCP 2025-03-26, basic/transports: removed again in 2025-06-18
  invalidInputIsToolError: false,
  resourceNotFoundCode: mcpErrorCode.resourceNotFound,
  asksInResults: false,
  primesStreams: false,
  disconnectCancels: false, // MCP 2025-03-26, basic/transports: a disconnect SHOULD NOT be taken for a cancellation
  challengesWithGranted: true, // clients ask for exactly what the challenge names, and would lose the others
  checksHeaderParameters: false,
  errorStatus,
  encodeTool: ({ tool, inputSchema }) => ({
    name: tool.name,
    description: tool.description,
    inputSchema,
    annotations: { title: tool.title, ...tool.annotations },
  }),
  encodeContent: encodeContentWithoutLinks,
  encodeServerInfo: ({ name, version }) => ({ name, version }),
  encodeResult: (result) => result,
  withCacheHint: (result) => result,
  capabilitiesOf: (_call, session) => session?.capabilities ?? noCapabilities,
  logLevelOf: (_call, session) => session?.logLevel ?? null,
};

/** Only its version string still turns up; it is served as its successor. */
const revision20241105: Revision = { ...revision20250326, version: "2024-11-05" };

const revision20250618: Revision = {
  ...revision20250326,
  version: "2025-06-18",
  acceptsBatches: false,
  encodeTool: ({ tool, inputSchema, outputSchema }) => ({
    name: tool.name,
    title: tool.title,
    description: tool.description,
    inputSchema,
    ...(outputSchema === undefined ? {} : { outputSchema }),
    annotations: { title: tool.title, ...tool.annotations },
    ...(tool.maxResultCharacters === undefined ? {} : { _meta: { [maxResultKey]: tool.maxResultCharacters } }),
  }),
  encodeContent: (block) => block,
  encodeServerInfo: ({ name, title, version }) => ({ name, title, version }),
};

const revision20251125: Revision = {
  ...revision20250618,
  version: "2025-11-25",
  encodeTool: (registered) => ({
    ...revision20250618.encodeTool(registered),
    ...(registered.tool.icons === undefined ? {} : { icons: registered.tool.icons }),
  }),
  encodeServerInfo: ({ icons, ...info }) => ({
    ...revision20250618.encodeServerInfo(info),
    ...(icons === undefined ? {} : { icons }),
  }),
  invalidInputIsToolError: true, // SEP-1303: the model can correct itself
  primesStreams: true,
};

/** What a request without `MCP-Protocol-Version` speaks (MCP 2025-06-18, basic/transports: protocol version header). */
export const defaultLegacyRevision: Revision = revision20250326;

/** What `initialize` answers to a version that it does not know. */
export const latestLegacyRevision: Revision = revision20251125;

/** Every legacy revision by its version string. */
export const legacyRevisions: ReadonlyMap<string, Revision> = new Map(
  [revision20241105, revision20250326, revision20250618, revision20251125].map((each) => [each.version, each]),
);
