/** Batches: arrays of messages, which only 2025-03-26 has. */
import type { Principal } from "../lib/principal.ts";
import type { McpAnswer } from "./answer.ts";
import { isObject } from "../lib/is_object.ts";
import { errorCode, errorText } from "./jsonrpc.ts";
import type { Revision } from "./revisions/revision.ts";
import { insufficientScope } from "./scopes.ts";
import { missingScopes } from "./tool_call.ts";
import type { ToolRegistry } from "./tool_registry.ts";

/** What judges a batch. */
export interface BatchOptions {
  readonly tools: ToolRegistry;
  readonly maxBatchLength: number;
}

/** Refuses a batch whole, before anything runs; `null` when each of its messages may be answered. */
export function refuseBatch(
  { tools, maxBatchLength }: BatchOptions,
  batch: readonly unknown[],
  revision: Revision,
  principal: Principal | null,
): McpAnswer | null {
  if (!revision.acceptsBatches) return invalidBatch(`Protocol version ${revision.version} has no batches`);
  if (batch.length === 0) return invalidBatch("A batch must not be empty"); // JSON-RPC 2.0 §6
  if (batch.length > maxBatchLength) return invalidBatch(`A batch must not have more than ${maxBatchLength} messages`);
  if (batch.some((message) => isObject(message) && message["method"] === "initialize")) {
    return invalidBatch("initialize must not be part of a batch"); // MCP 2025-03-26, basic/lifecycle
  }
  if (principal === null) return invalidBatch("A batch needs a token");
  const missing = new Set(batch.flatMap((message) => missingScopes(tools, message, principal)));
  return missing.size > 0 ? insufficientScope(null, [...missing]) : null;
}

/** The answers to the messages of a batch as one body. */
export function joinAnswers(answers: readonly McpAnswer[]): McpAnswer {
  const bodies = answers.flatMap((answer) => "body" in answer ? [answer.body] : []);
  if (bodies.length === 0) return { kind: "accepted", status: 202 };
  return { kind: "json", status: 200, body: `[${bodies.join(",")}]` };
}

function invalidBatch(message: string): McpAnswer {
  return { kind: "json", status: 400, body: errorText(null, errorCode.invalidRequest, message) };
}
