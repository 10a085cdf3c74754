/** Questions on their way to a legacy client, as requests of the server's own, until the client posts its responses. */
import { randomUUID } from "node:crypto";
import { failure, type Result, success } from "../lib/result.ts";
import { isObject } from "./json.ts";
import { requestText, type RpcResponse } from "./jsonrpc.ts";
import { type Answer, type AskFailure, parseAnswer, type Question } from "./question.ts";

/** How a question travels. */
export interface Delivery {
  /** The session that may answer. */
  readonly owner: string;
  /** Sends the request; `false` when there is nobody to send it to. */
  readonly send: (request: string) => boolean;
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
}

/** The questions that wait for answers. */
export interface PendingQuestions {
  ask(question: Question, delivery: Delivery): Promise<Result<Answer, AskFailure>>;
  /** Takes a posted response; ignores one that nobody waits for, or that another session owes. */
  take(owner: string, response: RpcResponse): void;
}

/** Makes an empty set of pending questions. */
export function createPendingQuestions(): PendingQuestions {
  const pending = new Map<string, { readonly owner: string; readonly settle: (response: RpcResponse) => void }>();
  return {
    async ask(question, { owner, send, signal, timeoutMs }) {
      const id = randomUUID();
      const { promise, resolve } = Promise.withResolvers<Result<Answer, AskFailure>>();
      const fail = (reason: AskFailure["reason"], message: string): void => resolve(failure({ reason, message }));
      const onAbort = (): void => fail("unreachable", "The caller is gone");
      const timer = setTimeout(() => fail("timeout", "The caller did not answer in time"), timeoutMs);
      signal.addEventListener("abort", onAbort, { once: true });
      pending.set(id, { owner, settle: (response) => resolve(readResponse(question, response)) });
      try {
        if (!send(requestText(id, question.method, question.params ?? {}))) {
          fail("unreachable", "The caller cannot be reached");
        }
        return await promise;
      } finally {
        clearTimeout(timer);
        signal.removeEventListener("abort", onAbort);
        pending.delete(id);
      }
    },
    take(owner, response) {
      const waiting = pending.get(String(response.id));
      if (waiting !== undefined && waiting.owner === owner) waiting.settle(response);
    },
  };
}

function readResponse(question: Question, { result, error }: RpcResponse): Result<Answer, AskFailure> {
  if (error !== undefined) {
    const message = isObject(error) && typeof error["message"] === "string"
      ? error["message"].slice(0, 200)
      : "no reason";
    return failure({ reason: "refused", message: `The caller refused: ${message}` });
  }
  const answer = parseAnswer(question, result);
  if (answer === null) return failure({ reason: "refused", message: "The caller's answer has the wrong shape" });
  return success(answer);
}
