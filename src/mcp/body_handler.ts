/** Answers one parsed body: finds the era that it belongs to and, for a legacy one, its session, or refuses it. */
import { nextTurn } from "../lib/turns.ts";
import type { Principal } from "../lib/principal.ts";
import type { McpAnswer } from "./message_stream.ts";
import { isObject } from "../lib/json.ts";
import {
  dropNulls,
  echoedId,
  errorText,
  kindOfMessage,
  refusalCode,
  rpcErrorCode,
  type RpcId,
  type RpcRequest,
} from "./jsonrpc.ts";
import type { Revision } from "./revision.ts";
import { insufficientScope, missingScopes } from "./tool_call.ts";
import type { ToolRegistry } from "./registry.ts";
import type { Clock } from "../lib/time.ts";
import { whenReady } from "../lib/join_next.ts";
import type { AuditEntry, TakeAudit } from "./audit.ts";
import type { Exchange, PublicCall, PublicExchange, Runtime } from "./call.ts";
import type { MessageHandler, ObserveRequest } from "./message_handler.ts";
import { type ClassificationRefusal, classifyBatch, classifyMessage } from "./classify.ts";
import { defaultLegacyRevision } from "./legacy.ts";
import type { McpLimits } from "./limits.ts";
import type { Session, Sessions } from "./session.ts";
import { type ScopeNotices, sessionNotFound } from "./session_streams.ts";
import { answerPublicInitialize, noteInitialized, type OpeningOptions } from "./initialize.ts";

// Batches: arrays of messages, which only 2025-03-26 has. What their answers may take together is bounded.

/** What judges a batch. */
interface BatchOptions {
  readonly tools: ToolRegistry;
  readonly maxBatchLength: number;
}

/** Refuses a batch whole, before anything runs; `null` when each of its messages may be answered. */
function refuseBatch(
  { tools, maxBatchLength }: BatchOptions,
  batch: readonly unknown[],
  revision: Revision,
  principal: Principal,
): McpAnswer | null {
  if (!revision.acceptsBatches) return invalidBatch(`Protocol version ${revision.version} has no batches`);
  if (batch.length === 0) return invalidBatch("A batch must not be empty"); // JSON-RPC 2.0 §6
  if (batch.length > maxBatchLength) return invalidBatch(`A batch must not have more than ${maxBatchLength} messages`);
  if (batch.some((message) => isObject(message) && message["method"] === "initialize")) {
    return invalidBatch("initialize must not be part of a batch"); // MCP 2025-03-26, basic/lifecycle
  }
  const missing = new Set(batch.flatMap((message) => missingScopes(tools, message, principal)));
  return missing.size > 0 ? insufficientScope(null, [...missing], principal.scopes) : null;
}

/** Characters of answers after which no further message of the batch is answered: four of the largest usual reads. */
const maxAnswerCharacters = 8_000_000;
/** Messages of one batch that are answered at the same time: what is over the budget is at most as many answers. */
const maxMessagesAtOnce = 4;

/** What answers a batch's messages. */
interface BatchAnswering {
  /** Answers one of them. */
  readonly answer: (message: unknown) => McpAnswer | Promise<McpAnswer>;
  /** Is told once when messages are refused because the answers have become too large. */
  readonly onBudgetSpent: () => void;
}

/** Answers the messages of a batch with one body. Requests over the budget are refused, each under its own id. */
export async function answerBatch(
  batch: readonly unknown[],
  { answer, onBudgetSpent }: BatchAnswering,
): Promise<McpAnswer> {
  const bodies: string[] = Array(batch.length).fill("");
  let next = 0;
  let characters = 0;
  let isSpent = false;
  const work = async (): Promise<void> => {
    while (next < batch.length) {
      const pause = nextTurn(); // fifty answers that need no wait would be one long step
      if (pause !== undefined) {
        await pause;
        continue;
      }
      const index = next++;
      const message = batch[index];
      if (characters > maxAnswerCharacters && kindOfMessage(message) === "request") {
        bodies[index] = errorText(echoedId(message), rpcErrorCode.invalidRequest, overBudget);
        if (!isSpent) onBudgetSpent();
        isSpent = true;
        continue;
      }
      const answered = await answer(message);
      if (!("body" in answered)) continue;
      bodies[index] = answered.body;
      characters += answered.body.length;
    }
  };
  await Promise.all(Array.from({ length: maxMessagesAtOnce }, work));
  const given = bodies.filter((body) => body !== "");
  if (given.length === 0) return { kind: "accepted", status: 202 };
  return { kind: "json", status: 200, body: `[${given.join(",")}]` };
}

const overBudget = `The answers of this batch are over ${maxAnswerCharacters} characters: send this request by itself`;

function invalidBatch(message: string): McpAnswer {
  return { kind: "json", status: 400, body: errorText(null, rpcErrorCode.invalidRequest, message) };
}

interface BodyHandlerOptions {
  readonly tools: ToolRegistry;
  readonly limits: McpLimits;
  readonly clock: Clock;
  readonly sessions: Sessions;
  readonly modern: Revision;
  readonly scopeNotices: ScopeNotices;
  readonly answerMessage: MessageHandler;
  readonly audit: TakeAudit;
}

/** Answers one parsed body. Rejects only when the storage is lost. */
export type BodyHandler = (body: unknown, exchange: Exchange) => McpAnswer | Promise<McpAnswer>;

export function createBodyHandler(options: BodyHandlerOptions): BodyHandler {
  const { tools, limits, clock, sessions, modern, scopeNotices, answerMessage, audit } = options;

  const answerLegacy = (
    body: unknown,
    exchange: Exchange,
    named: Revision | null,
    session: Session | null,
  ): McpAnswer | Promise<McpAnswer> => {
    const revision = named ?? session?.revision ?? defaultLegacyRevision;
    if (!Array.isArray(body)) return answerMessage(body, { exchange, revision, session, isSingle: true });
    const refusal = refuseBatch({ tools, ...limits }, body, revision, exchange.principal);
    if (refusal !== null) {
      if (refusal.kind === "insufficient_scope") audit(refusedBatchEntry(exchange, clock(), "insufficient_scope"));
      return refusal;
    }
    return answerBatch(body, {
      answer: (message) => answerMessage(message, { exchange, revision, session, isSingle: false }),
      onBudgetSpent: () => audit(refusedBatchEntry(exchange, clock(), "protocol_error")),
    });
  };

  return (body, exchange) => {
    scopeNotices.note(exchange.principal);
    for (const message of Array.isArray(body) ? body : [body]) dropNulls(message);
    const classified = Array.isArray(body)
      ? classifyBatch(body, exchange.header("mcp-protocol-version"))
      : classifyMessage(body, exchange, modern);
    if (!classified.ok) return refuseUnclassified(body, classified.error);
    const revision = classified.value;
    if (revision === modern) return answerMessage(body, { exchange, revision, session: null, isSingle: true });
    const sessionId = exchange.header("mcp-session-id");
    if (sessionId === null || isInitialize(body)) return answerLegacy(body, exchange, revision, null);
    return whenReady(
      sessions.find(sessionId, exchange.principal),
      (session) => session === null ? sessionNotFound(idOf(body)) : answerLegacy(body, exchange, revision, session),
    );
  };
}

/** The refusal of a body that belongs to no revision. */
function refuseUnclassified(body: unknown, { code, message, data }: ClassificationRefusal): McpAnswer {
  return { kind: "json", status: 400, body: errorText(idOf(body), code, message, data) };
}

/** One record stands for all calls of a batch that lacks scopes, or for those over its budget. */
function refusedBatchEntry(
  { requestId, principal: { subject, clientId, grantId } }: Exchange,
  time: number,
  outcome: "insufficient_scope" | "protocol_error",
): AuditEntry {
  return {
    time,
    requestId,
    subject,
    clientId,
    grantId,
    method: "tools/call",
    tool: null,
    outcome,
    code: outcome === "insufficient_scope" ? outcome : "batch_too_large",
    durationMs: 0,
  };
}

function isInitialize(body: unknown): boolean {
  return (body as { readonly method?: unknown } | null)?.method === "initialize";
}

function idOf(body: unknown): RpcId | null {
  return Array.isArray(body) ? null : echoedId(body);
}

// The part of the legacy handshake that needs no token. The transport decides which callers may have it.

interface PublicHandshakeOptions extends OpeningOptions {
  readonly runtime: Runtime;
  readonly modern: Revision;
  readonly observe: ObserveRequest;
}

/** Answers one parsed body of a caller without a token: `initialize`, `notifications/initialized`, and nothing else. */
export type PublicHandshake = (body: unknown, exchange: PublicExchange) => Promise<McpAnswer>;

export function createPublicHandshake(options: PublicHandshakeOptions): PublicHandshake {
  const { runtime, modern, observe } = options;
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
    const call: PublicCall = {
      request: body as RpcRequest,
      exchange,
      revision: classified.value ?? defaultLegacyRevision,
      runtime,
      tool: null,
      outcome: "ok",
      code: null,
      change: null,
    };
    return await observe(call, null, () => answerPublicInitialize(options, call));
  };
}
