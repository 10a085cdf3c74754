/** Answers one parsed body: finds the era that it belongs to and, for a legacy one, its session, or refuses it. */
import type { Clock } from "../lib/clock.ts";
import { whenReady } from "../lib/when_ready.ts";
import type { McpAnswer } from "./answer.ts";
import type { AuditEntry, TakeAudit } from "./audit.ts";
import { answerBatch, refuseBatch } from "./batch.ts";
import type { Exchange } from "./exchange.ts";
import { dropNulls, echoedId, errorText, type RpcId } from "./jsonrpc.ts";
import type { MessageHandler } from "./message_handler.ts";
import { type ClassificationRefusal, classifyBatch, classifyMessage } from "./classify.ts";
import { defaultLegacyRevision } from "./legacy.ts";
import type { Revision } from "./revision.ts";
import type { McpLimits } from "./limits.ts";
import type { Session, Sessions } from "./session.ts";
import type { ScopeNotices } from "./scope_notices.ts";
import { sessionNotFound } from "./session_streams.ts";
import type { ToolRegistry } from "./tool_registry.ts";

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
export function refuseUnclassified(body: unknown, { code, message, data }: ClassificationRefusal): McpAnswer {
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
