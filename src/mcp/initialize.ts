/** The openings: `initialize` of the legacy era, `server/discover` of the modern one. */
import { parseClientCapabilities, tasksExtension } from "./question.ts";
import type { Principal } from "../lib/principal.ts";
import type { Log } from "../lib/log.ts";
import {
  answerError,
  answerResult,
  type Call,
  type JsonAnswer,
  type McpAnswer,
  type PublicCall,
  type PublicExchange,
  type Runtime,
} from "./call.ts";
import { noticesOf } from "./resource.ts";
import { isObject } from "../lib/json.ts";
import { type CacheHint, latestLegacyRevision, legacyRevisions } from "./revision.ts";
import { refuseRate } from "./tool_call.ts";
import { isLoggingLevel, logLevels, rpcErrorCode } from "./jsonrpc.ts";

/** The capabilities of a server: only what it can do; `announces`: whether this client has a stream for notices. */
function encodeServerCapabilities(
  { features: { prompts, resources: hasResources }, resources }: Runtime,
  announces: boolean,
): Readonly<Record<string, unknown>> {
  const { ofLists, ofResources } = noticesOf(resources);
  return {
    tools: { listChanged: announces },
    logging: {},
    ...(prompts ? { prompts: { listChanged: announces } } : {}),
    ...(hasResources ? { resources: { listChanged: announces && ofLists, subscribe: announces && ofResources } } : {}),
    ...(prompts || hasResources ? { completions: {} } : {}),
  };
}

/** The same for the modern era, where every client can subscribe to notices and take tasks. */
function encodeModernCapabilities(runtime: Runtime): Readonly<Record<string, unknown>> {
  const extensions = Object.fromEntries([tasksExtension, ...runtime.features.extensions].map((id) => [id, {}]));
  return { ...encodeServerCapabilities(runtime, true), extensions };
}

/**
 * Answers `initialize` with the version asked for, or with our latest when we do not speak that one. A session begins
 * only where it is of use: for clients that read streams.
 */
export async function answerInitialize(call: Call): Promise<JsonAnswer> {
  const { request: { params }, exchange, principal, runtime } = call;
  const { name } = clientIdentity(params);
  const profile = runtime.noteClient(principal, name, exchange.acceptsStream) ?? exchange.profile;
  const hasSession = profile.streams && exchange.acceptsStream;
  const { revision, answer } = openWith(call, principal, hasSession);
  if (!hasSession) return answer;
  const capabilities = parseClientCapabilities(isObject(params) ? params["capabilities"] : undefined);
  return { ...answer, sessionId: await runtime.sessions.begin(principal, revision, capabilities) };
}

/** The same for a caller without a token, which gets no session: it starts over once it has signed in. */
export function answerPublicInitialize(call: PublicCall): JsonAnswer {
  return openWith(call, null, false).answer;
}

function openWith(call: PublicCall, principal: Principal | null, hasSession: boolean) {
  const { request: { params }, exchange, runtime } = call;
  const { protocolVersion } = isObject(params) ? params : {};
  const asked = typeof protocolVersion === "string" ? protocolVersion : null;
  const revision = (asked === null ? undefined : legacyRevisions.get(asked)) ?? latestLegacyRevision;
  const client = clientIdentity(params);
  runtime.log.write("info", "client_initialized", {
    requestId: exchange.requestId,
    subject: principal?.subject ?? null,
    client: client.name,
    clientVersion: client.version,
    asked: asked?.slice(0, 40),
    answered: revision.version,
  });
  const result = {
    protocolVersion: revision.version,
    capabilities: encodeServerCapabilities(runtime, hasSession),
    serverInfo: revision.encodeServerInfo(runtime.serverInfo),
    instructions: runtime.instructions(principal),
  };
  return { revision, answer: answerResult(call, JSON.stringify(result)) };
}

/** Answers `notifications/initialized`. */
export function noteInitialized(log: Log, { requestId, profile }: PublicExchange): McpAnswer {
  log.write("debug", "client_ready", { requestId });
  return { kind: "accepted", status: profile.initializedStatus };
}

/** Answers `server/discover`. */
export function answerDiscover(call: Call): JsonAnswer {
  const { revision, principal, runtime } = call;
  const hint: CacheHint = { ttlMs: runtime.limits.listTtlMs, cacheScope: "private" };
  const result = {
    supportedVersions: [revision.version],
    capabilities: encodeModernCapabilities(runtime),
    instructions: runtime.instructions(principal),
  };
  return answerResult(call, JSON.stringify(revision.withCacheHint(result, hint)));
}

/** The client's name and version out of the params of `initialize`, cut for the log; `null` where it does not say. */
export function clientIdentity(params: unknown) {
  const info = isObject(params) ? params["clientInfo"] : undefined;
  const { name, version } = isObject(info) ? info : {};
  return {
    name: typeof name === "string" ? name.slice(0, 100) : null,
    version: typeof version === "string" ? version.slice(0, 100) : null,
  };
}

// `logging/setLevel` of the legacy era.

/** Sets from which level on a session is sent log messages. Without a session none are sent, and nothing is stored. */
export async function setLogLevel(call: Call): Promise<McpAnswer> {
  const { session, request: { params } } = call;
  const level = isObject(params) ? params["level"] : undefined;
  if (!isLoggingLevel(level)) {
    return answerError(call, rpcErrorCode.invalidParams, `params.level must be one of: ${logLevels.join(", ")}`);
  }
  if (session === null) return answerResult(call, "{}");
  const refusal = await refuseRate(call); // a write counts like a call
  if (refusal !== null) return refusal;
  await call.runtime.sessions.setLogLevel(session, level);
  return answerResult(call, "{}");
}
