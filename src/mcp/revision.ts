/**
 * What answers differ in: the revision of the protocol that a message belongs to, and the habits of its client.
 * Everything else in `mcp/` is the same for all of them.
 */
import { isObject } from "../lib/json.ts";
import { type ClientCapabilities, noCapabilities, parseClientCapabilities } from "./question.ts";
import type { ContentBlock, Icon } from "./tool.ts";
import { isLoggingLevel, mcpErrorCode, metaOf, modernVersion, refusalCode, rpcErrorCode } from "./jsonrpc.ts";
import type { LoggingLevel, RpcCall } from "./jsonrpc.ts";
import type { RegisteredTool } from "./registry.ts";
import { failure, type Result, success } from "../lib/result.ts";
import { boundedMap } from "../lib/bounded_map.ts";
import type { Principal } from "../lib/principal.ts";

/** Who the server is (MCP schema `Implementation`). */
export interface ServerInfo {
  readonly name: string;
  readonly title: string;
  readonly version: string;
  readonly icons?: readonly Icon[];
}

/** What a result is, where results say so (2026-07-28, basic). */
export type ResultType = "complete" | "input_required" | "task";

/** How long, and for whom, a client may keep a result. */
export interface CacheHint {
  readonly ttlMs: number;
  /** `public` results are the same for every caller. */
  readonly cacheScope: "public" | "private";
}

/** A legacy session: what its client said once for all of it. */
export interface Session {
  /** Short and unique; the id that the client holds is this, sealed. */
  readonly key: string;
  readonly revision: Revision;
  readonly capabilities: ClientCapabilities;
  readonly logLevel: LoggingLevel | null;
  readonly subscriptions: readonly string[];
  readonly expiresAt: number;
}

/** One revision of the protocol, as data and small encoders. */
export interface Revision {
  readonly version: string;
  /** The requests that exist in it. */
  readonly methods: ReadonlySet<string>;
  /** Whether a body may be an array of messages. */
  readonly acceptsBatches: boolean;
  /** Whether arguments that do not fit a tool's schema are a tool's failure, which the model sees, or a JSON-RPC error. */
  readonly invalidInputIsToolError: boolean;
  /** The code for a resource that does not exist. */
  readonly resourceNotFoundCode: number;
  /** Whether questions to the client travel in results (MRTR) rather than as requests of the server's own. */
  readonly asksInResults: boolean;
  /** Whether a stream may begin with an event that has an id and no data (SEP-1699): older clients stumble over it. */
  readonly primesStreams: boolean;
  /** Whether a client that is gone has cancelled its call (MCP 2026-07-28, basic/patterns/cancellation). */
  readonly disconnectCancels: boolean;
  /** Whether a challenge for more scopes names those of the token too. If not, clients add them (SEP-2350). */
  readonly challengesWithGranted: boolean;
  /** Whether parameters of a tool are repeated in headers that must match (x-mcp-header). */
  readonly checksHeaderParameters: boolean;
  /** The HTTP status of a JSON-RPC error response with this code. */
  errorStatus(code: number): number;
  /** A tool as `tools/list` shows it. */
  encodeTool(registered: RegisteredTool): Readonly<Record<string, unknown>>;
  /** A content block, as near as the revision comes to it. */
  encodeContent(block: ContentBlock): unknown;
  /** The server as the opening answer shows it. */
  encodeServerInfo(info: ServerInfo): Readonly<Record<string, unknown>>;
  /** A result's JSON text with what every result of the revision carries; `meta`: members of `_meta`, or nothing. */
  encodeResult(result: string, resultType: ResultType, meta: string): string;
  /** A list's or a resource's fields with what the revision says about keeping them. */
  withCacheHint<T extends object>(result: T, hint: CacheHint): T | (T & CacheHint);
  /** What the client declared that it can do. */
  capabilitiesOf(call: RpcCall, session: Session | null): ClientCapabilities;
  /** From which level on the client wants to hear log messages of this call; `null` for none. */
  logLevelOf(call: RpcCall, session: Session | null): LoggingLevel | null;
}

// The legacy era: the revisions with an `initialize` handshake, 2024-11-05 to 2025-11-25.

/** The requests of both eras. */
const sharedMethods = [
  "tools/list",
  "tools/call",
  "resources/list",
  "resources/templates/list",
  "resources/read",
  "prompts/list",
  "prompts/get",
  "completion/complete",
];

const methods: ReadonlySet<string> = new Set([
  ...sharedMethods,
  "initialize",
  "ping",
  "resources/subscribe",
  "resources/unsubscribe",
  "logging/setLevel",
]);

/** Errors travel at HTTP 200 in the legacy era, except what could not be read and what broke. */
const errorStatuses: ReadonlyMap<number, number> = new Map([
  [rpcErrorCode.parseError, 400],
  [rpcErrorCode.internalError, 500],
]);

/** Claude Code cuts longer answers of a tool at 50,000 characters (code.claude.com/docs/en/mcp: raise the limit). */
const maxResultKey = "anthropic/maxResultSizeChars";

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
  errorStatus: (code) => errorStatuses.get(code) ?? 200,
  encodeTool: ({ tool, inputSchema }) => ({
    name: tool.name,
    description: tool.description,
    inputSchema,
    annotations: { title: tool.title, ...tool.annotations },
  }),
  // Links to resources came with 2025-06-18; earlier revisions get the address as text.
  encodeContent: (block) =>
    block.type === "resource_link" ? { type: "text", text: `${block.name}: ${block.uri}` } : block,
  encodeServerInfo: ({ name, version }) => ({ name, version }),
  encodeResult: (result, _resultType, meta) => meta === "" ? result : withHead(`{"_meta":{${meta}}`, result),
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
    outputSchema, // undefined members are not written
    annotations: { title: tool.title, ...tool.annotations },
    ...(tool.maxResultCharacters === undefined ? {} : { _meta: { [maxResultKey]: tool.maxResultCharacters } }),
  }),
  encodeContent: (block) => block,
  encodeServerInfo: ({ name, title, version }) => ({ name, title, version }),
};

const revision20251125: Revision = {
  ...revision20250618,
  version: "2025-11-25",
  encodeServerInfo: ({ name, title, version, icons }) => ({ name, title, version, icons }),
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

// The modern era: 2026-07-28, without handshake or sessions; each request says all there is to know.

/** The requests that exist in it. */
const modernMethods: ReadonlySet<string> = new Set([
  ...sharedMethods,
  "server/discover",
  "subscriptions/listen",
  "tasks/get",
  "tasks/update",
  "tasks/cancel",
]);

/** The requests of all revisions: what else a caller names is no method of ours. */
export const methodNames: ReadonlySet<string> = new Set([...defaultLegacyRevision.methods, ...modernMethods]);

/** MCP 2026-07-28, basic/transports/streamable-http: server validation, and basic: `_meta`. */
const modernErrorStatuses: ReadonlyMap<number, number> = new Map([
  ...errorStatuses,
  [rpcErrorCode.methodNotFound, 404],
  [rpcErrorCode.invalidRequest, 400],
  [mcpErrorCode.headerMismatch, 400],
  [mcpErrorCode.missingClientCapability, 400],
  [mcpErrorCode.unsupportedProtocolVersion, 400],
  [refusalCode.unauthorized, 401],
]);

/** The JSON text of an object with further members at its head. */
function withHead(head: string, result: string): string {
  return result === "{}" ? `${head}}` : `${head},${result.slice(1)}`;
}

/** The revision 2026-07-28 of a server; its results carry who that is. */
export function createModernRevision(serverInfo: ServerInfo): Revision {
  const info = latestLegacyRevision.encodeServerInfo(serverInfo);
  const serverMeta = `"io.modelcontextprotocol/serverInfo":${JSON.stringify(info)}`;
  const completeHead = `{"resultType":"complete","_meta":{${serverMeta}}`;
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
    errorStatus: (code) => modernErrorStatuses.get(code) ?? 200,
    encodeResult(result, resultType, meta) {
      if (resultType === "complete" && meta === "") return withHead(completeHead, result);
      return withHead(`{"resultType":"${resultType}","_meta":{${serverMeta}${meta && `,${meta}`}}`, result);
    },
    withCacheHint: (result, { ttlMs, cacheScope }) => ({ ...result, ttlMs, cacheScope }),
    capabilitiesOf: ({ params }) => parseClientCapabilities(metaOf(params)?.[clientCapabilitiesKey]),
    logLevelOf({ params }) {
      const level = metaOf(params)?.[logLevelKey];
      return isLoggingLevel(level) ? level : null;
    },
  };
}

// Which era, and which revision, a message belongs to. The body decides; headers only cross-check it (MCP 2026-07-28,
// basic/versioning: a dual-era server). A mismatch of header and body outranks a version that is not supported.

/** Why a message belongs to no revision: all of these are HTTP 400. */
export type Unclassified = ReturnType<typeof refuse>["error"];

/** `null` leaves it to the session. */
type Classified = Result<Revision | null, Unclassified>;

/** The headers of a request, where its transport has any; names are in lower case. */
interface RequestHeaders {
  readonly hasHeaders: boolean;
  header(name: string): string | null;
}

/** Every version that can be asked for. */
const supportedVersions: readonly string[] = [modernVersion, ...[...legacyRevisions.keys()].reverse()];

/**
 * The revision of a single message, checked against its envelope and headers. A legacy message is not: where the
 * header is absent its session may still tell the version.
 */
export function classifyMessage(message: unknown, headers: RequestHeaders, modern: Revision): Classified {
  const version = headers.header("mcp-protocol-version");
  if (!isObject(message) || typeof message["method"] !== "string") {
    return version === modernVersion ? success(modern) : legacyRevisionOf(version);
  }
  const call = message as unknown as RpcCall;
  if (claimsModern(message)) {
    const isBrokenHandshake = call.method === "initialize" && (envelopeFault(call.params) !== null ||
      metaOf(call.params)?.[protocolVersionKey] !== modernVersion);
    if (!isBrokenHandshake) return admitModern(call, version, headers, modern);
  }
  if (call.method === "initialize") {
    if (version !== modernVersion) return success(latestLegacyRevision); // it negotiates in its body
    return refuse(mcpErrorCode.headerMismatch, `initialize does not exist in ${modernVersion}`);
  }
  if (version !== modernVersion) return legacyRevisionOf(version);
  if (call.id === undefined) return success(modern); // 2026-07-28 asks no envelope of notifications
  return refuse(rpcErrorCode.invalidParams, `Invalid params: ${envelopeFault(call.params)}`);
}

/** The legacy revision of a batch. The modern era has none: it is malformed there, whatever it holds. */
export function classifyBatch(batch: readonly unknown[], version: string | null): Classified {
  if (version === modernVersion || batch.some(claimsModern)) {
    return refuse(rpcErrorCode.invalidRequest, "Modern requests are not batched: send each message separately");
  }
  return legacyRevisionOf(version);
}

/** The revision that the header names for a legacy message; `null` when there is none. */
function legacyRevisionOf(version: string | null): Classified {
  if (version === null) return success(null);
  const revision = legacyRevisions.get(version);
  return revision === undefined ? refuseVersion(version, supportedVersions) : success(revision);
}

function admitModern(call: RpcCall, version: string | null, headers: RequestHeaders, modern: Revision): Classified {
  const isRequest = call.id !== undefined;
  const claimed = metaOf(call.params)?.[protocolVersionKey];
  const notText = typeof claimed === "string" ? null : "the version must be a string";
  const fault = isRequest ? envelopeFault(call.params) : notText;
  if (fault !== null) return refuse(rpcErrorCode.invalidParams, `Invalid params: ${fault}`);
  if (headers.hasHeaders && version !== claimed && (isRequest || version !== null)) {
    return version === null
      ? mismatch("the MCP-Protocol-Version header is required")
      : mismatch("the MCP-Protocol-Version header does not match the body's protocol version");
  }
  if (claimed !== modernVersion) return refuseVersion(String(claimed), [modernVersion]);
  const headerFault = isRequest && headers.hasHeaders ? standardHeaderFault(call, headers) : null;
  return headerFault === null ? success(modern) : mismatch(headerFault);
}

function mismatch(fault: string) {
  return refuse(mcpErrorCode.headerMismatch, `Header mismatch: ${fault}`);
}

function refuseVersion(requested: string, supported: readonly string[]) {
  const data = { supported, requested: requested.slice(0, 40) };
  return refuse(mcpErrorCode.unsupportedProtocolVersion, "Unsupported protocol version", data);
}

function refuse(code: number, message: string, data?: unknown) {
  return failure({ code, message, data });
}

// The envelope of a modern message: the keys of `_meta` that say what a handshake said before (2026-07-28, basic).

/** The key of the version: a message that has it claims to be modern. */
const protocolVersionKey = "io.modelcontextprotocol/protocolVersion";
const clientCapabilitiesKey = "io.modelcontextprotocol/clientCapabilities";
/** The key of the least log level that the client wants to hear. */
const logLevelKey = "io.modelcontextprotocol/logLevel";
const clientInfoKey = "io.modelcontextprotocol/clientInfo";

/** Whether a message claims to be modern, well-formed or not. */
function claimsModern(message: unknown): boolean {
  const meta = isObject(message) ? metaOf(message["params"]) : undefined;
  return meta !== undefined && protocolVersionKey in meta;
}

/** What is wrong with a request's envelope, in words; `null` when it is complete and well-formed. */
function envelopeFault(params: unknown): string | null {
  const meta = metaOf(params);
  if (meta === undefined) return "params._meta is required";
  const version = meta[protocolVersionKey];
  if (version === undefined) return `params._meta["${protocolVersionKey}"] is required`;
  if (typeof version !== "string") return `params._meta["${protocolVersionKey}"] must be a string`;
  const capabilities = meta[clientCapabilitiesKey];
  if (capabilities === undefined) return `params._meta["${clientCapabilitiesKey}"] is required`;
  if (!isObject(capabilities)) return `params._meta["${clientCapabilitiesKey}"] must be an object`;
  const info = meta[clientInfoKey];
  if (info !== undefined && !isImplementation(info)) {
    return `params._meta["${clientInfoKey}"] must have a name and a version`;
  }
  const level = meta[logLevelKey];
  if (level !== undefined && !isLoggingLevel(level)) return `params._meta["${logLevelKey}"] must be a log level`;
  const token = meta["progressToken"];
  if (token !== undefined && typeof token !== "string" && typeof token !== "number") {
    return "params._meta.progressToken must be a string or a number";
  }
  return null;
}

function isImplementation(info: unknown): boolean {
  return isObject(info) && typeof info["name"] === "string" && typeof info["version"] === "string";
}

// The headers that repeat parts of a modern request's body, so that gateways may route by them (SEP-2243).

/** The parameter that `Mcp-Name` repeats, by method. */
const nameSources: ReadonlyMap<string, string> = new Map([
  ["tools/call", "name"],
  ["prompts/get", "name"],
  ["resources/read", "uri"],
  ["tasks/get", "taskId"], // SEP-2663: routing headers
  ["tasks/update", "taskId"],
  ["tasks/cancel", "taskId"],
]);

/** How headers and body disagree, in words; `null` when they agree. Every request has the headers. */
function standardHeaderFault(request: RpcCall, headers: RequestHeaders): string | null {
  const { method, params } = request;
  const methodHeader = headers.header("mcp-method");
  if (methodHeader === null) return "the Mcp-Method header is required";
  if (methodHeader !== method) return "the Mcp-Method header does not match the body's method";
  const source = nameSources.get(method);
  if (source === undefined) return null;
  const named = isObject(params) ? params[source] : undefined;
  const nameHeader = headers.header("mcp-name");
  if (nameHeader === null) return typeof named === "string" ? "the Mcp-Name header is required" : null;
  const decoded = decodeHeaderValue(nameHeader);
  if (decoded === null) return "the Mcp-Name header is not valid base64 of UTF-8";
  return named === undefined || decoded === named
    ? null
    : `the Mcp-Name header does not match the body's params.${source}`;
}

const decimal = /^-?\d+(\.\d+)?$/;

/** How the headers and the arguments disagree, in words; `null` when they agree. */
export function headerParameterFault(
  parameters: RegisteredTool["headerParameters"],
  input: unknown,
  headers: Pick<RequestHeaders, "header">,
): string | null {
  for (const { path, header: name } of parameters) {
    const value = path.reduce<unknown>(
      (node, key) => isObject(node) && Object.hasOwn(node, key) ? node[key] : undefined,
      input,
    );
    if (value === undefined || value === null) continue; // no header is expected
    const sent = headers.header(name);
    if (sent === null) return `the ${name} header is required, since ${path.join(".")} has a value`;
    const decoded = decodeHeaderValue(sent);
    if (decoded === null) return `the ${name} header is not valid base64 of UTF-8`;
    const isEqual = typeof value === "number" && decimal.test(decoded)
      ? Number(decoded) === value
      : decoded === String(value);
    if (!isEqual) return `the ${name} header does not match ${path.join(".")}`;
  }
  return null;
}

const prefix = "=?base64?";
const suffix = "?=";
const canonicalBase64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/**
 * The value a header stands for (MCP 2026-07-28, basic/transports/streamable-http: value encoding): decoded when it has
 * the base64 form, else itself; `null` when the form is broken.
 */
function decodeHeaderValue(value: string): string | null {
  if (value.length < prefix.length + suffix.length || !value.startsWith(prefix) || !value.endsWith(suffix)) {
    return value;
  }
  const base64 = value.slice(prefix.length, -suffix.length);
  if (!canonicalBase64.test(base64)) return null;
  try {
    return decoder.decode(Uint8Array.from(atob(base64), (character) => character.charCodeAt(0)));
  } catch {
    return null; // not UTF-8
  }
}

// Whose habits the answers follow: the specification's, or those that ServiceNow's client and the guides written for it
// need. Chosen by what the OAuth client registered, and for one grant or token by what its program calls itself.

/** What answers do otherwise than the specification says, or where it leaves a choice. */
export interface Profile {
  readonly name: "spec" | "servicenow" | "chatgpt";
  /** The status of the empty answer to `notifications/initialized`. */
  readonly initializedStatus: 200 | 202;
  /** Whether the last page of a list has `nextCursor: ""`: the C# SDK would loop on it. */
  readonly endsListsWithEmptyCursor: boolean;
  /** Whether images carry `media_type` beside `mimeType`. */
  readonly addsMediaType: boolean;
  /** Whether tools are listed without their optional lists and objects. */
  readonly flatParameters: boolean;
  /** Whether the client is offered sessions, streams and change notices. */
  readonly streams: boolean;
  /** Whether a tool that fails is the JSON-RPC error -32603, as the guide has it, instead of a result with `isError`. */
  readonly toolFailureIsProtocolError: boolean;
  /** How long a call may take until its client would give up, with time to spare; null where nothing is known. */
  readonly answerWithinMs: number | null;
}

export const specProfile: Profile = {
  name: "spec",
  initializedStatus: 202,
  endsListsWithEmptyCursor: false,
  addsMediaType: false,
  flatParameters: false,
  streams: true,
  toolFailureIsProtocolError: false,
  answerWithinMs: null,
};

/** Of the 30 s after which ServiceNow's client gives up. */
const serviceNowAnswerWithinMs = 25_000;

export const serviceNowProfile: Profile = {
  name: "servicenow",
  initializedStatus: 200,
  endsListsWithEmptyCursor: true,
  addsMediaType: true,
  flatParameters: true,
  streams: false,
  toolFailureIsProtocolError: false,
  answerWithinMs: serviceNowAnswerWithinMs,
};

/** ChatGPT, whose deep research needs tools of its own. Other habits than the specification's are not known. */
const chatGptProfile: Profile = { ...specProfile, name: "chatgpt" };
const chatGptName = /^(?:openai-mcp|chatgpt)\b/i;
const chatGptHost = /(^|\.)chatgpt\.com$/i;

/** ServiceNow's clients, by the name that they call themselves (`clientInfo.name`) and by their redirect hosts. */
export const serviceNowName = /servicenow/i;
const serviceNowHost = /(^|\.)service-now\.com$/i;

const maxRememberedClients = 100_000;

export interface ProfileOptions {
  /** `auto` looks at the client, and takes a caller without a token for ServiceNow's. */
  readonly compatibility: "spec" | "servicenow" | "auto";
  /** Reads a client's registration or metadata document; `null` when there is none. Asked once per client and process. */
  readonly findClient: (clientId: string) => Promise<{ readonly redirectHosts: readonly string[] } | null>;
  /** ServiceNow's clients get -32603 for a tool that fails. */
  readonly toolFailureIsProtocolError: boolean;
  /** How many clients' choices are remembered. */
  readonly maxClients?: number;
}

/** Makes the profiles of an installation. What a program called itself is remembered in this process alone. */
export function createProfiles(
  { compatibility, findClient, toolFailureIsProtocolError, maxClients = maxRememberedClients }: ProfileOptions,
) {
  const serviceNow: Profile = { ...serviceNowProfile, toolFailureIsProtocolError };
  if (compatibility !== "auto") {
    const profile = compatibility === "servicenow" ? serviceNow : specProfile;
    return { of: () => profile, publicProfile: profile, noteName: () => profile };
  }
  const chosen = boundedMap<string, Profile>(maxClients);
  const find = async (clientId: string): Promise<Profile> => {
    const hosts = (await findClient(clientId))?.redirectHosts ?? [];
    const ofOther = hosts.some((host) => chatGptHost.test(host)) ? chatGptProfile : specProfile;
    const profile = hosts.some((host) => serviceNowHost.test(host)) ? serviceNow : ofOther;
    chosen.set(clientId, profile);
    return profile;
  };
  /** Grants, and tokens of the command line, whose program called itself ServiceNow's or ChatGPT's when it last began. */
  const named = boundedMap<string, Profile>(maxClients);
  return {
    /** The profile of callers without a token. */
    publicProfile: serviceNow,
    /**
     * `isApart`: the request is in a session, or of 2026-07-28, where each request says whose it is. What another
     * program with the same token calls itself is nothing to it.
     */
    of({ clientId, grantId }: Principal, isApart: boolean = false): Profile | Promise<Profile> {
      const own = named.get(grantId);
      // ChatGPT's adds tools and changes no answer: its sessions may have it, and others with the same token
      if (own !== undefined && (!isApart || own === chatGptProfile)) return own;
      return chosen.get(clientId) ?? find(clientId);
    },
    /**
     * Takes note of what a program calls itself in its handshake, and says which profile it gets. Other tokens of the
     * same OAuth client keep theirs (all tokens of the command line are of one), and so do sessions that were begun.
     * One that gets a session (`readsStreams`) changes nothing for programs with the same token that have none.
     */
    noteName({ clientId, grantId }: Principal, clientName: string | null, readsStreams: boolean = false): Profile {
      const name = clientName ?? "";
      const own = serviceNowName.test(name) ? serviceNow : chatGptName.test(name) ? chatGptProfile : null;
      if (own !== null) {
        if (own === serviceNow || !readsStreams || !named.has(grantId)) named.set(grantId, own);
        return own;
      }
      if (!readsStreams) named.delete(grantId); // programs without sessions cannot be told apart: the last one counts
      return chosen.get(clientId) ?? specProfile;
    },
  };
}
