/** What a running tool, prompt or resource sees of its call. Everything that costs is made on first use. */
import { failure, type Result, success } from "../lib/result.ts";
import type { Call, McpAnswer, Outlet } from "./call.ts";
import {
  type Answer,
  type Answers,
  type AskFailure,
  type ClientAbility,
  type Question,
  type Questions,
} from "./question.ts";
import type { Principal } from "../lib/principal.ts";
import { findAnswers, type FoundAnswers } from "./answers_in_request.ts";
import { type LoggingLevel, logLevels, metaOf, notificationText } from "./jsonrpc.ts";
import type { ProgressUpdate, ToolContext } from "./tool.ts";
import type { LiveTask } from "./live_task.ts";
import { type MessageStream, openMessageStream } from "./streams.ts";

// The way for what a call sends before its response is there: messages, of which the first turns the answer into a
// stream, or only the beginning of the answer, without which the loss of the connection would not be noticed.

type BegunAnswer = Extract<McpAnswer, { kind: "stream" | "late_json" }>;

/** Whether a call goes on when its connection is lost. */
function outlivesConnection({ revision, exchange }: Call): boolean {
  return !revision.disconnectCancels && exchange.canComeBack;
}

/** The outlet of a call; `onGone` is called when its client drops the stream. */
function outletOf(call: Call, onGone: () => void): Outlet {
  return call.outlet ??= createOutlet(call, onGone);
}

function createOutlet(call: Call, onGone: () => void): Outlet {
  const onClosed = (abandoned: boolean): void => abandoned ? onGone() : undefined;
  let begun: { readonly answer: BegunAnswer; readonly stream: MessageStream } | null = null;
  let isFinished = false;

  const start = (kind: BegunAnswer["kind"], stream: MessageStream): MessageStream => {
    begun = { answer: { kind, reader: stream.attach(-1) }, stream };
    call.beginAnswer(begun.answer);
    return stream;
  };
  const open = (): MessageStream | null => {
    if (begun !== null) return begun.answer.kind === "stream" ? begun.stream : null;
    const { exchange, principal, session, runtime } = call;
    if (isFinished || !call.isSingle || !exchange.profile.streams || !exchange.acceptsStream) return null;
    const { id: requestId } = call.request;
    const endsWithConnection = !outlivesConnection(call);
    const stream = runtime.streams.open({ principal, session, requestId, endsWithConnection, onClosed });
    if (stream === null) return null;
    if (session !== null && session.revision.primesStreams) stream.push("", false);
    return start("stream", stream);
  };

  return {
    get isStreaming() {
      return begun !== null;
    },
    send: (text, mayBeLost) => open()?.push(text, mayBeLost) ?? false,
    begin() {
      if (open() !== null || begun !== null || isFinished || !call.isSingle || outlivesConnection(call)) return;
      const { timers } = call.runtime;
      start("late_json", openMessageStream({ maxFrames: 1, resumeId: null, detachedMs: 0, onClosed, timers }));
    },
    release: () => open()?.release(),
    finish(final) {
      isFinished = true;
      if (begun === null) return final;
      const { answer, stream } = begun;
      // A cancelled call gets no response, but a body of JSON has to be JSON.
      if ("body" in final && (call.outcome !== "cancelled" || answer.kind === "late_json")) {
        stream.push(final.body, false);
      }
      stream.end();
      return answer;
    },
  };
}

const maxProgressTokenCharacters = 256;
const maxStatusCharacters = 2_000;

/** Why a call ends before its tool does; the protocol layer answers for the tool. */
export type Interruption =
  | Exclude<FoundAnswers<string>, { readonly kind: "answered" }>
  | { readonly kind: "missing_capability"; readonly abilities: readonly ClientAbility[] }
  | { readonly kind: "too_many_tasks" };

/** Unwinds a tool whose call is interrupted. */
export class CallInterrupted extends Error {
  override readonly name = "CallInterrupted";
}

/**
 * A {@link ToolContext} with what the protocol layer does to it. A class, since a closure per member would cost each
 * call more than the call itself.
 */
export class CallContext implements ToolContext {
  readonly principal: Principal;
  readonly #call: Call;
  #controller: AbortController | undefined;
  #abortReason: DOMException | undefined;
  #whenCancelled: PromiseWithResolvers<void> | undefined;
  #whenHandedOut: PromiseWithResolvers<LiveTask> | undefined;
  #task: LiveTask | null = null;
  #interruption: Interruption | null = null;
  #cancelled = false;
  #ended = false;
  #progress = -Infinity;
  #stopWaiting: (() => void) | undefined;
  #answerNow: AbortSignal | undefined;
  #stopHurrying: (() => void) | undefined;
  /** The answers to earlier questions of this run. */
  #answered: Readonly<Record<string, Answer>> = {};

  constructor(call: Call) {
    this.#call = call;
    this.principal = call.principal;
  }

  get interruption(): Interruption | null {
    return this.#interruption;
  }

  /** Whether the client cancelled the call, or is gone. */
  get cancelled(): boolean {
    return this.#cancelled;
  }

  get task(): LiveTask | null {
    return this.#task;
  }

  /** Fulfilled when the client cancels the call or is gone. */
  get whenCancelled(): Promise<void> {
    this.#whenCancelled ??= Promise.withResolvers();
    return this.#whenCancelled.promise;
  }

  /** Fulfilled when the call was handed out as a task. */
  get whenHandedOut(): Promise<LiveTask> {
    this.#whenHandedOut ??= Promise.withResolvers();
    return this.#whenHandedOut.promise;
  }

  get outlet(): Outlet {
    return outletOf(this.#call, () => this.#onGone());
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
    if (answerWithinMs === null || this.#task !== null) return stopping;
    if (this.#answerNow === undefined) {
      const controller = new AbortController();
      this.#answerNow = AbortSignal.any([controller.signal, stopping]);
      const reason = new DOMException("this client waits no longer for an answer", "TimeoutError");
      if (!this.#ended) this.#stopHurrying = timers.after(answerWithinMs, () => controller.abort(reason));
    }
    return this.#answerNow;
  }

  progress(update: ProgressUpdate): void {
    if (this.#ended || !(update.progress > this.#progress)) return; // it must grow (MCP, basic/patterns/progress)
    this.#progress = update.progress;
    if (this.#task !== null) return this.#task.describe(cutMessage(update));
    const progressToken = metaOf(this.#call.request.params)?.["progressToken"];
    if (typeof progressToken !== "string" && typeof progressToken !== "number") return;
    if (String(progressToken).length > maxProgressTokenCharacters) return; // each notice would repeat it
    this.outlet.send(notificationText("notifications/progress", { progressToken, ...update }), true);
  }

  log(level: LoggingLevel, data: unknown, logger?: string): void {
    if (this.#ended || this.#task !== null) return; // SEP-2663: tasks have no log messages
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
    if (this.#task !== null) return await this.#task.ask(questions);
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
    if (this.#task !== null || this.#ended) return;
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
    this.#task = task;
    this.#whenHandedOut ??= Promise.withResolvers();
    this.#whenHandedOut.resolve(task);
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
    if (this.#ended || this.#cancelled) return;
    this.#cancelled = true;
    this.abort(new DOMException("The caller cancelled the call or is gone", "AbortError"));
    this.#whenCancelled ??= Promise.withResolvers();
    this.#whenCancelled.resolve();
  }

  /** Ends the call: what happens to the connection from here on is no cancellation. */
  end(): void {
    this.#ended = true;
    this.#stopWaiting?.();
    this.#stopHurrying?.();
  }

  /** Where the call outlives its connection, it has as long as a stream waits for its client. */
  #onDisconnected(): void {
    if (this.#ended) return;
    if (!outlivesConnection(this.#call)) this.#onGone();
    else if (this.#call.outlet?.isStreaming !== true) {
      const { timers, limits } = this.#call.runtime;
      this.#stopWaiting = timers.after(limits.resumeWindowMs, () => this.#onGone());
    }
  }

  /** A task outlives its connection: only `tasks/cancel` cancels it. */
  #onGone(): void {
    if (this.#task === null || this.#task.cancelRequested) this.cancel();
  }

  #interrupt(interruption: Interruption): never {
    this.#interruption ??= interruption;
    throw new CallInterrupted();
  }
}

/** A task's record holds the message, and a stored value is bounded. */
function cutMessage(update: ProgressUpdate): ProgressUpdate {
  const { message } = update;
  if (message === undefined || message.length <= maxStatusCharacters) return update;
  return { ...update, message: message.slice(0, maxStatusCharacters).toWellFormed() };
}

function abilityFor(question: Question): ClientAbility {
  switch (question.method) {
    case "elicitation/create":
      return "mode" in question.params ? "url_elicitation" : "elicitation";
    case "sampling/createMessage":
      return "sampling";
    case "roots/list":
      return "roots";
  }
}
