/** Questions to the client during a call: elicitation, sampling, roots. */
import * as z from "zod";
import { hasMoreParts, isObject, parseJson, present } from "../lib/json.ts";
import { failure, type Result, success } from "../lib/result.ts";
import type { Services } from "./limits.ts";
import { putPieces, readPieces, watchEntries } from "../lib/stored_entries.ts";
import { parseStored } from "../lib/system_fault.ts";
import type { RpcResponse } from "./jsonrpc.ts";
import type { StorageKey } from "../storage/mod.ts";
import { createIssuedIds } from "../lib/secrets.ts";

export const tasksExtension = "io.modelcontextprotocol/tasks";
/** Announced to clients that announce it. */
export const viewExtension = "io.modelcontextprotocol/ui";
/** MCP Apps (SEP-1865, 2026-01-26): clients that show views name their media type. */
export const viewMediaType = "text/html;profile=mcp-app";

/** Abilities that a tool may need of its caller. */
export type ClientAbility =
  | "elicitation"
  | "url_elicitation"
  | "sampling"
  | "roots"
  | "tasks"
  | "structured_content"
  | "view";

export type ClientCapabilities = ReadonlySet<ClientAbility>;

/** A client that declared nothing. */
export const noCapabilities: ClientCapabilities = new Set();

/** Reads the `capabilities` of `initialize`, or the `clientCapabilities` of a modern request; tolerates any shape. */
export function parseClientCapabilities(declared: unknown): ClientCapabilities {
  if (!isObject(declared)) return noCapabilities;
  const abilities = new Set<ClientAbility>();
  for (const ability of ["sampling", "roots"] as const) if (isObject(declared[ability])) abilities.add(ability);
  const { elicitation } = declared;
  // Without a mode, a client means forms, as before there were pages (MCP 2025-11-25, client/elicitation).
  if (isObject(elicitation)) {
    const opensPages = isObject(elicitation["url"]);
    if (opensPages) abilities.add("url_elicitation");
    if (!opensPages || isObject(elicitation["form"])) abilities.add("elicitation");
  }
  const extensions = isObject(declared["extensions"]) ? declared["extensions"] : {};
  if (isObject(extensions[tasksExtension])) abilities.add("tasks");
  const view = extensions[viewExtension];
  if (isObject(view) && [view["mimeTypes"]].flat().includes(viewMediaType)) abilities.add("view");
  const { experimental } = declared;
  if (isObject(experimental) && isObject(experimental["structuredContent"])) abilities.add("structured_content");
  return abilities;
}

/** A field of a form (MCP schema `PrimitiveSchemaDefinition`). */
export type FormField = Readonly<Record<string, unknown>> & {
  readonly type: "string" | "number" | "integer" | "boolean" | "array";
};

export type Question =
  | {
    readonly method: "elicitation/create";
    readonly params: {
      readonly message: string;
      readonly requestedSchema: {
        readonly type: "object";
        readonly properties: Readonly<Record<string, FormField>>;
        readonly required?: readonly string[];
      };
    };
  }
  | {
    readonly method: "elicitation/create";
    /** A page for the person to open; what they do there, no client sees. */
    readonly params: { readonly mode: "url"; readonly message: string; readonly url: string };
  }
  | {
    readonly method: "sampling/createMessage";
    readonly params: {
      readonly messages: readonly {
        readonly role: "user" | "assistant";
        readonly content: { readonly type: "text"; readonly text: string };
      }[];
      readonly maxTokens: number;
      readonly systemPrompt?: string;
      readonly temperature?: number;
    };
  }
  | { readonly method: "roots/list"; readonly params?: Readonly<Record<string, never>> };

/** Questions by keys of the tool's own choice. */
export type Questions<Key extends string = string> = Readonly<Record<Key, Question>>;

/** Values in one answer: more than any form, or list of roots, has. */
const maxAnswerParts = 5_000;

const answerShapes = {
  "elicitation/create": z.lazy(() =>
    z.looseObject({
      action: z.enum(["accept", "decline", "cancel"]),
      content: z.preprocess(
        (given) => isObject(given) ? present(given) : given, // what a form left empty
        z.record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.array(z.string())])).nullish(),
      ),
    })
  ),
  "sampling/createMessage": z.lazy(() =>
    z.looseObject({
      role: z.enum(["user", "assistant"]),
      model: z.string(),
      content: z.union([z.looseObject({ type: z.string() }), z.array(z.looseObject({ type: z.string() }))]),
      stopReason: z.string().nullish(),
    })
  ),
  "roots/list": z.lazy(() =>
    z.looseObject({ roots: z.array(z.looseObject({ uri: z.string(), name: z.string().nullish() })) })
  ),
};

/** An answer: which of the three shapes it has follows from the question. */
export interface Answer {
  /** elicitation */
  readonly action?: "accept" | "decline" | "cancel";
  readonly content?: unknown;
  /** sampling */
  readonly role?: "user" | "assistant";
  readonly model?: string;
  /** roots */
  readonly roots?: readonly { readonly uri: string; readonly name?: string }[];
}

export type Answers<Key extends string = string> = Readonly<Record<Key, Answer>>;

/** Why there are no answers. */
export interface AskFailure {
  readonly reason: "refused" | "timeout" | "unreachable";
  /** For the model and its person. */
  readonly message: string;
}

/** An answer checked against its question; `null` when it has the wrong shape. */
export function parseAnswer({ method }: Question, answer: unknown): Answer | null {
  if (hasMoreParts(answer, maxAnswerParts)) return null;
  const parsed = answerShapes[method].safeParse(answer);
  return parsed.success ? parsed.data as Answer : null;
}

// Questions on their way to a legacy client, as requests of the server's own, until the client posts its responses: to
// this instance, or to another, which passes them on through the storage.

/** How questions travel. */
interface Delivery {
  /** The session that may answer. */
  readonly owner: string;
  /** Sends the request; `false` when no client can get it. */
  readonly send: (request: string) => boolean;
  readonly signal: AbortSignal;
}

/** How many pieces a posted response has; stored after them. */
const headShape = z.lazy(() => z.object({ pieces: z.int().min(1) }));

export function createPendingQuestions({ storage, secretBox, clock, timers, log, limits }: Services) {
  const ids = createIssuedIds(secretBox, "mcp-question");
  const keyOf = (id: string): StorageKey => ["mcp_answer", id];
  const pieceOf = (id: string) => (piece: number): StorageKey => [...keyOf(id), String(piece)];
  const pending = new Map<string, { readonly owner: string; readonly settle: (response: RpcResponse) => void }>();

  const passOn = async (id: string, response: RpcResponse): Promise<void> => {
    const expiresAt = clock() + limits.askTimeoutMs; // an answer waits so long for the instance that asked
    const pieces = await putPieces(storage, JSON.stringify(response), { keyOf: pieceOf(id), expiresAt });
    await storage.commit({ puts: [{ key: keyOf(id), value: { pieces }, expiresAt }] });
  };
  /** The response that another instance passed on; `null` while there is none. */
  const readPassedOn = async (id: string): Promise<RpcResponse | null> => {
    const head = await storage.get(keyOf(id));
    if (head === null) return null;
    const { pieces } = parseStored(headShape, head.value, "mcp_answer");
    const keys = Array.from({ length: pieces }, (_, piece) => pieceOf(id)(piece));
    const text = await readPieces(storage, keys);
    await storage.commit({ deletes: [keyOf(id), ...keys] });
    return text === null ? null : parseJson(text) as RpcResponse;
  };
  const askOne = async (question: Question, { owner, send, signal }: Delivery): Promise<Result<Answer, AskFailure>> => {
    const id = ids.issue(owner);
    const { promise, resolve } = Promise.withResolvers<Result<Answer, AskFailure>>();
    const fail = (reason: AskFailure["reason"], message: string): void => resolve(failure({ reason, message }));
    const onAbort = (): void => fail("unreachable", "The caller is gone");
    const stopTimer = timers.after(limits.askTimeoutMs, () => fail("timeout", "The caller did not answer in time"));
    signal.addEventListener("abort", onAbort, { once: true });
    const settle = (response: RpcResponse): void => resolve(readResponse(question, response));
    pending.set(id, { owner, settle });
    const { stop: stopReceiving } = watchEntries(storage, [keyOf(id)], async () => {
      const response = await readPassedOn(id);
      if (response !== null) settle(response);
    }, { log, timers });
    try {
      const request = { jsonrpc: "2.0", id, method: question.method, params: legacyParams(question, id) };
      if (!send(JSON.stringify(request))) fail("unreachable", "The caller cannot be reached");
      return await promise;
    } finally {
      stopTimer();
      signal.removeEventListener("abort", onAbort);
      pending.delete(id);
      stopReceiving();
    }
  };
  return {
    /** Asks all questions at once and waits for all answers; the first that fails fails them all. */
    async ask<Key extends string>(
      questions: Questions<Key>,
      delivery: Delivery,
    ): Promise<Result<Answers<Key>, AskFailure>> {
      const answers: Record<string, Answer> = {};
      const asked = Object.entries<Question>(questions);
      const given = await Promise.all(asked.map(([_, question]) => askOne(question, delivery)));
      for (const [index, answer] of given.entries()) {
        if (!answer.ok) return answer;
        answers[asked[index]?.[0] ?? ""] = answer.value;
      }
      return success(answers as Answers<Key>);
    },
    /**
     * Takes a posted response, and says whether it was waited for here; ignores one to no open question, or of another
     * session. Fulfilled when the instance that asked can read it: to `passOn` is a write.
     */
    async take(owner: string, response: RpcResponse, mayPassOn: boolean): Promise<boolean> {
      const id = String(response.id);
      const waiting = pending.get(id);
      if (waiting?.owner === owner) waiting.settle(response);
      else if (waiting === undefined && mayPassOn && ids.isIssued(id, owner)) await passOn(id, response);
      return waiting?.owner === owner;
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
    const message = isObject(error) && typeof error["message"] === "string" ? error["message"] : "no reason";
    return failure({ reason: "refused", message: `The caller refused: ${message.slice(0, 200)}` });
  }
  const answer = parseAnswer(question, result);
  return answer === null
    ? failure({ reason: "refused", message: "The caller's answer has the wrong shape" })
    : success(answer);
}
