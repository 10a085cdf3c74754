/**
 * Runs a tool, a prompt or a resource in the context of its call, and answers for it: at once when it does, else when
 * it is done, interrupted, cancelled, handed out as a task, or out of time.
 */
import { unavailability } from "../lib/system_fault.ts";
import { answerError, answerInvalid, answerMissingCapability, answerResult, answerUnavailable, mark } from "./call.ts";
import type { Call, McpAnswer } from "./call.ts";
import { CallContext, CallInterrupted, type Interruption, sealRequestState } from "./call_context.ts";
import { refusalCode, rpcErrorCode } from "./jsonrpc.ts";
import { nextTurn } from "../lib/turns.ts";
import type { LiveTask } from "./live_task.ts";
import type { ToolContext } from "./tool.ts";

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
    return answerCrash(call, work, error);
  }
  if (outcome instanceof Promise) return settle(call, work, context, outcome);
  context.end();
  return work.encode(outcome);
}

async function settle<Outcome>(
  call: Call,
  work: Work<Outcome>,
  context: CallContext,
  pending: Promise<Outcome>,
): Promise<McpAnswer> {
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
      if (context.cancelled) return cancelled();
      const cause = error instanceof CallInterrupted ? new Error("interrupted for no reason") : error;
      return answerCrash(call, work, cause, context.task !== null);
    },
  ).catch((error) => answerCrash(call, work, error));

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
function answerCrash<Outcome>(call: Call, work: Work<Outcome>, error: unknown, isTask = false): McpAnswer {
  const unavailable = unavailability(error);
  if (unavailable?.cause === "storage_unavailable") return answerUnavailable(call, unavailable);
  const answer = work.crash(error, isTask ? null : unavailable?.text ?? null);
  return isTask ? answerError(call, rpcErrorCode.internalError, unavailable?.text ?? "Internal error") : answer;
}

/** MRTR: the questions are the result of this round. Where nothing can be asked, the call fails. */
async function answerInterruption<Outcome>(
  call: Call,
  work: Work<Outcome>,
  interruption: Interruption,
): Promise<McpAnswer> {
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
