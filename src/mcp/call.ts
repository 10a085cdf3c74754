/** One request on its way through the server: what is known of it, the context of its work, and the answers. */
import type { Principal } from "../lib/principal.ts";
import type { Profile, ResultType, Revision, Session } from "./revision.ts";
import type { FrameReader, MessageStream } from "./streams.ts";
import {
  errorText,
  logLevels,
  mcpErrorCode,
  metaOf,
  notificationText,
  refusalCode,
  resultText,
  rpcErrorCode,
} from "./jsonrpc.ts";
import type { LoggingLevel, RpcId, RpcRequest } from "./jsonrpc.ts";
import { parseAnswer, tasksExtension } from "./question.ts";
import type { Answer, Answers, AskFailure, ClientAbility, Question, Questions } from "./question.ts";
import type { AuditEntry, Runtime } from "./runtime.ts";
import type { ContentBlock, ProgressUpdate, ToolContext } from "./tool.ts";
import { crashText, type Unavailability, unavailability } from "../lib/system_fault.ts";
import { isObject, parseJson, withSortedKeys } from "../lib/json.ts";
import { nextTurn, type StandAside } from "../lib/turns.ts";
import * as z from "zod";
import { failure, type Result, success } from "../lib/result.ts";
import type { LiveTask } from "./tasks.ts";
import { createDigest } from "../lib/secrets.ts";

// What the protocol layer answers to one posted body. The HTTP endpoint, or stdio, turns it into bytes.

/** One answer. Refusals that the transport sends as a status are separate kinds. */
export type McpAnswer =
  | JsonAnswer
  /** Nothing to say: a notification or a posted response was taken. */
  | { readonly kind: "accepted"; readonly status: number }
  /** `scopes` are what the client should request. */
  | { readonly kind: "insufficient_scope"; readonly scopes: readonly string[]; readonly body: string }
  | { readonly kind: "rate_limited"; readonly retryAfterSeconds: number; readonly body: string }
  /** The database is lost for the moment. */
  | { readonly kind: "unavailable"; readonly retryAfterSeconds: number; readonly body: string }
  /** Messages as they come; the last one is the response, unless the stream belongs to no request. */
  | {
    readonly kind: "stream";
    readonly reader: FrameReader; /** The response alone, for callers that read JSON. */
    readonly isJson?: boolean;
  }
  /** A method of HTTP that is not served here. */
  | { readonly kind: "method_not_allowed"; readonly allow: string; readonly message?: string };

interface JsonAnswer {
  readonly kind: "json";
  readonly status: number;
  readonly body: string;
  readonly sessionId?: string;
  /** What was posted is no message of JSON-RPC 2.0. */
  readonly isMalformed?: true;
}

/** What the transport reports about the public part of the handshake, whose caller has shown no token. */
export interface PublicExchange {
  /** Names the request in audit and log. */
  readonly requestId: string;
  readonly profile: Profile;
  /** Whether requests have headers, which must then agree with their bodies. */
  readonly hasHeaders: boolean;
  /** A header's value; names are in lower case. `null` when absent, and for every header of a transport without any. */
  header(name: string): string | null;
}

/** What the transport reports about one posted body. */
export interface Exchange extends PublicExchange {
  readonly principal: Principal;
  /** Whether the answer may be a stream of messages. */
  readonly acceptsStream: boolean;
  /** Whether a caller whose connection is lost may come back for its answer. */
  readonly canComeBack: boolean;
  /** Aborts when the caller is gone. Costly to read: only for calls that wait for something. */
  readonly disconnected: AbortSignal;
}

/** A request with its surroundings, also one of the public handshake. The mutable fields are filled on the way. */
export interface PublicCall {
  readonly request: RpcRequest;
  readonly exchange: PublicExchange;
  readonly revision: Revision;
  readonly runtime: Runtime;
  /** What the audit record will say. */
  tool: string | null;
  outcome: AuditEntry["outcome"];
  code: string | null;
  change: string | null;
}

/**
 * What stands beside the text of a tool's result, which is written once, for a model: programs ask for more. `text`:
 * nothing. `structured`: the tool's structured content, or else the text itself, so that no caller reads an empty object
 * in place of the answer. `structured_or_empty`: `{}` where the tool has none, as ServiceNow's guide has it.
 */
type ResultForm = "text" | "structured" | "structured_or_empty";

/** A request that a token came with. */
export interface Call extends PublicCall {
  readonly exchange: Exchange;
  readonly principal: Principal;
  readonly session: Session | null;
  readonly resultForm: ResultForm;
  /** Whether the client shows views (MCP Apps). */
  readonly showsView: boolean;
  /** Whether the call is alone in its body: only then can its answer become a stream. */
  readonly isSingle: boolean;
  /** Of a batch: gives up its place among those of its caller, see `createParallelShare`. */
  readonly standAside?: StandAside | undefined;
  /** Gives the answer, where that begins before the response is there. */
  readonly beginAnswer: (answer: McpAnswer) => void;
  /** Gives the call's answer where it may have begun: itself, or what is left of the stream, to which it was added. */
  finish: ((answer: McpAnswer) => McpAnswer) | null;
  /** The tool's arguments by its own names, once they were understood. */
  input?: unknown;
  /** Scopes that the call required, and that reading its result therefore requires if it becomes a task. */
  scopes: readonly string[];
}

/** Notes for the audit how the call ended. */
export function mark(call: PublicCall, outcome: AuditEntry["outcome"], code: string = outcome): void {
  call.outcome = outcome;
  call.code = code;
}

/**
 * A successful answer around a result that is already JSON text; its type matters only where revisions have types.
 * `meta`: members of its `_meta`, as JSON text too.
 */
export function answerResult(
  call: PublicCall,
  result: string,
  resultType: ResultType = "complete",
  meta: string = "",
): JsonAnswer {
  return {
    kind: "json",
    status: 200,
    body: resultText(call.request.id, call.revision.encodeResult(result, resultType, meta)),
  };
}

/** A JSON-RPC error, at the HTTP status that the revision gives it. */
export function answerError(call: PublicCall, code: number, message: string, data?: unknown): JsonAnswer {
  mark(call, "protocol_error", String(code));
  return {
    kind: "json",
    status: call.revision.errorStatus(code),
    body: errorText(call.request.id, code, message, data),
  };
}

/** The refusal of params that are not as the method takes them. */
export function answerInvalid(call: PublicCall, message: string, data?: unknown): JsonAnswer {
  return answerError(call, rpcErrorCode.invalidParams, message, data);
}

/** The request's params; none where they are no object. */
export function paramsOf({ request: { params } }: PublicCall): Readonly<Record<string, unknown>> {
  return isObject(params) ? params : {};
}

/** An object, also as its JSON text; an empty one for nothing, and for an empty list, as PHP writes it. Else what it is. */
export function objectOf(given: unknown = {}): unknown {
  const parsed = typeof given === "string" ? parseJson(given || "{}") : given;
  return isObject(parsed) ? parsed : Array.isArray(parsed) && parsed.length === 0 ? {} : given;
}

/** The refusal of a call whose client did not declare what it needs (MCP 2026-07-28, basic: error codes). */
function answerMissingCapability(call: PublicCall, abilities: readonly ClientAbility[]): JsonAnswer {
  const data = { requiredCapabilities: encodeRequiredCapabilities(abilities) };
  const message = `Missing required client capability: ${abilities.join(", ")}`;
  return answerError(call, mcpErrorCode.missingClientCapability, message, data);
}

/** The abilities as a `ClientCapabilities` object, for an error that says what is missing. */
function encodeRequiredCapabilities(abilities: Iterable<ClientAbility>): Readonly<Record<string, unknown>> {
  const encoded: Record<string, unknown> = {};
  for (const ability of abilities) {
    if (ability === "tasks") encoded["extensions"] = { [tasksExtension]: {} };
    else if (ability === "url_elicitation") encoded["elicitation"] = { url: {} };
    else if (ability === "structured_content") encoded["experimental"] = { structuredContent: {} };
    else encoded[ability] = {};
  }
  return encoded;
}

/** Refuses a client that did not declare the extension on this request. */
export function requireTasks(call: Call): JsonAnswer | null {
  const hasTasks = call.revision.capabilitiesOf(call.request, call.session).has("tasks");
  return hasTasks ? null : answerMissingCapability(call, ["tasks"]);
}

/** The answer to a call that lost the database on its way, or for which the machine lacks something. */
export function answerUnavailable(call: PublicCall, { cause, text, retryAfterSeconds }: Unavailability): McpAnswer {
  mark(call, "unavailable", cause);
  const body = errorText(call.request.id, refusalCode.unavailable, text, { retryAfterSeconds });
  return { kind: "unavailable", retryAfterSeconds, body };
}

/** Refuses a call whose token lacks some of the scopes that it needs. */
export function refuseScopes(call: Call, needed: readonly string[]): McpAnswer {
  mark(call, "insufficient_scope");
  return insufficientScope(call.request.id, needed, call.revision.challengesWithGranted ? call.principal.scopes : []);
}

/** The refusal of a call, or of a whole batch; its challenge names the scopes that are needed, and those granted. */
export function insufficientScope(id: RpcId | null, needed: readonly string[], granted: Iterable<string>): McpAnswer {
  const message = `This call needs the scopes: ${needed.join(" ")}`;
  const scopes = [...new Set([...granted, ...needed])];
  return { kind: "insufficient_scope", scopes, body: errorText(id, refusalCode.insufficientScope, message) };
}

/** The refusal of a message that comes too soon; `id` is that of the request, if it was one. */
export function tooManyCalls(id: RpcId | null, retryAfterSeconds: number): McpAnswer {
  const message = `Too many calls. Try again in ${retryAfterSeconds} s`;
  const body = errorText(id, refusalCode.rateLimited, message, { retryAfterSeconds });
  return { kind: "rate_limited", retryAfterSeconds, body };
}

/** Logs what a tool, prompt or resource threw. Its caller learns only that it failed. */
export function logCrash(
  { runtime, exchange: { requestId } }: Call,
  kind: "tool" | "prompt" | "resource",
  name: string,
  error: unknown,
): void {
  runtime.log.write("error", `${kind}_crashed`, { requestId, [kind]: name, error: crashText(error) });
}

/** A content block as this revision and this client's habits have it. */
export function encodeBlock(block: ContentBlock, revision: Revision, profile: Profile): unknown {
  if (block.type === "text") return block;
  if (block.type === "image" && profile.addsMediaType) return { ...block, media_type: block.mimeType };
  return revision.encodeContent(block);
}

/** What is run, and how its outcome is encoded. */
interface Work<Outcome> {
  run(context: ToolContext): Outcome | Promise<Outcome>;
  encode(outcome: Outcome): McpAnswer;
  /** The answer when `run` throws, or breaks a promise. It logs the reason and tells only the fact, or `words`. */
  crash(error: unknown, words: string | null): McpAnswer;
  /** The answer when the work cannot be done, in words for the model. */
  fail(code: string, message: string): McpAnswer;
}

/**
 * Runs a tool, a prompt or a resource in the context of its call, and answers for it: at once when it does, else when
 * it is done, interrupted, cancelled, handed out as a task, or out of time. Work that answers without a promise needs no
 * time-out and nothing to cancel it by, which saves 4 of the 20 microseconds of processor time that a call costs
 * (`bench` echo).
 */
export function runInContext<Outcome>(call: Call, work: Work<Outcome>): McpAnswer | Promise<McpAnswer> {
  const refusal = call.runtime.callWatch.refusal(call.principal);
  if (refusal !== null) return answerStopped(call, work, refusal);
  const context = new CallContext(call);
  let outcome: Outcome | Promise<Outcome>;
  try {
    outcome = work.run(context);
  } catch (error) {
    context.end();
    return answerThrown(call, work, error);
  }
  if (outcome instanceof Promise) return settle(call, work, context, outcome);
  context.end();
  return work.encode(outcome);
}

async function settle<Outcome>(call: Call, work: Work<Outcome>, context: CallContext, pending: Promise<Outcome>) {
  const { runtime, session, request, principal } = call;
  const { timers, toolTimeoutMs, limits: { beginAnswerAfterMs } } = runtime;
  const { promise: timedOut, resolve: onTimeout } = Promise.withResolvers<null>();
  const owner = session?.key ?? principal.tokenId;
  const leave = runtime.inFlight.enter(owner, request.id, () => context.cancel());
  let isStopped = false;
  const leaveWatch = runtime.callWatch.enter(call, () => {
    isStopped = true;
    context.cancel();
  });
  const cancelled = (): McpAnswer => isStopped ? answerStopped(call, work, stoppedWords) : answerCancelled(call);
  const stops = [leave];
  // Work that is done before the event loop's next pass, as small reads of files are, needs no timers.
  const pass = setImmediate(() => {
    stops.push(
      timers.after(toolTimeoutMs, () => {
        context.abort(new DOMException("The call took too long", "TimeoutError"));
        onTimeout(null);
      }),
      timers.after(beginAnswerAfterMs, () => {
        context.outlet.begin();
        // Ids of requests are unique in a session only: without one, no other instance can name the call.
        if (session !== null) stops.push(runtime.inFlight.watch(owner, request.id));
      }),
    );
  });

  const done = pending.then(
    async (outcome) => {
      await nextTurn(); // what is encoded may be large
      if (context.interruption !== null) return answerInterruption(call, work, context.interruption);
      return context.cancelled ? cancelled() : work.encode(outcome);
    },
    (error) => {
      if (context.interruption !== null) return answerInterruption(call, work, context.interruption);
      if (context.cancelled || error === context.signal.reason) return cancelled(); // or out of time, as was answered
      const cause = error instanceof CallInterrupted ? new Error("interrupted for no reason") : error;
      return answerThrown(call, work, cause, context.task !== null);
    },
  ).catch((error) => answerThrown(call, work, error));

  const answer = await Promise.race([
    done,
    timedOut.then(() => null),
    context.whenCancelled.promise.then(cancelled),
    context.whenHandedOut.promise,
  ]);
  clearImmediate(pass);
  for (const stop of stops) stop();
  if (answer !== null && "describe" in answer) return answerTask(call, answer, done, { context, leaveWatch });
  leaveWatch();
  context.end();
  return answer ?? work.fail("timeout", `The call took longer than ${toolTimeoutMs / 1000} s and was stopped`);
}

/** SEP-2663: a task that breaks has failed, unlike one whose tool reports an error. */
function answerThrown<Outcome>(call: Call, work: Work<Outcome>, error: unknown, isTask = false): McpAnswer {
  const unavailable = unavailability(error);
  if (unavailable?.cause === "storage_unavailable") return answerUnavailable(call, unavailable);
  const answer = work.crash(error, isTask ? null : unavailable?.text ?? null);
  return isTask ? answerError(call, rpcErrorCode.internalError, unavailable?.text ?? "Internal error") : answer;
}

/** MRTR: the questions are the result of this round. Where nothing can be asked, the call fails. */
async function answerInterruption<Outcome>(call: Call, work: Work<Outcome>, interruption: Interruption) {
  switch (interruption.kind) {
    case "input_required": {
      const requestState = await sealRequestState(call, interruption.answers);
      const result = JSON.stringify({ inputRequests: interruption.questions, requestState });
      return answerResult(call, result, "input_required");
    }
    case "missing_capability": {
      const { abilities } = interruption;
      return call.revision.asksInResults
        ? answerMissingCapability(call, abilities)
        : work.fail("missing_capability", `This needs a client that supports: ${abilities.join(", ")}`);
    }
    case "bad_answers":
      return answerInvalid(call, interruption.message);
    case "too_many_tasks":
      return work.fail("too_many_tasks", "Too many tasks are running. Wait for one to end, or cancel one");
  }
}

const stoppedWords = "An administrator of this server stopped this call. Do not repeat it; tell your user.";

/** In words for the model: unlike one that cancelled, the caller waits for the answer. */
function answerStopped<Outcome>(call: Call, work: Work<Outcome>, words: string): McpAnswer {
  const answer = work.fail("stopped", words);
  mark(call, "stopped");
  return answer;
}

function answerCancelled(call: Call): McpAnswer {
  const answer = answerError(call, refusalCode.cancelled, "The call was cancelled");
  mark(call, "cancelled");
  return answer;
}

/** The task is the answer; the work goes on, and what comes of it becomes the task's end. */
function answerTask(
  call: Call,
  task: LiveTask,
  done: Promise<McpAnswer>,
  { context, leaveWatch }: { readonly context: CallContext; readonly leaveWatch: () => void },
): McpAnswer {
  const { promise: expired, resolve } = Promise.withResolvers<void>();
  const { timers } = call.runtime;
  const stopLimit = timers.after(task.ttlMs, () => {
    context.abort(new DOMException("The task's time is over", "TimeoutError"));
    resolve();
  });
  const end = Promise.race([
    done.then((answer) => context.cancelled ? null : answer),
    context.whenCancelled.promise.then(() => null),
    expired.then(() => answerError(call, rpcErrorCode.internalError, "The task took too long")),
  ]);
  const stopWatching = call.runtime.watchPerson?.(call.principal, task.requestCancel);
  const started = timers.elapsed();
  const settle = async (): Promise<void> => {
    const { exchange: { requestId }, principal: { subject, clientId }, tool } = call;
    const fields = { requestId, subject, clientId, tool };
    try {
      const outcome = await task.settle(await end);
      call.runtime.log.write("audit", "task_ended", { ...fields, outcome, durationMs: timers.elapsed() - started });
    } catch (error) {
      call.runtime.log.write("error", "task_not_settled", { ...fields, error: String(error) });
    }
  };
  settle().finally(() => {
    stopLimit();
    stopWatching?.();
    leaveWatch();
    context.end();
  });
  return answerResult(call, JSON.stringify(task.seed), "task");
}

/** Why a call ends before its tool does; the protocol layer answers for the tool. */
type Interruption =
  | {
    readonly kind: "input_required";
    /** Questions without an answer yet. */
    readonly questions: Questions;
    /** All answers so far, to be carried to the next round. */
    readonly answers: Readonly<Record<string, unknown>>;
  }
  | { readonly kind: "bad_answers"; readonly message: string }
  | { readonly kind: "missing_capability"; readonly abilities: readonly ClientAbility[] }
  | { readonly kind: "too_many_tasks" };

/** Unwinds a tool whose call is interrupted. */
export class CallInterrupted extends Error {
  override readonly name = "CallInterrupted";
}

const maxProgressTokenCharacters = 256;

/**
 * What the work sees of its call, and what the protocol layer does to it; what costs is made on first use. A class,
 * since a closure per member would cost each call more than the call itself.
 */
class CallContext implements ToolContext {
  readonly principal: Principal;
  interruption: Interruption | null = null;
  /** Whether the client cancelled the call, or is gone. */
  cancelled = false;
  task: LiveTask | null = null;
  readonly #call: Call;
  #whenCancelled: PromiseWithResolvers<void> | undefined;
  #whenHandedOut: PromiseWithResolvers<LiveTask> | undefined;
  #outlet: Outlet | undefined;
  #controller: AbortController | undefined;
  #abortReason: DOMException | undefined;
  #ended = false;
  #progress = -Infinity;
  readonly #stops: (() => void)[] = [];
  #answerNow: AbortSignal | undefined;
  /** The answers to earlier questions of this run. */
  #answered: Readonly<Record<string, Answer>> = {};

  constructor(call: Call) {
    this.#call = call;
    this.principal = call.principal;
  }

  /** Fulfilled when the client cancels the call or is gone. */
  get whenCancelled(): PromiseWithResolvers<void> {
    return this.#whenCancelled ??= Promise.withResolvers();
  }

  /** Fulfilled when the call was handed out as a task. */
  get whenHandedOut(): PromiseWithResolvers<LiveTask> {
    return this.#whenHandedOut ??= Promise.withResolvers();
  }

  get outlet(): Outlet {
    return this.#outlet ??= createOutlet(this.#call, () => this.#onGone());
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#abortReason !== undefined) this.#controller.abort(this.#abortReason);
      else {
        const { disconnected } = this.#call.exchange;
        const gone = (): void => this.#onDisconnected();
        if (disconnected.aborted) gone();
        else disconnected.addEventListener("abort", gone, { once: true });
      }
    }
    return this.#controller.signal;
  }

  get answerNow(): AbortSignal {
    const { runtime: { timers, stopping }, exchange: { profile: { answerWithinMs } } } = this.#call;
    if (answerWithinMs === null || this.task !== null) return stopping.signal;
    if (this.#answerNow === undefined) {
      const controller = new AbortController();
      this.#answerNow = AbortSignal.any([controller.signal, stopping.signal]);
      const reason = new DOMException("this client waits no longer for an answer", "TimeoutError");
      if (!this.#ended) this.#stops.push(timers.after(answerWithinMs, () => controller.abort(reason)));
    }
    return this.#answerNow;
  }

  progress(update: ProgressUpdate): void {
    if (this.#ended || !(update.progress > this.#progress)) return; // it must grow (MCP, basic/patterns/progress)
    this.#progress = update.progress;
    if (this.task !== null) return this.task.describe(update);
    const progressToken = metaOf(this.#call.request.params)?.["progressToken"];
    if (typeof progressToken !== "string" && typeof progressToken !== "number") return;
    if (String(progressToken).length > maxProgressTokenCharacters) return; // each notice would repeat it
    this.outlet.send(notificationText("notifications/progress", { progressToken, ...update }), true);
  }

  log(level: LoggingLevel, data: unknown, logger?: string): void {
    if (this.#ended || this.task !== null) return; // SEP-2663: tasks have no log messages
    const minimum = this.#call.revision.logLevelOf(this.#call.request, this.#call.session);
    if (minimum === null || logLevels.indexOf(level) < logLevels.indexOf(minimum)) return;
    const params = logger === undefined ? { level, data } : { level, logger, data };
    this.outlet.send(notificationText("notifications/message", params), true);
  }

  noteChange(id: string): void {
    this.#call.change = id;
  }

  supports(ability: ClientAbility): boolean {
    return this.#call.revision.capabilitiesOf(this.#call.request, this.#call.session).has(ability);
  }

  async ask<Key extends string>(questions: Questions<Key>): Promise<Result<Answers<Key>, AskFailure>> {
    const missing = new Set<ClientAbility>();
    for (const question of Object.values<Question>(questions)) {
      const ability = abilityFor(question);
      if (!this.supports(ability)) missing.add(ability);
    }
    if (missing.size > 0) this.#interrupt({ kind: "missing_capability", abilities: [...missing] });
    if (this.task !== null) return await this.task.ask(questions);
    const { revision, session, runtime } = this.#call;
    if (!revision.asksInResults) {
      if (session === null) return failure({ reason: "unreachable", message: "The caller cannot be reached" });
      const send = (request: string): boolean => this.outlet.send(request, false);
      return await runtime.questions.ask(questions, { owner: session.key, send, signal: this.signal });
    }
    const found = await findAnswers(this.#call, questions, this.#answered);
    if (found.kind !== "answered") this.#interrupt(found);
    this.#answered = { ...this.#answered, ...found.answers };
    return success(found.answers);
  }

  async handOut({ required = false }: { readonly required?: boolean } = {}): Promise<void> {
    if (this.task !== null || this.#ended) return;
    if (!this.supports("tasks")) {
      if (required) this.#interrupt({ kind: "missing_capability", abilities: ["tasks"] });
      return;
    }
    const task = await this.#call.runtime.tasks.begin(this.principal, this.#call, () => this.#onGone());
    if (task === null) this.#interrupt({ kind: "too_many_tasks" });
    if (this.#ended || this.#abortReason !== undefined) {
      await task.settle(null); // the call was answered while the task was stored: no client knows its id
      return;
    }
    this.task = task;
    this.whenHandedOut.resolve(task);
  }

  standAside(): () => void {
    return this.#call.standAside?.() ?? (() => {});
  }

  release(): void {
    this.outlet.release();
  }

  abort(reason: DOMException): void {
    if (this.#ended || this.#abortReason !== undefined) return;
    this.#abortReason = reason;
    this.#controller?.abort(reason);
  }

  /** The client cancels the call or is gone. */
  cancel(): void {
    if (this.#ended || this.cancelled) return;
    this.cancelled = true;
    this.abort(new DOMException("The caller cancelled the call or is gone", "AbortError"));
    this.whenCancelled.resolve();
  }

  /** Ends the call: what happens to the connection from here on is no cancellation. */
  end(): void {
    this.#ended = true;
    for (const stop of this.#stops) stop();
  }

  /** Where the call outlives its connection, it has as long as a stream waits for its client. */
  #onDisconnected(): void {
    if (this.#ended) return;
    if (!outlivesConnection(this.#call)) this.#onGone();
    else if (this.#outlet?.isStreaming !== true) {
      const { timers, limits } = this.#call.runtime;
      this.#stops.push(timers.after(limits.resumeWindowMs, () => this.#onGone()));
    }
  }

  /** A task outlives its connection: only `tasks/cancel` cancels it. */
  #onGone(): void {
    if (this.task === null || this.task.cancelRequested) this.cancel();
  }

  #interrupt(interruption: Interruption): never {
    this.interruption ??= interruption;
    throw new CallInterrupted();
  }
}

function abilityFor({ method, params }: Question): ClientAbility {
  if (method === "sampling/createMessage") return "sampling";
  if (method === "roots/list") return "roots";
  return "mode" in params ? "url_elicitation" : "elicitation";
}

// The way for what a call sends before its response is there: messages, of which the first turns the answer into a
// stream, or only the beginning of the stream, without which the loss of the connection would not be noticed.

/** Whether a call goes on when its connection is lost. */
function outlivesConnection({ revision, exchange }: Call): boolean {
  return !revision.disconnectCancels && exchange.canComeBack;
}

type Outlet = ReturnType<typeof createOutlet>;

/** Made when first needed; `onGone` is called when the client drops the stream. */
function createOutlet(call: Call, onGone: () => void) {
  let begun: { readonly stream: MessageStream; readonly answer: McpAnswer } | null = null;
  let isFinished = false;

  const open = (): MessageStream | null => {
    if (begun !== null) return begun.stream;
    const { request: { id: requestId }, exchange, principal, session, runtime } = call;
    if (isFinished || !call.isSingle || !exchange.profile.streams) return null;
    const endsWithConnection = !outlivesConnection(call);
    const isJson = !exchange.acceptsStream;
    if (isJson && !endsWithConnection) return null; // then errors keep their own status
    const onClosed = (abandoned: boolean): void => abandoned ? onGone() : undefined;
    const stream = runtime.streams.open({ principal, session, requestId, endsWithConnection, onClosed });
    if (stream === null) return null;
    if (session !== null && session.revision.primesStreams) stream.push("", false);
    begun = { stream, answer: { kind: "stream", reader: stream.attach(-1), isJson } };
    call.beginAnswer(begun.answer);
    return stream;
  };

  call.finish = (final) => {
    isFinished = true;
    if (begun === null) return final;
    const { answer, stream } = begun;
    // a cancelled call gets no response, but a body of JSON has to be JSON
    if ("body" in final && (call.outcome !== "cancelled" || !call.exchange.acceptsStream)) {
      stream.push(final.body, false);
    }
    stream.end();
    return answer;
  };
  return {
    /** Whether the answer has begun. */
    get isStreaming() {
      return begun !== null;
    },
    /** `false` when the answer cannot be a stream, the client is gone, or an expendable message was dropped. */
    send: (text: string, mayBeLost: boolean): boolean =>
      call.exchange.acceptsStream && (open()?.push(text, mayBeLost) ?? false),
    /** Begins the answer, where the client reads streams, or the loss of its connection cancels the call. */
    begin: (): void => void open(),
    /** Ends the connection of the stream where the client can come back. */
    release: () => open()?.release(),
  };
}

// MRTR (2026-07-28, basic/patterns/mrtr): the answers to a tool's questions are in the request, or are still to come.
// What a modern call carries from one round of questions to the next: the answers so far, sealed and bound to the
// principal, the request and an expiry. It comes back from the client, so it is attacker input (MRTR, server
// requirements 4 and 5). It may be presented again until it expires: it holds nothing but the caller's own answers.

const purpose = "mcp-request-state";
const shape = z.lazy(() => z.object({ expiresAt: z.number(), answers: z.record(z.string(), z.unknown()) }));

/** Seals the answers given so far. */
function sealRequestState(call: Call, answers: Readonly<Record<string, unknown>>): Promise<string> {
  const { secretBox, clock, limits } = call.runtime;
  const expiresAt = clock() + limits.requestStateLifetimeMs;
  return secretBox.seal(purpose, JSON.stringify({ expiresAt, answers }), contextOf(call));
}

/** The answers out of a state; `null` when it is altered, expired, someone else's or another request's. */
async function openRequestState(call: Call, state: unknown): Promise<Readonly<Record<string, unknown>> | null> {
  const { secretBox, clock } = call.runtime;
  const text = typeof state === "string" ? await secretBox.open(purpose, state, contextOf(call)) : null;
  if (text === null) return null;
  const { expiresAt, answers } = shape.parse(JSON.parse(text));
  return expiresAt > clock() ? answers : null;
}

/** What the state is bound to: who asks, and for what. */
function contextOf(call: Call): string {
  const { request: { method }, principal: { subject, clientId } } = call;
  const { name, uri, arguments: input } = paramsOf(call);
  const digest = createDigest().update(JSON.stringify([method, name ?? uri, withSortedKeys(input ?? {})]));
  return JSON.stringify([subject, clientId, digest.digest("base64url")]);
}

/** Looks for answers in `inputResponses` and, from earlier rounds, in `requestState`. */
async function findAnswers<Key extends string>(
  call: Call,
  questions: Questions<Key>,
  answeredBefore: Readonly<Record<string, Answer>>,
): Promise<{ readonly kind: "answered"; readonly answers: Answers<Key> } | Interruption> {
  const { inputResponses = {}, requestState } = paramsOf(call);
  const bad = (message: string) => ({ kind: "bad_answers", message } as const);
  if (!isObject(inputResponses)) return bad("inputResponses must be an object");
  const earlier = requestState === undefined ? {} : await openRequestState(call, requestState);
  if (earlier === null) {
    return bad("requestState is not valid for this request: leave it out, and the questions come again");
  }
  const answers: Record<string, Answer> = {};
  const open: Record<string, Question> = {};
  for (const [key, question] of Object.entries<Question>(questions)) {
    const given = Object.hasOwn(inputResponses, key) ? inputResponses[key] : earlier[key];
    if (given === undefined) {
      open[key] = question;
      continue;
    }
    const answer = parseAnswer(question, given);
    if (answer === null) return bad(`inputResponses.${key} is no answer to ${question.method}`);
    answers[key] = answer;
  }
  if (Object.keys(open).length === 0) return { kind: "answered", answers: answers as Answers<Key> };
  return { kind: "input_required", questions: open, answers: { ...earlier, ...answeredBefore, ...answers } };
}
