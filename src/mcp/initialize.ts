/** The openings: `initialize` of the legacy era, `server/discover` of the modern one. */
import { parseClientCapabilities, tasksExtension } from "./question.ts";
import type { Principal } from "../lib/principal.ts";
import type { Log } from "../lib/log.ts";
import type { JsonAnswer, McpAnswer } from "./message_stream.ts";
import { answerError, answerResult, type Call, type PublicCall, type PublicExchange } from "./call.ts";
import { isObject } from "../lib/json.ts";
import type { Profile } from "./profile.ts";
import { type CacheHint, latestLegacyRevision, legacyRevisions, type ServerInfo } from "./revision.ts";
import type { Sessions } from "./session.ts";
import { refuseRate } from "./tool_call.ts";
import { isLoggingLevel, logLevels, rpcErrorCode } from "./jsonrpc.ts";

// The capabilities that the server declares: only what it can do.

export interface ServerFeatures {
  readonly tools: true;
  readonly prompts: boolean;
  readonly resources: boolean;
  /** Which resource-change notices we can send at the moment. */
  readonly resourceNotices: () => ResourceNotices;
  /** Extensions (SEP-2133) beside those of the protocol layer itself, by identifier. */
  readonly extensions: readonly string[];
}

/** Which resource-change notices we can send. */
export interface ResourceNotices {
  /** Of some resource's content. */
  readonly ofResources: boolean;
  /** That resources appear and disappear. */
  readonly ofLists: boolean;
}

/** The capabilities of a server; `announces`: whether this client has a stream for notices. */
function encodeServerCapabilities(
  { prompts, resources, resourceNotices }: ServerFeatures,
  announces: boolean,
): Readonly<Record<string, unknown>> {
  const { ofLists, ofResources } = resourceNotices();
  return {
    tools: { listChanged: announces },
    logging: {},
    ...(prompts ? { prompts: { listChanged: announces } } : {}),
    ...(resources ? { resources: { listChanged: announces && ofLists, subscribe: announces && ofResources } } : {}),
    ...(prompts || resources ? { completions: {} } : {}),
  };
}

/** The same for the modern era, where every client can subscribe to notices and take tasks. */
function encodeModernCapabilities(features: ServerFeatures): Readonly<Record<string, unknown>> {
  const extensions = Object.fromEntries([tasksExtension, ...features.extensions].map((id) => [id, {}]));
  return { ...encodeServerCapabilities(features, true), extensions };
}

export interface OpeningOptions {
  readonly serverInfo: ServerInfo;
  /** A few sentences for the model, by what the principal may do; `null` is a caller without a token. */
  readonly instructions: (principal: Principal | null) => string;
  readonly features: ServerFeatures;
  readonly sessions: Sessions;
  /** Takes note of a client's name and returns the profile to use from here on. */
  readonly noteClient?: (principal: Principal, clientName: string | null, readsStreams: boolean) => Profile;
}

/** Who a client says it is. It may say nothing: then both are `null`. */
interface ClientIdentity {
  readonly name: string | null;
  readonly version: string | null;
}

/**
 * Answers `initialize` with the version asked for, or with our latest when we do not speak that one. A session begins
 * only where it is of use: for clients that read streams.
 */
export async function answerInitialize(options: OpeningOptions, call: Call): Promise<JsonAnswer> {
  const { request: { params }, exchange, principal } = call;
  const { name } = clientIdentity(params);
  const profile = options.noteClient?.(principal, name, exchange.acceptsStream) ?? exchange.profile;
  const hasSession = profile.streams && exchange.acceptsStream;
  const { revision, answer } = openWith(options, call, principal, hasSession);
  if (!hasSession) return answer;
  const capabilities = parseClientCapabilities(isObject(params) ? params["capabilities"] : undefined);
  return { ...answer, sessionId: await options.sessions.begin(principal, revision, capabilities) };
}

/** The same for a caller without a token, which gets no session: it begins anew once it has signed in. */
export function answerPublicInitialize(options: OpeningOptions, call: PublicCall): JsonAnswer {
  return openWith(options, call, null, false).answer;
}

function openWith(options: OpeningOptions, call: PublicCall, principal: Principal | null, hasSession: boolean) {
  const { request: { params }, exchange, runtime: { log } } = call;
  const { protocolVersion } = isObject(params) ? params : {};
  const asked = typeof protocolVersion === "string" ? protocolVersion : null;
  const revision = (asked === null ? undefined : legacyRevisions.get(asked)) ?? latestLegacyRevision;
  const client = clientIdentity(params);
  log.write("info", "client_initialized", {
    requestId: exchange.requestId,
    subject: principal?.subject ?? null,
    client: client.name,
    clientVersion: client.version,
    asked: asked?.slice(0, 40),
    answered: revision.version,
  });
  const result = {
    protocolVersion: revision.version,
    capabilities: encodeServerCapabilities(options.features, hasSession),
    serverInfo: revision.encodeServerInfo(options.serverInfo),
    instructions: options.instructions(principal),
  };
  return { revision, answer: answerResult(call, JSON.stringify(result)) };
}

/** Answers `notifications/initialized`. */
export function noteInitialized(log: Log, { requestId, profile }: PublicExchange): McpAnswer {
  log.write("debug", "client_ready", { requestId });
  return { kind: "accepted", status: profile.initializedStatus };
}

/** Answers `server/discover`. */
export function answerDiscover(options: OpeningOptions, call: Call): JsonAnswer {
  const { revision, principal, runtime: { limits } } = call;
  const hint: CacheHint = { ttlMs: limits.listTtlMs, cacheScope: "private" };
  const result = {
    supportedVersions: [revision.version],
    capabilities: encodeModernCapabilities(options.features),
    instructions: options.instructions(principal),
  };
  return answerResult(call, JSON.stringify(revision.withCacheHint(result, hint)));
}

/** The client's name and version out of the params of `initialize`, cut to a length that a log can bear. */
export function clientIdentity(params: unknown): ClientIdentity {
  const info = isObject(params) ? params["clientInfo"] : undefined;
  const { name, version } = isObject(info) ? info : {};
  return {
    name: typeof name === "string" ? name.slice(0, 100) : null,
    version: typeof version === "string" ? version.slice(0, 100) : null,
  };
}

// `logging/setLevel` of the legacy era.

/** Sets from which level on a session is sent log messages. Without a session none are sent, and nothing is stored. */
export async function setLogLevel({ sessions }: { readonly sessions: Sessions }, call: Call): Promise<McpAnswer> {
  const { session, request: { params } } = call;
  const level = isObject(params) ? params["level"] : undefined;
  if (!isLoggingLevel(level)) {
    return answerError(call, rpcErrorCode.invalidParams, `params.level must be one of: ${logLevels.join(", ")}`);
  }
  if (session === null) return answerResult(call, "{}");
  const refusal = await refuseRate(call); // a write counts like a call
  if (refusal !== null) return refusal;
  await sessions.setLogLevel(session, level);
  return answerResult(call, "{}");
}
