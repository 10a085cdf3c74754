/** The openings: `initialize` of the legacy era, `server/discover` of the modern one. */
import type { Principal } from "../lib/principal.ts";
import type { Log } from "../lib/log.ts";
import type { JsonAnswer, McpAnswer } from "./answer.ts";
import { answerResult, type Call, type PublicCall } from "./call.ts";
import type { PublicExchange } from "./exchange.ts";
import { parseClientCapabilities } from "./client_capabilities.ts";
import { isObject } from "../lib/json.ts";
import type { Profile } from "./profile.ts";
import { latestLegacyRevision, legacyRevisions } from "./legacy.ts";
import type { CacheHint, ServerInfo } from "./revision.ts";
import { encodeModernCapabilities, encodeServerCapabilities, type ServerFeatures } from "./server_capabilities.ts";
import type { Sessions } from "./session.ts";
import { readsTextAlone } from "./text_readers.ts";

export interface OpeningOptions {
  readonly serverInfo: ServerInfo;
  /** A few sentences for the model, by what the principal may do; `null` is a caller without a token. */
  readonly instructions: (principal: Principal | null) => string;
  readonly features: ServerFeatures;
  readonly sessions: Sessions;
  /** Takes note of a client's name and returns the profile to use from here on. */
  readonly noteClient?: (principal: Principal, clientName: string | null) => Profile;
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
  const profile = options.noteClient?.(principal, name) ?? exchange.profile;
  const hasSession = profile.streams && exchange.acceptsStream;
  const { revision, answer } = openWith(options, call, principal, hasSession);
  if (!hasSession) return answer;
  const capabilities = parseClientCapabilities(isObject(params) ? params["capabilities"] : undefined);
  const client = { capabilities, readsTextAlone: readsTextAlone(name) };
  return { ...answer, sessionId: await options.sessions.begin(principal, revision, client) };
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
