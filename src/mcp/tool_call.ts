/**
 * `tools/call`: find the tool, require its scopes, check its input, run it, encode its outcome. How it is run in the
 * context of its call, until it is done or interrupted, is the same for prompts and resources.
 */
import { closestWord } from "../lib/closest_word.ts";
import { hasScopes, type Principal } from "../lib/principal.ts";
import { headerParameterFault, type RegisteredTool, type ToolRegistry } from "./registry.ts";
import { fold, parseToolInput } from "./tool_input.ts";
import type { Profile } from "./profile.ts";
import type { Revision } from "./revision.ts";
import {
  answerError,
  answerInvalid,
  answerMissingCapability,
  answerResult,
  answerUnavailable,
  type Call,
  logCrash,
  mark,
  type McpAnswer,
  objectOf,
} from "./call.ts";
import type { ContentBlock, ToolContext, ToolOutcome } from "./tool.ts";
import { errorText, mcpErrorCode, refusalCode, rpcErrorCode, type RpcId } from "./jsonrpc.ts";
import { isObject } from "../lib/json.ts";
import { inSpan, type Tracer } from "../lib/tracer.ts";
import { CallContext, CallInterrupted, type Interruption, sealRequestState } from "./call_context.ts";
import { nextTurn } from "../lib/turns.ts";
import { unavailability } from "../lib/system_fault.ts";
import type { LiveTask } from "./live_task.ts";

/** Answers `tools/call`. */
export function callTool(call: Call): McpAnswer | Promise<McpAnswer> {
  const { tools } = call.runtime;
  const params = call.request.params;
  if (!isObject(params)) return answerInvalid(call, "params must be an object");
  const { name } = params;
  const input = objectOf(params["arguments"]);
  if (typeof name !== "string") return answerInvalid(call, "params.name must be a string");
  const registered = tools.get(name);
  const profile = registered?.tool.profile;
  if (registered === undefined || (profile !== undefined && profile !== call.exchange.profile.name)) {
    const nearest = nearestTool(name, tools, call.principal);
    const remedy = nearest === null ? "" : `; did you mean ${nearest}?`;
    return answerInvalid(call, `Unknown tool: ${name}${remedy}`);
  }
  const { tool } = registered;
  call.tool = name;
  call.scopes = tool.scopes;
  return hasScopes(call.principal, tool.scopes) ? runTool(registered, input, call) : refuseScopes(call, tool.scopes);
}

function runTool(registered: RegisteredTool, input: unknown, call: Call): McpAnswer | Promise<McpAnswer> {
  const { tool } = registered;
  if (!isObject(input)) return answerInvalid(call, "params.arguments must be an object");
  if (registered.headerParameters.length > 0 && call.revision.checksHeaderParameters && call.exchange.hasHeaders) {
    const fault = headerParameterFault(registered.headerParameters, input, call.exchange);
    if (fault !== null) return answerError(call, mcpErrorCode.headerMismatch, `Header mismatch: ${fault}`);
  }
  const notes: string[] = [];
  const parsed = parseToolInput(registered, input, notes);
  if (!parsed.ok) {
    return call.revision.invalidInputIsToolError
      ? answerOutcome(call, registered, { ok: false, code: "invalid_input", message: parsed.error })
      : answerInvalid(call, parsed.error);
  }
  call.input = parsed.value;
  return runInContext<ToolOutcome>(call, {
    run(context) {
      const { tracer } = call.runtime;
      const run = () => tool.run(parsed.value as never, context);
      return tracer.exports ? inToolSpan(tracer, tool.name, run) : run();
    },
    encode: (outcome) =>
      conformsToOutput(registered, outcome)
        ? answerOutcome(call, registered, withNotes(outcome, notes))
        : answerCrash(call, registered, new TypeError("structuredContent does not fit the output schema"), null),
    crash: (error, words) => answerCrash(call, registered, error, words),
    fail: (code, message) => answerOutcome(call, registered, { ok: false, code, message }),
  });
}

/** The span lasts as long as the tool works, even after the call became a task. */
function inToolSpan(tracer: Tracer, name: string, run: () => ToolOutcome | Promise<ToolOutcome>): Promise<ToolOutcome> {
  const attributes = { "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name };
  return inSpan(
    tracer,
    { name: `execute_tool ${name}`, kind: "internal", attributes },
    run,
    (error) => error instanceof CallInterrupted ? null : "internal_error",
    (outcome) => outcome.ok ? null : outcome.code,
  );
}

function answerOutcome(call: Call, registered: RegisteredTool, outcome: ToolOutcome): McpAnswer {
  const answer = !outcome.ok && call.exchange.profile.toolFailureIsProtocolError
    ? {
      ...answerError(call, rpcErrorCode.internalError, `Tool execution failed: ${wordsOfFailure(outcome)}`),
      status: 200,
    }
    : answerResult(call, toToolResultText(registered, outcome, call), "complete", viewMeta(call, registered, outcome));
  if (!outcome.ok) mark(call, "tool_error", outcome.code);
  return answer;
}

/** What the client's view of the result gets beside it, which no model reads (SEP-1865, data passing). */
function viewMeta({ showsView, change }: Call, { tool }: RegisteredTool, outcome: ToolOutcome): string {
  if (!showsView || tool.hasView !== true) return "";
  const shown = outcome.ok
    ? { data: outcome.view?.() ?? outcome.structuredContent, change: change ?? undefined }
    : { code: outcome.code, waiting: outcome.waiting };
  return `"portcullis/view":${JSON.stringify({ title: tool.title, ...shown })}`;
}

function wordsOfFailure({ message, partial }: Extract<ToolOutcome, { ok: false }>): string {
  const texts = partial?.content.map((block) => block.type === "text" ? block.text : "") ?? [];
  return [message, ...texts].join("\n\n");
}

/** A success that says at its end how the arguments were taken. */
function withNotes(outcome: ToolOutcome, notes: readonly string[]): ToolOutcome {
  if (!outcome.ok || notes.length === 0) return outcome;
  const { encoded: _others, ...own } = outcome; // which were made without the notes
  return { ...own, content: [...own.content, { type: "text", text: `(${notes.join("; ")})` }] };
}

/** A tool that throws has a bug, or lost what it depends on: the log gets the reason, the caller the fact. */
function answerCrash(call: Call, registered: RegisteredTool, error: unknown, words: string | null): McpAnswer {
  const { name } = registered.tool;
  logCrash(call, "tool", name, error);
  return answerOutcome(
    call,
    registered,
    words === null
      ? { ok: false, code: "internal_error", message: `Internal error in tool ${name}` }
      : { ok: false, code: "machine_fault", message: words },
  );
}

const maxNameCharacters = 128;

/** The tool that the caller may use and that is called nearly so, here or elsewhere; `null` when none is. */
export function nearestTool(name: string, tools: ToolRegistry, principal: Principal): string | null {
  if (name.length > maxNameCharacters) return null;
  const offered = tools.all().map(({ tool }) => tool).filter(({ scopes, profile }) =>
    profile === undefined && hasScopes(principal, scopes)
  );
  // clients put a server's name before it: mcp__files__file_read, files.file_read
  const bare = name.split(/__|[./:]/).findLast((part) => part !== "") ?? name;
  const plain = fold(bare);
  const words = wordsIn(bare);
  const known = offered.map(({ name: own, knownAs }) => ({ own, names: [own, ...knownAs?.split(" ") ?? []] }));
  const found =
    known.find(({ own, names }) =>
      names.some((each) => plain === fold(each)) || (plain.endsWith(fold(own)) && /[^a-z]/i.test(name))
    ) ?? known.find(({ names }) => words !== "" && names.some((each) => words === wordsIn(each)));
  // find_and_replace, copy_path: what is done comes last, and the rest says nothing
  const verbs = allWordsIn(bare).filter((word) => word !== "" && !besideVerbs.includes(` ${word} `)).map((verb) =>
    known.find(({ names }) => names.includes(verb))?.own
  );
  const byVerb = verbs.includes(undefined) ? undefined : verbs.at(-1);
  return found?.own ?? byVerb ?? closestWord(name, offered.map(({ name: own }) => own));
}

const besideVerbs = " file files path paths text directory content contents line lines name names string strings " +
  "regex range keyword code in into to by and multi multiple many single new ";

/** What a name says: `file_copy`, `copyFiles` and `copy` are one. */
function wordsIn(name: string): string {
  return allWordsIn(name).filter((word) => !/^(?:files?|)$/.test(word)).sort().join("_");
}

function allWordsIn(name: string): string[] {
  const words = name.replace(/([a-z])(?=[A-Z])/g, "$1_").toLowerCase().split(/[_\W]+/);
  return words.map((word) => word.replace(/^(?:dirs?|folders?|directories)$/, "directory"));
}

/** Whether an outcome keeps what the tool's output schema promises. A failure without structured content always does. */
function conformsToOutput({ tool }: RegisteredTool, outcome: ToolOutcome): boolean {
  if (outcome.ok && outcome.encoded !== undefined && outcome.encoded.size > 0) return true; // as it was the last time
  const structured = outcome.ok ? outcome.structuredContent : outcome.partial?.structuredContent;
  if (tool.output === undefined || (!outcome.ok && structured === undefined)) return true;
  return tool.output.safeParse(structured).success;
}

/** What the encoding of a result depends on. */
type ResultReader = Pick<Call, "revision" | "exchange" | "resultForm">;

/** The JSON text of the result, made once where the outcome keeps it. */
function toToolResultText(registered: RegisteredTool, outcome: ToolOutcome, reader: ResultReader): string {
  if (!outcome.ok || outcome.encoded === undefined) return encodeResult(registered, outcome, reader);
  const { revision, exchange: { profile }, resultForm } = reader;
  const kind = `${revision.version} ${profile.addsMediaType} ${resultForm}`;
  return outcome.encoded.getOrInsertComputed(kind, () => encodeResult(registered, outcome, reader));
}

/**
 * The JSON text of the result. `isError` is always there, `content` is never empty. An error of a tool with a schema but
 * no part of an answer has no `structuredContent`, because clients would check it against the schema.
 */
function encodeResult(
  { outputSchema }: RegisteredTool,
  outcome: ToolOutcome,
  { revision, exchange: { profile }, resultForm }: ResultReader,
): string {
  const answer = outcome.ok ? outcome : outcome.partial;
  const own = answer?.structuredContent;
  const blocks: readonly ContentBlock[] = outcome.ok
    ? outcome.content
    : [{ type: "text", text: outcome.message }, ...answer?.content ?? []];
  const shown = blocks.map((block) => encodeBlock(block, revision, profile));
  if (shown.length === 0) shown.push({ type: "text", text: JSON.stringify(own ?? {}) }); // MCP 2025-06-18, server/tools
  const content = JSON.stringify(shown);
  const isError = `"isError":${!outcome.ok}`;
  const lacksSchema = outcome.ok || outputSchema === undefined;
  if (resultForm === "text" || (own === undefined && !lacksSchema)) return `{"content":${content},${isError}}`;
  const structured = own ?? (resultForm === "structured_or_empty" ? {} : { text: blocks.map(wordsOf).join("\n") });
  return `{"content":${content},"structuredContent":${JSON.stringify(structured)},${isError}}`;
}

/** A block for callers that read nothing but structured content. */
function wordsOf(block: ContentBlock): string {
  switch (block.type) {
    case "text":
      return block.text;
    case "resource":
      return block.resource.text ?? `(${block.resource.uri})`;
    case "resource_link":
      return `${block.name}: ${block.uri}`;
    case "image":
    case "audio":
      return `(${block.type}, ${block.mimeType})`;
  }
}

/** A content block as this revision and this client's habits have it. */
export function encodeBlock(block: ContentBlock, revision: Revision, profile: Profile): unknown {
  if (block.type === "text") return block;
  if (block.type === "image" && profile.addsMediaType) return { ...block, media_type: block.mimeType };
  return revision.encodeContent(block);
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

/** Refuses a request while calls of its principal are stopped; the words say so. */
export function refuseStopped(call: Call, words: string): McpAnswer {
  mark(call, "stopped");
  return answerError(call, rpcErrorCode.invalidRequest, words);
}

/** The refusal of a message that comes too soon; `id` is that of the request, if it was one. */
export function tooManyCalls(id: RpcId | null, retryAfterSeconds: number): McpAnswer {
  const message = `Too many calls. Try again in ${retryAfterSeconds} s`;
  const body = errorText(id, refusalCode.rateLimited, message, { retryAfterSeconds });
  return { kind: "rate_limited", retryAfterSeconds, body };
}

// * Runs a tool, a prompt or a resource in the context of its call, and answers for it: at once when it does, else when
// it is done, interrupted, cancelled, handed out as a task, or out of time.

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
 * Runs `work`. Work that answers without a promise needs no time-out and nothing to cancel it by, which saves 4 of the
 * 20 microseconds of processor time that a call costs (`bench` echo).
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
