/** The modern era: 2026-07-28, without handshake or sessions; each request says all there is to know. */
import { parseClientCapabilities } from "./question.ts";
import {
  clientCapabilitiesKey,
  isLoggingLevel,
  logLevelKey,
  mcpErrorCode,
  metaOf,
  modernVersion,
  refusalCode,
  rpcErrorCode,
} from "./jsonrpc.ts";
import { defaultLegacyRevision, latestLegacyRevision } from "./legacy.ts";
import type { Revision, ServerInfo } from "./revision.ts";

/** The requests that exist in it. */
const modernMethods: ReadonlySet<string> = new Set([
  "server/discover",
  "tools/list",
  "tools/call",
  "resources/list",
  "resources/templates/list",
  "resources/read",
  "prompts/list",
  "prompts/get",
  "completion/complete",
  "subscriptions/listen",
  "tasks/get",
  "tasks/update",
  "tasks/cancel",
]);

/** The requests of all revisions: what else a caller names is no method of ours. */
export const methodNames: ReadonlySet<string> = new Set([...defaultLegacyRevision.methods, ...modernMethods]);

/** MCP 2026-07-28, basic/transports/streamable-http: server validation, and basic: `_meta`. */
function errorStatus(code: number): number {
  switch (code) {
    case rpcErrorCode.methodNotFound:
      return 404;
    case rpcErrorCode.parseError:
    case rpcErrorCode.invalidRequest:
    case mcpErrorCode.headerMismatch:
    case mcpErrorCode.missingClientCapability:
    case mcpErrorCode.unsupportedProtocolVersion:
      return 400;
    case rpcErrorCode.internalError:
      return 500;
    case refusalCode.unauthorized:
      return 401;
    default:
      return 200;
  }
}

/** The revision 2026-07-28 of a server; its results carry who that is. */
export function createModernRevision(serverInfo: ServerInfo): Revision {
  const encodeServerInfo = latestLegacyRevision.encodeServerInfo;
  const meta = JSON.stringify({ "io.modelcontextprotocol/serverInfo": encodeServerInfo(serverInfo) });
  const completeHead = `{"resultType":"complete","_meta":${meta}`;
  return {
    ...latestLegacyRevision,
    version: modernVersion,
    methods: modernMethods,
    resourceNotFoundCode: rpcErrorCode.invalidParams, // never -32002 again
    asksInResults: true,
    primesStreams: false,
    disconnectCancels: true,
    challengesWithGranted: false,
    checksHeaderParameters: true,
    errorStatus,
    encodeServerInfo,
    encodeResult(result, resultType) {
      const head = resultType === "complete" ? completeHead : `{"resultType":"${resultType}","_meta":${meta}`;
      return result === "{}" ? `${head}}` : `${head},${result.slice(1)}`;
    },
    withCacheHint: (result, { ttlMs, cacheScope }) => ({ ...result, ttlMs, cacheScope }),
    capabilitiesOf: ({ params }) => parseClientCapabilities(metaOf(params)?.[clientCapabilitiesKey]),
    logLevelOf({ params }) {
      const level = metaOf(params)?.[logLevelKey];
      return isLoggingLevel(level) ? level : null;
    },
  };
}
