/** The local model: bounds and the queue before anything is sent, and further attempts while the server is full. */
import { type Clock, pause } from "../lib/time.ts";
import { failure, type Result, success } from "../lib/result.ts";
import {
  cancelled,
  type HostReport,
  type ModelCall,
  type ModelClient,
  type ModelEvent,
  type ModelFailed,
  modelFailed,
  type ModelRequest,
  type OllamaFailure,
  ollamaFailure,
  type OllamaLimits,
  ollamaLimits,
} from "./port.ts";

/** A call on behalf of a principal. */
export interface PrincipalCall extends Pick<ModelCall, "signal"> {
  /** At most the server's own limit, which holds when it is left out. */
  readonly totalMs?: number;
  /** Calls under the same key share one turn when callers wait. */
  readonly fairnessKey: string;
  /** Whose client it is; turns go round the people first. Without it every client counts as a person. */
  readonly person?: string;
}

/** The port that tools use. */
export type LocalModel = ReturnType<typeof createLocalModel>;

/** Puts the queue and the bounds before a client. A call that finds the server full is sent again, at most twice. */
export function createLocalModel(options: {
  readonly client: ModelClient;
  readonly queue: ModelQueue;
  /** How long a call may take, its time in the queue included. */
  readonly totalMs: number;
  readonly limits?: OllamaLimits;
  /** The same as the client's. */
  readonly clock: Clock;
  /** Uniform in [0, 1), for the pause before another attempt. */
  readonly random: () => number;
}) {
  const { client, queue, limits = ollamaLimits, clock, random } = options;

  /** Sends the call again while the server is full or not yet there: nothing of it was processed then. */
  async function* attempt(
    request: ModelRequest,
    { signal, end }: { readonly signal: AbortSignal; readonly end: number },
  ): AsyncGenerator<ModelEvent, void> {
    const remainingMs = (): number => Math.max(1, end - clock());
    let refused: ModelFailed | null = null;
    for (let attempts = 1;; attempts++) {
      const earlier = refused; // says more than that little time was left
      refused = null;
      for await (const event of client.ask(request, { signal, totalMs: remainingMs() })) {
        if (event.type === "failed" && event.failure.mayRetry) refused = event;
        else yield event.type === "failed" && event.failure.code === "timeout_first_byte" ? earlier ?? event : event;
      }
      if (refused === null) return;
      const isLoading = refused.failure.mayRetry === "loading";
      const backoffMs = limits.retryDelayMs * 2 ** (attempts - 1) * (0.5 + random() / 2);
      const delayMs = isLoading ? Math.min(backoffMs, limits.maxLoadingDelayMs) : backoffMs;
      if ((!isLoading && attempts >= limits.maxAttempts) || delayMs >= remainingMs()) return yield refused;
      await pause(delayMs, signal);
      if (signal.aborted) return yield modelFailed(cancelled);
    }
  }

  async function* ask(request: ModelRequest, call: PrincipalCall): AsyncGenerator<ModelEvent, void> {
    const promptBytes = bytesOf(request);
    if (promptBytes > limits.maxPromptBytes) {
      const words = `The prompt has ${promptBytes} bytes and may have ${limits.maxPromptBytes}; shorten it.`;
      return yield modelFailed(ollamaFailure("invalid_request", words));
    }
    const totalMs = Math.min(call.totalMs ?? options.totalMs, options.totalMs);
    const end = clock() + totalMs;
    const caller = { person: call.person ?? call.fairnessKey, client: call.fairnessKey };
    const entered = await queue.enter(caller, { signal: call.signal, maxWaitMs: totalMs });
    if (!entered.ok) return yield modelFailed(fromRefusal(entered.error, queue));
    const place = entered.value;
    const signal = AbortSignal.any([call.signal, place.signal]);
    try {
      for await (const event of attempt(request, { signal, end })) {
        const isPushedOut = event.type === "failed" && place.signal.aborted && !call.signal.aborted;
        yield isPushedOut ? modelFailed(shareSpent) : event;
      }
    } finally {
      place.release();
    }
  }

  const listeners: (() => void)[] = [];
  let known: HostReport | null = null;
  let knownAt = -Infinity;
  let asking: Promise<HostReport> | null = null;
  const closing = new AbortController();
  const report = async (signal: AbortSignal): Promise<HostReport> => {
    const fresh = await client.report(signal);
    if (fresh.failure?.code === "cancelled") return fresh;
    [known, knownAt] = [fresh, clock()];
    for (const listener of listeners) listener();
    return fresh;
  };

  return {
    host: client.host,
    /** How long a call may take, its time in the queue included. */
    totalMs: options.totalMs,
    /** Bytes of all the text that a request may hold. */
    maxPromptBytes: limits.maxPromptBytes,
    /** The last report; `null` before the first. */
    get known() {
      return known;
    },
    /** Leaving the iteration early stops the model too. */
    ask,
    /** Asks the engine what it has. */
    report,
    /** The same, unless it was asked a moment ago; callers at the same time share one answer. */
    recentReport(): Promise<HostReport> {
      if (known !== null && clock() - knownAt < limits.reportKeptMs) return Promise.resolve(known);
      return asking ??= report(closing.signal).finally(() => asking = null);
    },
    /** Calls `listener` after each report. */
    onReport: (listener: () => void) => void listeners.push(listener),
    /** Gives up asking, and ends idle connections. */
    close(): void {
      closing.abort();
      client.close();
    },
  };
}

const shareSpent = ollamaFailure(
  "busy",
  "The answer was stopped: others wait for the model, and you have another call running; try again when that has ended.",
);

function fromRefusal(refusal: QueueRefusal, queue: ModelQueue): OllamaFailure {
  if (refusal === "cancelled") return cancelled;
  const { inFlight, waiting } = queue.occupancy();
  const words = refusal === "timed_out"
    ? "The model was busy with other calls all the time; try again later."
    : `The model is busy: ${inFlight} calls run and ${waiting} wait; try again later.`;
  return ollamaFailure("busy", words);
}

// The queue for the model: N calls run at a time, M wait, any more are refused at once. Turns go round the people, and
// round the clients of each, so ten queued calls of one person do not delay another person by ten. When the queue is
// full, the call whose turn comes last is refused. While a person with no running call waits, no other person keeps two
// places for longer than a share of time.

/** Who calls: turns go round the people first, then round each person's clients, which no two people share. */
interface ModelCaller {
  readonly person: string;
  readonly client: string;
}

interface Call {
  readonly caller: ModelCaller;
}

/** The waiting calls, the next one first, if no others arrive. */
function turnOrder<Waiter extends Call>(waiters: readonly Waiter[], running: Iterable<Call>): readonly Waiter[] {
  const inside = [...running];
  return inRounds(waiters, inside, "person", (own) => inRounds(own, inside, "client", (calls) => calls));
}

/** One call of each person, or client, in turn; one that has calls running begins that many rounds later. */
function inRounds<Waiter extends Call>(
  waiters: readonly Waiter[],
  running: readonly Call[],
  part: keyof ModelCaller,
  order: (own: readonly Waiter[]) => readonly Waiter[],
): readonly Waiter[] {
  const had = countBy(running, part);
  return [...Map.groupBy(waiters, ({ caller }) => caller[part])]
    .flatMap(([name, own]) => order(own).map((call, index) => ({ call, round: (had.get(name) ?? 0) + index })))
    .sort((a, b) => a.round - b.round)
    .map(({ call }) => call);
}

/** How many of the calls each person, or each client, has. */
function countBy(calls: readonly Call[], part: keyof ModelCaller): ReadonlyMap<string, number> {
  const groups = Map.groupBy(calls, ({ caller }) => caller[part]);
  return new Map([...groups].map(([name, own]) => [name, own.length]));
}

/** Why a call was not admitted. `full` may also come later, when a principal with fewer calls needed the place. */
type QueueRefusal = "full" | "timed_out" | "cancelled";

export interface Place {
  /** Aborts when the call must yield its place to a person who has none. */
  readonly signal: AbortSignal;
  /** Frees the place for the next in turn; idempotent. */
  release(): void;
}

export type ModelQueue = ReturnType<typeof createModelQueue>;

interface Waiter extends Call {
  settle(outcome: Result<Place, QueueRefusal>): void;
}

interface Running extends Call {
  readonly since: number;
  readonly giveUp: AbortController;
}

/** Makes the queue; it has no timer while no call waits. */
export function createModelQueue({ clock, limits = ollamaLimits }: {
  readonly clock: Clock;
  readonly limits?: Pick<OllamaLimits, "maxInFlight" | "maxWaiting" | "shareMs">;
}) {
  const { maxInFlight, maxWaiting, shareMs } = limits;
  /** In order of arrival, except that a client's other calls move to the end when one of its calls is admitted. */
  let waiters: Waiter[] = [];
  const running = new Set<Running>();
  let shareTimer: ReturnType<typeof setTimeout> | undefined;

  const settle = (waiter: Waiter, outcome: Result<Place, QueueRefusal>): void => {
    waiters = waiters.filter((other) => other !== waiter);
    waiter.settle(outcome);
  };
  const admit = (caller: ModelCaller): Place => {
    const call: Running = { caller, since: clock(), giveUp: new AbortController() };
    running.add(call);
    return {
      signal: call.giveUp.signal,
      release() {
        if (!running.delete(call)) return;
        next();
        watchShares();
      },
    };
  };
  const next = (): void => {
    const [chosen] = turnOrder(waiters, running);
    if (chosen === undefined || running.size >= maxInFlight) return;
    const { caller } = chosen;
    for (const part of ["client", "person"] as const) { // to the end of the round
      const isOwn = (waiter: Waiter): boolean => waiter.caller[part] === caller[part];
      waiters = [...waiters.filter((waiter) => !isOwn(waiter)), ...waiters.filter(isOwn)];
    }
    settle(chosen, success(admit(caller)));
  };

  /** Ends the newest call of a person with several once it has had its share, while a person with none waits. */
  const watchShares = (): void => {
    clearTimeout(shareTimer);
    const ofPerson = countBy([...running], "person");
    if (waiters.every(({ caller }) => ofPerson.has(caller.person))) return;
    const newest = [...running].findLast(({ caller }) => (ofPerson.get(caller.person) ?? 0) > 1);
    if (newest === undefined) return;
    const left = newest.since + shareMs - clock();
    if (left <= 0) newest.giveUp.abort();
    else shareTimer = setTimeout(watchShares, Math.ceil(left));
  };

  return {
    /** How many calls run, and how many wait. */
    occupancy: () => ({ inFlight: running.size, waiting: waiters.length }),
    /** Waits for a place, at most `maxWaitMs`; every exit of the call releases it. */
    async enter(
      caller: ModelCaller,
      { signal, maxWaitMs }: { readonly signal: AbortSignal; readonly maxWaitMs: number },
    ): Promise<Result<Place, QueueRefusal>> {
      if (signal.aborted) return failure("cancelled");
      if (running.size < maxInFlight) return success(admit(caller));
      const { promise, resolve } = Promise.withResolvers<Result<Place, QueueRefusal>>();
      const waiter: Waiter = { caller, settle: resolve };
      waiters.push(waiter);
      const last = waiters.length > maxWaiting ? turnOrder(waiters, running).at(-1) : undefined;
      if (last !== undefined) settle(last, failure("full"));
      if (last === waiter) return await promise;
      const leave = (why: QueueRefusal) => (): void => {
        settle(waiter, failure(why));
        watchShares();
      };
      const onAbort = leave("cancelled");
      const timer = setTimeout(leave("timed_out"), maxWaitMs);
      signal.addEventListener("abort", onAbort, { once: true });
      watchShares();
      const outcome = await promise;
      clearTimeout(timer);
      signal.removeEventListener("abort", onAbort);
      return outcome;
    },
  };
}

/** How much text a request hands to the model, in bytes of UTF-8. Images are bounded where they are read. */
function bytesOf({ messages, format }: ModelRequest): number {
  const formatBytes = format === undefined ? 0 : Buffer.byteLength(JSON.stringify(format));
  return messages.reduce((sum, { content }) => sum + Buffer.byteLength(content), formatBytes);
}
