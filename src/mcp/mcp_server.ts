/** The protocol server: takes one parsed body and says what to answer. It knows no HTTP beyond statuses. */
import { isObject } from "../lib/json.ts";
import {
  echoedId,
  errorText,
  isInitialize,
  kindOfMessage,
  mcpErrorCode,
  metaOf,
  modernVersion,
  refusalCode,
  rpcErrorCode,
} from "./jsonrpc.ts";
import type { RpcCall, RpcRequest } from "./jsonrpc.ts";
import { type Exchange, type McpAnswer, type PublicCall, type PublicExchange, unmarked } from "./call.ts";
import { type AuditEntry, createRuntime, type McpServerOptions, type Runtime } from "./runtime.ts";
import { decodeHeaderValue } from "./registry.ts";
import { failure, type Result, success } from "../lib/result.ts";
import {
  claimsModern,
  createModernRevision,
  defaultLegacyRevision,
  envelopeFault,
  latestLegacyRevision,
  legacyRevisions,
  protocolVersionKey,
  type Revision,
} from "./revision.ts";
import { createParallelShare, nextTurn, type StandAside, whenReady } from "../lib/turns.ts";
import type { Session } from "./session.ts";
import { type Principal, shareKey } from "../lib/principal.ts";
import { insufficientScope, missingScopes, refuseRate } from "./tool_call.ts";
import { createMessageHandler, createRequestObserver } from "./message_handler.ts";
import type { MessageHandler, ObserveRequest } from "./message_handler.ts";
import { createSessionStreams, sessionNotFound } from "./notice_streams.ts";
import { answerPublicInitialize, createMethodTable, noteInitialized } from "./methods.ts";

/** The protocol, for a transport: HTTP and stdio share one. */
export type McpServer = ReturnType<typeof createMcpServer>;

/**
 * Makes the server. It opens nothing and begins no timer before the first request; `close` ends what is open by then.
 */
export function createMcpServer(options: McpServerOptions) {
  const runtime = createRuntime(options);
  const { tools, prompts, resources, changes, streams, tasks, enders, stopping } = runtime;
  const hurry = (): void => stopping.abort(new DOMException("the server stops", "AbortError"));
  const sessionStreams = createSessionStreams(runtime);
  const methods = createMethodTable(runtime, sessionStreams.follow);
  const observe = createRequestObserver(runtime, (name) => methods.has(name));
  const modern = createModernRevision(options.serverInfo);
  const stopListening = [
    tools.onChange(() => changes.publish({ kind: "tools" })),
    prompts.onChange(() => changes.publish({ kind: "prompts" })),
    resources.onChange(() => changes.publish({ kind: "resources" })),
  ];

  return {
    /** Answers one parsed body. Rejects only when the storage is lost. */
    handle: createBodyHandler(runtime, modern, createMessageHandler(runtime, methods, observe)),
    /** Answers one parsed body of a caller without a token: the public part of the handshake. */
    handlePublic: createPublicHandshake(runtime, modern, observe),
    /** Takes from the limit of a caller whose request has no body to handle: its refusal, or `null`. */
    refuseRate: (principal: Principal) => refuseRate(runtime, principal),
    /** Answers HTTP's GET: a stream of notices for a legacy session. */
    openStream: sessionStreams.open,
    /** Answers HTTP's DELETE: the end of a legacy session. */
    endSession: sessionStreams.end,
    get openStreams() {
      return streams.size;
    },
    /** Ends the streams that last: calls that run go on. */
    drain() {
      for (const end of [...enders]) end();
    },
    /** Asks the calls that run to answer now with what they have. */
    hurry,
    /** Gives up everything that is still open; resolves when the tasks that ran are stored as cancelled. */
    async close() {
      hurry();
      for (const stop of stopListening) stop();
      streams.abandonAll();
      await tasks.close();
    },
  };
}

// * Finds the era that a body belongs to and, for a legacy one, its session, or refuses it.

/** What a server has asked for is sent back as it was, or is a fault. */
const answersToServer: ReadonlySet<string> = new Set(["requestState", "inputResponses"]);

/**
 * Batches of one caller that are answered at the same time: their answers lie in memory until the last is there. Those
 * that wait for a person, whose number approvals bound, take no place.
 */
const maxBatchesAtOnce = 4;

/** To a caller who has gone. */
const unread: McpAnswer = { kind: "accepted", status: 202 };

/** Answers one parsed body. Rejects only when the storage is lost. */
type BodyHandler = (body: unknown, exchange: Exchange) => McpAnswer | Promise<McpAnswer>;

function createBodyHandler(runtime: Runtime, modern: Revision, answerMessage: MessageHandler): BodyHandler {
  const { clock, sessions, scopeNotices, audit, watchToken } = runtime;
  const batches = createParallelShare(maxBatchesAtOnce);
  /** A body of which no message is served counts as one. */
  const refuseWhole = (answer: McpAnswer, { principal }: Exchange): McpAnswer | Promise<McpAnswer> =>
    whenReady(refuseRate(runtime, principal), (refusal) => refusal ?? answer);
  const answerBatch = async (batch: readonly unknown[], context: Omit<Parameters<MessageHandler>[1], "isSingle">) => {
    const { exchange, revision } = context;
    const note = (code: string, outcome: AuditEntry["outcome"]): void =>
      audit(refusedBatchEntry(exchange, { time: clock(), code, outcome }));
    const refusal = refuseBatch(runtime, batch, revision, exchange.principal);
    if (refusal !== null) {
      const given = await refuseWhole(refusal, exchange);
      if (given.kind === "insufficient_scope") note("insufficient_scope", "insufficient_scope");
      return given;
    }
    const answer = (standAside?: StandAside) =>
      answerAll(
        batch,
        (message) =>
          exchange.disconnected.aborted && kindOfMessage(message) === "request"
            ? unread // no client could ever read its answer
            : answerMessage(message, { ...context, isSingle: false, standAside }),
        () => note("batch_too_large", "protocol_error"),
      );
    // cancellations, and answers to what a call asks, pass those that wait
    const asks = batch.some((message) => kindOfMessage(message) === "request");
    if (!asks) return await answer();
    const over = new AbortController(); // of a batch that waits: its token was revoked
    let stop: (() => void) | undefined;
    const whileGood = (): AbortSignal => {
      stop = watchToken?.(exchange.principal, () => over.abort());
      return AbortSignal.any([over.signal, exchange.disconnected]);
    };
    const begin = (standAside: StandAside): Promise<McpAnswer> => {
      stop?.();
      return answer(standAside);
    };
    try {
      return await batches(shareKey(exchange.principal), begin, whileGood);
    } catch (error) {
      stop?.();
      if (exchange.disconnected.aborted) return refuseWhole(unread, exchange);
      if (!over.signal.aborted) throw error;
      const body = errorText(null, refusalCode.unauthorized, "Unauthorized");
      return refuseWhole({ kind: "json", status: 401, body }, exchange);
    }
  };

  return (body, exchange) => {
    scopeNotices.note(exchange.principal);
    const isBatch = Array.isArray(body);
    for (const message of isBatch ? body : [body]) dropNulls(message);
    const classified = isBatch
      ? classifyBatch(body, exchange.header("mcp-protocol-version"))
      : classifyMessage(body, exchange, modern);
    if (!classified.ok) return refuseWhole(refuseUnclassified(body, classified.error), exchange);
    const named = classified.value;
    const sessionId = named === modern || isInitialize(body) ? null : exchange.header("mcp-session-id");
    const answerIn = (session: Session | null): McpAnswer | Promise<McpAnswer> => {
      const context = { exchange, revision: named ?? session?.revision ?? defaultLegacyRevision, session };
      return isBatch ? answerBatch(body, context) : answerMessage(body, { ...context, isSingle: true });
    };
    if (sessionId === null) return answerIn(null);
    return whenReady(
      sessions.find(sessionId, exchange.principal),
      (session) => session === null ? refuseWhole(sessionNotFound(echoedId(body)), exchange) : answerIn(session),
    );
  };
}

/** The refusal of a body that belongs to no revision. */
function refuseUnclassified(body: unknown, { code, message, data }: ReturnType<typeof refuse>["error"]): McpAnswer {
  return { kind: "json", status: 400, body: errorText(echoedId(body), code, message, data) };
}

/** One record stands for all calls of a batch that lacks scopes, or for those over its budget. */
function refusedBatchEntry(
  { requestId, principal: { subject, clientId, grantId } }: Exchange,
  refusal: Pick<AuditEntry, "time" | "code" | "outcome">,
): AuditEntry {
  return { requestId, subject, clientId, grantId, method: "tools/call", tool: null, durationMs: 0, ...refusal };
}

/** Answers one parsed body of a caller without a token: `initialize`, `notifications/initialized`, and nothing else. */
type PublicHandshake = (body: unknown, exchange: PublicExchange) => Promise<McpAnswer>;

/** The part of the legacy handshake that needs no token. The transport decides which callers may have it. */
function createPublicHandshake(runtime: Runtime, modern: Revision, observe: ObserveRequest): PublicHandshake {
  return async (body, exchange) => {
    dropNulls(body);
    const classified = classifyMessage(body, exchange, modern);
    if (!classified.ok) return refuseUnclassified(body, classified.error);
    const kind = kindOfMessage(body);
    const method = isObject(body) ? body["method"] : undefined;
    if (kind === "notification" && method === "notifications/initialized") {
      return noteInitialized(runtime.log, exchange);
    }
    if (kind !== "request" || method !== "initialize") {
      const text = errorText(echoedId(body), refusalCode.unauthorized, "Unauthorized");
      return { kind: "json", status: 401, body: text };
    }
    const revision = classified.value ?? defaultLegacyRevision;
    const call: PublicCall = { ...unmarked, request: body as RpcRequest, exchange, revision, runtime };
    return await observe(call, null, () => answerPublicInitialize(call));
  };
}

// Which era, and which revision, a message belongs to. The body decides; headers only cross-check it (MCP 2026-07-28,
// basic/versioning: a dual-era server). A mismatch of header and body outranks a version that is not supported.

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
function standardHeaderFault(request: RpcCall, headers: Pick<PublicExchange, "header">): string | null {
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

/** A revision, or why a message belongs to none: all of these are HTTP 400. `null` leaves it to the session. */
type Classified = Result<Revision | null, ReturnType<typeof refuse>["error"]>;

/** Every version that can be asked for. */
const supportedVersions: readonly string[] = [modernVersion, ...[...legacyRevisions.keys()].reverse()];

/**
 * The revision of a single message, checked against its envelope and headers. A legacy message is not: where the
 * header is absent its session may still tell the version.
 */
function classifyMessage(message: unknown, headers: PublicExchange, modern: Revision): Classified {
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
function classifyBatch(batch: readonly unknown[], version: string | null): Classified {
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

function admitModern(call: RpcCall, version: string | null, headers: PublicExchange, modern: Revision): Classified {
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

// Batches: arrays of messages, which only 2025-03-26 has. What their answers may take together is bounded.

/** Refuses a batch whole, before anything runs; `null` when each of its messages may be answered. */
function refuseBatch(
  { tools, limits: { maxBatchLength } }: Runtime,
  batch: readonly unknown[],
  revision: Revision,
  principal: Principal,
): McpAnswer | null {
  if (!revision.acceptsBatches) {
    return invalidBatch(`Protocol version ${revision.version} has no batches: send each message separately`);
  }
  if (batch.length === 0) return invalidBatch("A batch must not be empty"); // JSON-RPC 2.0 §6
  if (batch.length > maxBatchLength) return invalidBatch(`A batch must not have more than ${maxBatchLength} messages`);
  if (batch.some(isInitialize)) {
    return invalidBatch("initialize must not be part of a batch: send it separately"); // MCP 2025-03-26, basic/lifecycle
  }
  const missing = new Set(batch.flatMap((message) => missingScopes(tools, message, principal)));
  return missing.size > 0 ? insufficientScope(null, [...missing], principal.scopes) : null;
}

/** Characters of answers after which no further message of the batch is answered: four of the largest usual reads. */
const maxAnswerCharacters = 8_000_000;

/**
 * Answers the messages of a batch in turn, with one body. Requests over the budget are refused, each under its own id;
 * `onBudgetSpent` is called once then.
 */
export async function answerAll(
  batch: readonly unknown[],
  answer: (message: unknown) => McpAnswer | Promise<McpAnswer>,
  onBudgetSpent: () => void,
): Promise<McpAnswer> {
  const bodies: string[] = [];
  let characters = 0;
  let isSpent = false;
  for (const message of batch) {
    await nextTurn(); // fifty answers that need no wait would be one long step
    if (characters > maxAnswerCharacters && kindOfMessage(message) === "request") {
      bodies.push(errorText(echoedId(message), rpcErrorCode.invalidRequest, overBudget));
      if (!isSpent) onBudgetSpent();
      isSpent = true;
      continue;
    }
    const answered = await answer(message);
    if (!("body" in answered)) continue;
    bodies.push(answered.body);
    characters += answered.body.length;
  }
  if (bodies.length === 0) return { kind: "accepted", status: 202 };
  return { kind: "json", status: 200, body: `[${bodies.join(",")}]` };
}

const overBudget = `The answers of this batch are over ${maxAnswerCharacters} characters: send this request separately`;

function invalidBatch(message: string): McpAnswer {
  return { kind: "json", status: 400, body: errorText(null, rpcErrorCode.invalidRequest, message) };
}

/** Takes `null` out of a parsed message's params and their `_meta`, where clients write it for what they leave out. */
function dropNulls(message: unknown): void {
  if (!isObject(message)) return;
  if (message["params"] === null) delete message["params"];
  const { params } = message;
  if (!isObject(params)) return;
  for (const members of [params, metaOf(params) ?? {}]) {
    for (const name of Object.keys(members)) {
      if (members[name] === null && !answersToServer.has(name)) delete members[name];
    }
  }
}
