/** Batches: arrays of messages, which only 2025-03-26 has. What their answers may take together is bounded. */
import { nextTurn } from "../lib/turns.ts";
import type { Principal } from "../lib/principal.ts";
import type { McpAnswer } from "./answer.ts";
import { isObject } from "../lib/json.ts";
import { echoedId, errorText, kindOfMessage, rpcErrorCode } from "./jsonrpc.ts";
import type { Revision } from "./revision.ts";
import { insufficientScope } from "./refusals.ts";
import { missingScopes } from "./tool_call.ts";
import type { ToolRegistry } from "./tool_registry.ts";

/** What judges a batch. */
interface BatchOptions {
  readonly tools: ToolRegistry;
  readonly maxBatchLength: number;
}

/** Refuses a batch whole, before anything runs; `null` when each of its messages may be answered. */
export function refuseBatch(
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
