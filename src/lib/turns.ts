/**
 * Who waits for whom in the one process that answers every caller: for a turn on its thread, for a place among the calls
 * of the same caller, for answers to be read, for an earlier run of the same work.
 *
 * Turns: long work asks `nextTurn` between its steps, and pauses once the thread has been busy for a turn, by any work.
 * Callers then go on in fair order: the one that has used the least time first, and those of one caller one after the
 * other. After each turn the thread rests for whatever arrived. Only time on the thread counts: a call that waits for a
 * model, a network or a person holds nothing.
 */
import { createAsyncContext } from "./program.ts";

/** What long work awaits between its steps; `undefined` while the turn lasts. */
export type NextTurn = () => Promise<void> | undefined;

const turnMilliseconds = 8;
/** Work that is worth a look at the turn. */
const shortMilliseconds = 1;
/** The part of a turn that the thread then leaves to others: a request takes several passes of the event loop. */
const restShare = 1 / 4;
/**
 * How many passes show whether others have anything to do: Deno looks for what has arrived in one of 61
 * (tokio's `event_interval`), and tells it some passes later.
 */
const quietPasses = 70;
/** Idle passes take less. */
const quietMilliseconds = 1;

interface Share {
  /** Milliseconds on the thread since the queue was last empty, beginning at what the least served one had used. */
  used: number;
  readonly waiting: (() => void)[];
}

/** Whose work runs. Empty until there was long work, since Node's contexts take milliseconds to load. */
const callers = createAsyncContext<string>();
let keepsCallers = false;
/** Since when the thread is busy without a pass of the event loop; `null` where no work has looked. */
let busySince: number | null = null;
/** Waiting turns, by caller. */
const shares = new Map<string, Share>();
let isServing = false;
/** What the caller whose turn it last was had used before it. */
let leastUsed = 0;

let now = (): number => performance.now();

/** Another clock, in milliseconds: a simulation stands still while it works, so that a seed gives the same each time. */
export function timeTurnsBy(clock: () => number): void {
  now = clock;
}

/** Work for a caller; its signal may be made only when it is asked for. */
export interface Working {
  readonly signal: AbortSignal;
}

/**
 * To be awaited between the steps of long work, each of a millisecond or so: a pause once the turn is over, after which
 * `work` ends by a rejection where its signal has aborted. Work that would leave a change half made gives none.
 */
export function nextTurn(work?: Working): Promise<void> | undefined {
  const time = now();
  if (busySince === null && !isServing) begin(time);
  // during a rest, and while others wait, long work goes behind them
  if (busySince !== null && !isTurnOver(time)) return undefined;
  const turn = waitForTurn(callers.current() ?? "");
  return work === undefined ? turn : turn.then(() => work.signal.throwIfAborted());
}

/** Waits for what others wait for too, who would all go on together: they do so in turns. */
export async function inTurns<T>(shared: Promise<T>): Promise<T> {
  const value = await shared;
  await nextTurn();
  return value;
}

/**
 * Runs a caller's work, and all that comes of it, under the caller's name: at once while the turn lasts and nothing of
 * the caller's waits, else when it is the caller's turn, who may have gone by then.
 */
export function runInTurn<T>(caller: string, work: (hasWaited: boolean) => T | Promise<T>): T | Promise<T> {
  const started = now();
  const isBehind = (shares.get(caller)?.waiting.length ?? 0) > 0; // in a rest, too
  if (isBehind || isTurnOver(started)) return waitForTurn(caller).then(() => callers.run(caller, () => work(true)));
  const done = keepsCallers ? callers.run(caller, () => work(false)) : work(false);
  if (busySince === null && now() - started > shortMilliseconds) begin(started);
  return done;
}

function isTurnOver(now: number): boolean {
  return busySince !== null && now - busySince >= turnMilliseconds;
}

/** The turn lasts to the next pass of the event loop at most. */
function begin(now: number): void {
  busySince = now;
  setImmediate(() => busySince = null);
}

function waitForTurn(caller: string): Promise<void> {
  keepsCallers = true;
  const share = shares.getOrInsertComputed(caller, () => ({ used: leastUsed, waiting: [] }));
  const { waiting } = share;
  const turn = new Promise<void>((resolve) => waiting.push(resolve));
  if (!isServing) void serve();
  return turn;
}

/** Gives turns until no caller waits. The first rest is for the turn that led here. */
async function serve(): Promise<void> {
  isServing = true;
  let worked = now() - (busySince ?? 0);
  for (let share; (share = await nextShare(worked)) !== null;) {
    const started = busySince = now();
    leastUsed = share.used;
    share.waiting.shift()?.();
    await passOfEventLoop(); // what was resumed runs before
    busySince = null;
    const took = now() - started;
    share.used += took;
    worked = worked < turnMilliseconds ? worked + took : took;
  }
  shares.clear();
  leastUsed = 0;
  isServing = false;
}

/** Whose turn it is, after a rest if a turn was `worked`; `null` where no caller waits any more. */
async function nextShare(worked: number): Promise<Share | null> {
  if (worked >= turnMilliseconds) await rest(worked * restShare);
  let next: Share | null = null;
  for (const share of shares.values()) {
    if (share.waiting.length > 0 && (next === null || share.used < next.used)) next = share;
  }
  return next;
}

async function rest(milliseconds: number): Promise<void> {
  const started = now();
  for (let pass = 0; pass < quietPasses; pass++) await passOfEventLoop();
  if (now() - started < quietMilliseconds) return; // a rest would only be idle
  await new Promise((resolve) => setTimeout(resolve, milliseconds));
}

/** Resolves after a pass of the event loop: what was ready to run has run by then. */
export function passOfEventLoop(): Promise<void> {
  return new Promise((resolve) => void setImmediate(resolve));
}

// * So many calls of one caller work at the same time, whose memory is bounded with them; further ones wait behind them.

interface Places {
  running: number;
  /** Works that have given up their place for a while. */
  aside: number;
  readonly waiting: Set<() => void>;
}

/** Runs a caller's work: at once where the caller has a place. What waits when its signal aborts is never begun. */
type ParallelShare = <T>(
  caller: string,
  work: (standAside: StandAside) => T | Promise<T>,
  signal: () => AbortSignal,
) => T | Promise<T>;

/** Gives the work's place to another, until what is returned is called: then it goes on at once, as one more. */
export type StandAside = () => () => void;

export function createParallelShare(maxAtOnce: number): ParallelShare {
  const shares = new Map<string, Places>();
  const leave = (caller: string, share: Places): void => {
    const [next] = share.waiting;
    if (next !== undefined && share.running <= maxAtOnce) next();
    else if (--share.running + share.aside === 0) shares.delete(caller);
  };
  const asideIn = (caller: string, shareOf: () => Places | undefined): StandAside => () => {
    const share = shareOf();
    if (share === undefined) return () => {}; // it has no place yet
    share.aside++;
    leave(caller, share);
    return () => {
      share.aside--;
      share.running++;
    };
  };
  const inPlace = async <T>(caller: string, share: Places, work: () => T | Promise<T>): Promise<T> => {
    try {
      return await work();
    } finally {
      leave(caller, share);
    }
  };
  return (caller, work, signal) => {
    const share = shares.get(caller);
    if (share !== undefined && share.running >= maxAtOnce) {
      return waitForPlace(share, signal()).then(() => inPlace(caller, share, () => work(asideIn(caller, () => share))));
    }
    const place: { share?: Places } = {};
    const done = work(asideIn(caller, () => place.share));
    if (!(done instanceof Promise)) return done;
    const taken = place.share = shares.getOrInsertComputed(
      caller,
      () => ({ running: 0, aside: 0, waiting: new Set() }),
    );
    taken.running++;
    return inPlace(caller, taken, () => done);
  };
}

function waitForPlace({ waiting }: Places, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const leave = (end: () => void) => (): void => {
      waiting.delete(begin);
      signal.removeEventListener("abort", giveUp);
      end();
    };
    const begin = leave(resolve);
    const giveUp = leave(() => reject(signal.reason));
    if (signal.aborted) return giveUp();
    waiting.add(begin);
    signal.addEventListener("abort", giveUp);
  });
}

// * Large answers that lie with the network because their callers do not read them, by caller. They are held twice, as text
// and as bytes: sixty of 4 MB took 590 MiB. So a caller's next dear call waits until they are read, and is refused when
// that takes long.

/** Answers up to this size lie in the buffers of the connection. */
export const smallAnswerCharacters = 65_536;
/** What a caller may leave unread before its next call waits. */
const maxUnreadCharacters = 8 * 1024 * 1024;
const patienceMs = 10_000;

const unread = new Map<string, { characters: number; readonly waiting: Set<() => void> }>();

/** Notes an answer on its way to the caller's `peer`, which is asked nothing for a small one: streams have many. */
export function noteAnswer(caller: string, characters: number, peer: { readonly answerSent?: Promise<void> }): void {
  if (characters <= smallAnswerCharacters || peer.answerSent === undefined) return;
  const own = unread.getOrInsertComputed(caller, () => ({ characters: 0, waiting: new Set() }));
  own.characters += characters;
  void peer.answerSent.then(() => {
    own.characters -= characters;
    if (own.characters === 0) unread.delete(caller);
    if (own.characters <= maxUnreadCharacters) { for (const wake of own.waiting) wake(); }
  });
}

/** `null` where the caller's answers are read; else whether they are in time. Where the signal has it, the call is given up. */
export function whenAnswersAreRead(caller: string, signal: () => AbortSignal): Promise<boolean> | null {
  const own = unread.get(caller);
  if (own === undefined || own.characters <= maxUnreadCharacters) return null;
  const givenUp = signal();
  if (givenUp.aborted) return Promise.resolve(false);
  return new Promise((resolve) => {
    const end = (isRead: boolean): void => {
      clearTimeout(timer);
      givenUp.removeEventListener("abort", giveUp);
      own.waiting.delete(wake);
      resolve(isRead);
    };
    const wake = (): void => end(true);
    const giveUp = (): void => end(false);
    const timer = setTimeout(giveUp, patienceMs);
    own.waiting.add(wake);
    givenUp.addEventListener("abort", giveUp);
  });
}

// * Work of several callers, one after another.

/**
 * Lets callers share one run of `work` without ever giving one an answer from before its call: a caller who comes while
 * a run is under way joins the next, which starts when that one has ended.
 */
export function joinNext<T>(work: () => Promise<T>): () => Promise<T> {
  let current: Promise<unknown> | undefined;
  let next: Promise<T> | undefined;
  const start = (): Promise<T> => {
    next = undefined;
    const run = work();
    const ended = run.then(() => {}, () => {}).then(() => {
      if (current === ended) current = undefined;
    });
    current = ended;
    return run;
  };
  return () => {
    if (current === undefined) return start();
    next ??= current.then(start);
    return next;
  };
}

export type KeyedMutex = ReturnType<typeof createKeyedMutex>;

/**
 * Lets one task at a time run for each key, in the order in which they came; one that fails holds up none. Where the
 * signal of its work has aborted by then, it is not begun.
 */
export function createKeyedMutex() {
  const tails = new Map<string, Promise<unknown>>();
  return {
    async run<T>(key: string, task: () => Promise<T>, work?: Working): Promise<T> {
      const before = tails.get(key) ?? Promise.resolve();
      const begin = (): Promise<T> => {
        work?.signal.throwIfAborted();
        return task();
      };
      const mine = before.then(begin, begin);
      tails.set(key, mine);
      try {
        return await mine;
      } finally {
        if (tails.get(key) === mine) tails.delete(key);
      }
    },
  };
}

/** Goes on at once with a value that is there: an async function costs each call its frame and a turn of the queue. */
export function whenReady<T, R>(value: T | Promise<T>, next: (value: T) => R | Promise<R>): R | Promise<R> {
  return value instanceof Promise ? value.then(next) : next(value);
}

/** The answer of rate limits and throttles. */
export type Admission = { readonly ok: true } | Throttled;

/** Not now, but after so many seconds (for `Retry-After`, RFC 9110 §10.2.3). */
export interface Throttled {
  readonly ok: false;
  readonly retryAfterSeconds: number;
}

export const admitted: Admission = { ok: true };
