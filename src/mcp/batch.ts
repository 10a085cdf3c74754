/** Batches: arrays of messages, which only 2025-03-26 has. */
import type { McpAnswer } from "./answer.ts";
import type { Exchange } from "./exchange.ts";
import { errorCode, errorText } from "./jsonrpc.ts";
import type { Revision } from "./revisions/revision.ts";
import { insufficientScope, missingScopes } from "./tool_call.ts";
import type { ToolRegistry } from "./tool_registry.ts";

/** What batches need from their server. */
export interface BatchOptions {
  readonly tools: ToolRegistry;
  readonly maxBatchLength: number;
}

/** Answers one message of a batch. */
type AnswerMessage = (
  message: unknown,
  exchange: Exchange,
  revision: Revision,
) => McpAnswer | Promise<McpAnswer>;

/** Answers a batch with the array of its responses, or refuses it whole before anything runs. */
export async function answerBatch(
  options: BatchOptions,
  batch: readonly unknown[],
  exchange: Exchange,
  revision: Revision,
  answerMessage: AnswerMessage,
): Promise<McpAnswer> {
  if (!revision.acceptsBatches) return refuseBatch(`Protocol version ${revision.version} has no batches`);
  if (batch.length === 0) return refuseBatch("A batch must not be empty"); // JSON-RPC 2.0 §6
  if (batch.length > options.maxBatchLength) {
    return refuseBatch(`A batch must not have more than ${options.maxBatchLength} messages`);
  }
  if (batch.some((message) => (message as { readonly method?: unknown } | null)?.method === "initialize")) {
    return refuseBatch("initialize must not be part of a batch"); // MCP 2025-03-26, basic/lifecycle
  }
  const { principal } = exchange;
  if (principal !== null) {
    const missing = new Set(batch.flatMap((message) => missingScopes(options.tools, message, principal)));
    if (missing.size > 0) return insufficientScope(null, [...missing]);
  }
  const answers = await Promise.all(batch.map((message) => answerMessage(message, exchange, revision)));
  const bodies = answers.flatMap((answer) => answer.kind === "accepted" ? [] : [answer.body]);
  if (bodies.length === 0) return { kind: "accepted", status: 202 };
  return { kind: "json", status: 200, body: `[${bodies.join(",")}]` };
}

function refuseBatch(message: string): McpAnswer {
  return { kind: "json", status: 400, body: errorText(null, errorCode.invalidRequest, message) };
}
