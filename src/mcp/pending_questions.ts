/**
 * Questions on their way to a legacy client, as requests of the server's own, until the client posts its responses: to
 * this instance, or to another, which passes them on through the storage.
 */
import * as z from "zod";
import type { Clock, Timers } from "../lib/time.ts";
import type { Log } from "../lib/log.ts";
import { failure, type Result, success } from "../lib/result.ts";
import type { SecretBox } from "../lib/secrets.ts";
import { type Admission, admitted } from "../lib/join_next.ts";
import { watchEntries } from "../lib/stored_entries.ts";
import { parseStored } from "../lib/system_fault.ts";
import { createIssuedIds } from "./stream_table.ts";
import { isObject, parseJson } from "../lib/json.ts";
import type { RpcResponse } from "./jsonrpc.ts";
import type { Storage, StorageKey } from "../storage/mod.ts";
import { type Answer, type AskFailure, parseAnswer, type Question } from "./question.ts";

/** How a question travels. */
interface Delivery {
  /** The session that may answer. */
  readonly owner: string;
  /** Sends the request; `false` when no client can get it. */
  readonly send: (request: string) => boolean;
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
}

/** The questions that wait for answers. */
export type PendingQuestions = ReturnType<typeof createPendingQuestions>;

interface PendingQuestionsOptions {
  readonly storage: Storage;
  readonly secretBox: SecretBox;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly log: Log;
  /** How long an answer waits for the instance that asked. */
  readonly askTimeoutMs: number;
}

/** So many characters have less than 524,288 bytes as JSON, whatever they are. */
const pieceCharacters = 80_000;
const pieceShape = z.lazy(() => z.string());
/** How many pieces a posted response has; stored after them. */
const headShape = z.lazy(() => z.object({ pieces: z.int().min(1) }));

export function createPendingQuestions(options: PendingQuestionsOptions) {
  const { storage, secretBox, clock, timers, log, askTimeoutMs } = options;
  const ids = createIssuedIds(secretBox, "mcp-question");
  const keyOf = (id: string): StorageKey => ["mcp_answer", id];
  const pending = new Map<string, { readonly owner: string; readonly settle: (response: RpcResponse) => void }>();
  const passOn = async (id: string, response: RpcResponse): Promise<void> => {
    const [key, text, expiresAt] = [keyOf(id), JSON.stringify(response), clock() + askTimeoutMs];
    const pieces = Math.ceil(text.length / pieceCharacters);
    for (let piece = 0; piece < pieces; piece++) {
      const value = text.slice(piece * pieceCharacters, (piece + 1) * pieceCharacters);
      await storage.commit({ puts: [{ key: [...key, String(piece)], value, expiresAt }] });
    }
    await storage.commit({ puts: [{ key, value: { pieces }, expiresAt }] });
  };
  /** The response that another instance passed on; `null` while there is none. */
  const readPassedOn = async (id: string): Promise<RpcResponse | null> => {
    const key = keyOf(id);
    const head = await storage.get(key);
    if (head === null) return null;
    const { pieces } = parseStored(headShape, head.value, "mcp_answer");
    const keys = Array.from({ length: pieces }, (_, piece): StorageKey => [...key, String(piece)]);
    let text = "";
    for (const at of keys) text += parseStored(pieceShape, (await storage.get(at))?.value, "mcp_answer");
    await storage.commit({ deletes: [key, ...keys] });
    return parseJson(text) as RpcResponse;
  };
  const passOnIfAdmitted = async (
    id: string,
    response: RpcResponse,
    admit: () => Admission | Promise<Admission>,
  ): Promise<Admission> => {
    const admission = await admit();
    if (admission.ok) await passOn(id, response);
    return admission;
  };
  return {
    async ask(question: Question, { owner, send, signal, timeoutMs }: Delivery): Promise<Result<Answer, AskFailure>> {
      const id = ids.issue(owner);
      const { promise, resolve } = Promise.withResolvers<Result<Answer, AskFailure>>();
      const fail = (reason: AskFailure["reason"], message: string): void => resolve(failure({ reason, message }));
      const onAbort = (): void => fail("unreachable", "The caller is gone");
      const stopTimer = timers.after(timeoutMs, () => fail("timeout", "The caller did not answer in time"));
      signal.addEventListener("abort", onAbort, { once: true });
      const settle = (response: RpcResponse): void => resolve(readResponse(question, response));
      pending.set(id, { owner, settle });
      const { stop: stopReceiving } = watchEntries(storage, [keyOf(id)], async () => {
        const response = await readPassedOn(id);
        if (response !== null) settle(response);
      }, { log, timers });
      try {
        if (
          !send(JSON.stringify({ jsonrpc: "2.0", id, method: question.method, params: legacyParams(question, id) }))
        ) {
          fail("unreachable", "The caller cannot be reached");
        }
        return await promise;
      } finally {
        stopTimer();
        signal.removeEventListener("abort", onAbort);
        pending.delete(id);
        stopReceiving();
      }
    },
    /**
     * Takes a posted response; ignores one to no open question, or of another session. Fulfilled when the instance that
     * asked can read it. Passing one on is a write, so `admit` is asked about it.
     */
    take(
      owner: string,
      response: RpcResponse,
      admit: () => Admission | Promise<Admission>,
    ): Admission | Promise<Admission> {
      const id = String(response.id);
      const waiting = pending.get(id);
      if (waiting !== undefined) {
        if (waiting.owner === owner) waiting.settle(response);
        return admitted;
      }
      return ids.isIssued(id, owner) ? passOnIfAdmitted(id, response, admit) : admitted;
    },
  };
}

/** MCP 2025-11-25 names a page's visit; later revisions do not. */
function legacyParams(question: Question, elicitationId: string): Readonly<Record<string, unknown>> {
  const { params = {} } = question;
  return "mode" in params ? { ...params, elicitationId } : params;
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
