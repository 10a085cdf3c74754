/** The protocol server: takes one parsed body and says what to answer. It knows no HTTP beyond statuses. */
import { isObject } from "../lib/json.ts";
import {
  echoedId,
  errorText,
  isInitialize,
  isRpcId,
  kindOfMessage,
  metaOf,
  refusalCode,
  rpcErrorCode,
} from "./jsonrpc.ts";
import type { RpcCall, RpcId, RpcRequest, RpcResponse } from "./jsonrpc.ts";
import { answerError, answerUnavailable, insufficientScope, mark, paramsOf, tooManyCalls } from "./call.ts";
import type { Call, Exchange, McpAnswer, PublicCall, PublicExchange } from "./call.ts";
import { type AuditEntry, createRuntime, type McpServerOptions, type Runtime } from "./runtime.ts";
import type { ToolRegistry } from "./registry.ts";
import { classifyBatch, classifyMessage, createModernRevision, defaultLegacyRevision } from "./revision.ts";
import type { Revision, Session, Unclassified } from "./revision.ts";
import { createParallelShare, nextTurn, passOfEventLoop, type StandAside, whenReady } from "../lib/turns.ts";
import { hasScopes, type Principal, shareKey } from "../lib/principal.ts";
import { createSessionStreams, sessionNotFound } from "./notice_streams.ts";
import { answerPublicInitialize, createMethodTable, noteInitialized } from "./methods.ts";
import { crashText, unavailability } from "../lib/system_fault.ts";
import { type Span, type TraceContext, traceContextOf, type Tracer } from "../lib/tracer.ts";

/** The protocol, for a transport: HTTP and stdio share one. */
export type McpServer = ReturnType<typeof createMcpServer>;

/**
 * Makes the server. It opens nothing and begins no timer before the first request; `close` ends what is open by then.
 */
export function createMcpServer(options: McpServerOptions) {
  const runtime = createRuntime(options);
  const { tools, prompts, resources, changes, streams, inFlight, tasks, enders, stopping } = runtime;
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
    /** Gives up everything that is still open; resolves when calls are on record and tasks stored as cancelled. */
    async close() {
      hurry();
      for (const stop of stopListening) stop();
      streams.abandonAll();
      inFlight.cancelAll();
      await passOfEventLoop(); // a cancelled call is answered at once, and leaves its record then
      await tasks.close();
    },
  };
}

// * Finds the era that a body belongs to and, for a legacy one, its session, or refuses it.

/**
 * Batches of one caller that are answered at the same time: their answers lie in memory until the last is there. Those
 * that wait for a person, whose number approvals bound, take no place.
 */
const maxBatchesAtOnce = 4;

/** To what wants no answer, and to a caller who has gone. */
const taken: McpAnswer = { kind: "accepted", status: 202 };

function createBodyHandler(runtime: Runtime, modern: Revision, answerMessage: MessageHandler) {
  const { clock, sessions, scopeNotices, audit, watchToken } = runtime;
  const batches = createParallelShare(maxBatchesAtOnce);
  /** A body of which no message is served counts as one. */
  const refuseWhole = (answer: McpAnswer, { principal }: Exchange): McpAnswer | Promise<McpAnswer> =>
    whenReady(refuseRate(runtime, principal), (refusal) => refusal ?? answer);
  const answerBatch = async (batch: readonly unknown[], context: Omit<MessageContext, "isSingle">) => {
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
            ? taken // no client could ever read its answer
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
      if (exchange.disconnected.aborted) return refuseWhole(taken, exchange);
      if (!over.signal.aborted) throw error;
      const body = errorText(null, refusalCode.unauthorized, "Unauthorized");
      return refuseWhole({ kind: "json", status: 401, body }, exchange);
    }
  };

  return (body: unknown, exchange: Exchange): McpAnswer | Promise<McpAnswer> => {
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
function refuseUnclassified(body: unknown, { code, message, data }: Unclassified): McpAnswer {
  return { kind: "json", status: 400, body: errorText(echoedId(body), code, message, data) };
}

/** One record stands for all calls of a batch that lacks scopes, or for those over its budget. */
function refusedBatchEntry(
  { requestId, principal: { subject, clientId, grantId } }: Exchange,
  refusal: Pick<AuditEntry, "time" | "code" | "outcome">,
): AuditEntry {
  return { requestId, subject, clientId, grantId, method: "tools/call", tool: null, durationMs: 0, ...refusal };
}

/**
 * The part of the legacy handshake that needs no token: `initialize`, `notifications/initialized`, and nothing else. The
 * transport decides which callers may have it.
 */
function createPublicHandshake(runtime: Runtime, modern: Revision, observe: ObserveRequest) {
  return async (body: unknown, exchange: PublicExchange): Promise<McpAnswer> => {
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

/** What a server has asked for is sent back as it was, or is a fault. */
const answersToServer: ReadonlySet<string> = new Set(["requestState", "inputResponses"]);

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

// Single messages: requests by their methods, notifications and responses by taking note of them.

/** Of a call that has just begun. */
const unmarked = { tool: null, outcome: "ok", code: null, change: null } as const;

/** What is known of a message before it is read. */
type MessageContext = Pick<Call, "exchange" | "revision" | "session" | "isSingle" | "standAside">;

/** Answers at once where nothing has to be waited for, which a third of a short call's processor time depends on. */
type MessageHandler = (message: unknown, context: MessageContext) => McpAnswer | Promise<McpAnswer>;

function createMessageHandler(
  runtime: Runtime,
  methods: ReturnType<typeof createMethodTable>,
  observe: ObserveRequest,
): MessageHandler {
  const dispatch = (call: Call): McpAnswer | Promise<McpAnswer> => {
    const { method } = call.request;
    const handler = call.revision.methods.has(method) ? methods.get(method) : undefined;
    return whenReady(refuseRate(runtime, call.principal, call.request.id), (refusal) => {
      if (refusal !== null) {
        mark(call, "rate_limited");
        const { name } = paramsOf(call);
        if (method === "tools/call" && typeof name === "string") call.tool = runtime.tools.get(name)?.tool.name ?? null;
      }
      return refusal ?? handler?.(call) ??
        answerError(call, rpcErrorCode.methodNotFound, `Method not found: ${method}`);
    });
  };

  const answerRequest = (request: RpcRequest, context: MessageContext): McpAnswer | Promise<McpAnswer> => {
    const { exchange, revision, session } = context;
    const abilities = revision.capabilitiesOf(request, session);
    let begun: PromiseWithResolvers<McpAnswer> | undefined; // made for calls that wait
    const call: Call = {
      ...unmarked,
      ...context,
      request,
      principal: exchange.principal,
      runtime,
      beginAnswer: (answer) => (begun ??= Promise.withResolvers()).resolve(answer),
      resultForm: resultFormOf(runtime, exchange, abilities.has("structured_content")),
      showsView: abilities.has("view"),
      finish: null,
      scopes: [],
    };
    const served = observe(call, call.principal, () => dispatch(call));
    const finish = (answer: McpAnswer): McpAnswer => call.finish?.(answer) ?? answer;
    if (!(served instanceof Promise)) return finish(served);
    begun ??= Promise.withResolvers();
    return Promise.race([served.then(finish), begun.promise]);
  };

  /** What a call waits for here is taken even from a caller over its limit. */
  const isAwaited = async (response: RpcResponse, session: Call["session"], mayPassOn: boolean): Promise<boolean> =>
    session !== null && await runtime.questions.take(session.key, response, mayPassOn);

  return (message, context) => {
    const kind = kindOfMessage(message);
    if (kind === "request") return answerRequest(message as RpcRequest, context);
    return whenReady(refuseRate(runtime, context.exchange.principal), async (refusal) => {
      if (kind === "wrong_version") {
        return refusal ?? refuseMessage(message, context.revision, "Invalid JSON-RPC version");
      }
      if (kind === "malformed") return refusal ?? refuseMessage(message, context.revision, "Invalid Request");
      const isAdmitted = refusal === null;
      const accepted = kind === "notification"
        ? await takeNotification(runtime, message as RpcCall, context, isAdmitted)
        : await isAwaited(message as RpcResponse, context.session, isAdmitted)
        ? taken
        : null;
      // they get no response: the refusal is a status, where one alone has it
      return accepted ?? (context.isSingle && context.exchange.hasHeaders ? refusal : null) ?? taken;
    });
  };
}

/**
 * The form of a tool's result for a caller; `asks` is whether it declares `experimental.structuredContent`. Many clients
 * show their model structured content in place of the text, or both: without the images, or at twice the size.
 */
function resultFormOf({ structuredResults }: Runtime, { profile }: Exchange, asks: boolean): Call["resultForm"] {
  if (profile.name === "servicenow") return "structured_or_empty";
  return structuredResults === "always" || asks ? "structured" : "text";
}

/** `null` where it is nothing to a call that runs: such a call is cancelled even for a caller over its limit. */
async function takeNotification(
  { log, inFlight }: Runtime,
  { method, params }: RpcCall,
  { exchange, session }: MessageContext,
  isAdmitted: boolean,
) {
  const id = method === "notifications/cancelled" && isObject(params) ? params["requestId"] : undefined;
  const owner = session?.key ?? exchange.principal.tokenId;
  if (isRpcId(id) && (inFlight.cancel(owner, id) || inFlight.has(owner, id))) return taken;
  if (isAdmitted && method === "notifications/initialized") return noteInitialized(log, exchange);
  if (isAdmitted && isRpcId(id) && session !== null) await inFlight.tell(owner, id); // it ended, or runs elsewhere
  return null;
}

function refuseMessage(message: unknown, revision: Revision, text: string): McpAnswer {
  const body = errorText(echoedId(message), rpcErrorCode.invalidRequest, text);
  return { kind: "json", status: revision.errorStatus(rpcErrorCode.invalidRequest), body, isMalformed: true };
}

/**
 * Takes one from the caller's limit, before anything else: for each message, each body that is refused whole, each
 * request for a stream. `null` when it is admitted.
 */
function refuseRate(
  { admit }: Runtime,
  principal: Principal,
  id: RpcId | null = null,
): McpAnswer | null | Promise<McpAnswer | null> {
  return whenReady(
    admit(principal),
    (admission) => admission.ok ? null : tooManyCalls(id, admission.retryAfterSeconds),
  );
}

// Each request is observed.

const maxMethodCharacters = 100;

/** Serves a request on the record; `principal` is `null` only for the public handshake. */
type ObserveRequest = (
  call: PublicCall,
  principal: Principal | null,
  serve: () => McpAnswer | Promise<McpAnswer>,
) => McpAnswer | Promise<McpAnswer>;

/** Every request leaves one audit record and, where spans are exported, one span. What it throws is logged here. */
function createRequestObserver(
  { tracer, timers, clock, audit }: Runtime,
  isKnownMethod: (method: string) => boolean,
): ObserveRequest {
  return (call, principal, serve) => {
    const started = timers.elapsed();
    const { request, exchange } = call;
    const parent = traceContextOf(metaOf(request.params), (name) => exchange.header(name));
    const span = beginRequestSpan(tracer, call, { parent, isKnownMethod: isKnownMethod(request.method) });
    const end = (answer: McpAnswer): McpAnswer => {
      const traceId = span === null ? parent?.traceId : span.traceId;
      audit({
        time: clock(),
        requestId: exchange.requestId,
        subject: principal?.subject ?? null,
        clientId: principal?.clientId ?? null,
        grantId: principal?.grantId ?? null,
        method: request.method.slice(0, maxMethodCharacters),
        tool: call.tool,
        outcome: call.outcome,
        code: call.code,
        durationMs: Math.round((timers.elapsed() - started) * 1_000) / 1_000, // a clock has no digits below
        change: call.change ?? undefined,
        traceId,
      }, "input" in call ? { arguments: call.input } : request.params);
      if (span !== null) endRequestSpan(span, call);
      return answer;
    };
    const fail = (error: unknown): McpAnswer => end(answerFailure(call, error));
    let served: McpAnswer | Promise<McpAnswer>;
    try {
      served = span === null ? serve() : span.run(serve);
    } catch (error) {
      return fail(error);
    }
    return served instanceof Promise ? served.then(end, fail) : end(served);
  };
}

const maxIdCharacters = 100;

/** Begins the span of a request; `null` where nothing is exported and the caller sent no trace. */
function beginRequestSpan(
  tracer: Tracer,
  { request, exchange, revision }: PublicCall,
  { parent, isKnownMethod }: { readonly parent: TraceContext | undefined; readonly isKnownMethod: boolean },
): Span | null {
  if (!tracer.exports && parent === undefined) return null;
  const method = isKnownMethod ? request.method : "_OTHER"; // what a caller makes up names no span
  return tracer.begin({
    name: method,
    kind: "server",
    attributes: {
      "mcp.method.name": method,
      "mcp.protocol.version": revision.version,
      "jsonrpc.request.id": String(request.id).slice(0, maxIdCharacters),
      "network.transport": exchange.hasHeaders ? "tcp" : "pipe",
      "portcullis.request.id": exchange.requestId,
    },
    ...(parent === undefined ? {} : { parent }),
  });
}

function endRequestSpan(span: Span, { tool, outcome, code }: PublicCall): void {
  if (tool !== null) {
    span.rename(`tools/call ${tool}`);
    span.set({ "gen_ai.tool.name": tool, "gen_ai.operation.name": "execute_tool" });
  }
  if (outcome === "protocol_error" && code !== null) {
    span.set({ "rpc.response.status_code": code });
    span.fail(code);
  } else if (outcome !== "ok") span.fail(outcome);
  span.end();
}

function answerFailure(call: PublicCall, error: unknown): McpAnswer {
  const unavailable = unavailability(error);
  if (unavailable?.cause === "storage_unavailable") return answerUnavailable(call, unavailable);
  call.runtime.log.write("error", "request_failed", {
    requestId: call.exchange.requestId,
    method: call.request.method.slice(0, maxMethodCharacters),
    error: crashText(error),
  });
  if (unavailable !== null) return answerUnavailable(call, unavailable);
  const answer = answerError(call, rpcErrorCode.internalError, "Internal server error");
  call.outcome = "internal_error";
  return answer;
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

/** The scopes that a `tools/call` needs and the principal lacks, without running anything; none for other calls. */
function missingScopes(tools: ToolRegistry, message: unknown, principal: Principal): readonly string[] {
  if (!isObject(message) || message["method"] !== "tools/call" || !isObject(message["params"])) return [];
  const name = message["params"]["name"];
  const tool = typeof name === "string" ? tools.get(name)?.tool : undefined;
  return tool === undefined || hasScopes(principal, tool.scopes) ? [] : tool.scopes;
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
  if (bodies.length === 0) return taken;
  return { kind: "json", status: 200, body: `[${bodies.join(",")}]` };
}

const overBudget = `The answers of this batch are over ${maxAnswerCharacters} characters: send this request separately`;

function invalidBatch(message: string): McpAnswer {
  return { kind: "json", status: 400, body: errorText(null, rpcErrorCode.invalidRequest, message) };
}
