/**
 * Who may call the model now: N at a time, M in a waiting room, everyone else refused at once. Turns go round the
 * principals, so that one who queues ten calls does not keep another waiting for ten; and when the room is full, a
 * principal with fewer calls in it takes the last place of the one with most.
 */
import { failure, type Result, success } from "../lib/result.ts";

/** Why a call was not let in. `full` may also come later, when a principal with fewer calls needed the place. */
export type Refusal = "full" | "timed_out" | "cancelled";

/** Gives the place to the next in turn; calling it again does nothing. */
export type Release = () => void;

/** The door to the model. */
export interface Admission {
  /** Waits for a place, at most `maxWaitMilliseconds`; whoever gets one calls the release on every exit. */
  enter(
    key: string,
    options: { readonly signal: AbortSignal; readonly maxWaitMilliseconds: number },
  ): Promise<Result<Release, Refusal>>;
  /** How many are in, and how many wait. */
  occupancy(): { readonly inFlight: number; readonly waiting: number };
}

interface Waiter {
  readonly key: string;
  settle(outcome: Result<Release, Refusal>): void;
}

/** Builds an {@link Admission}. */
export function createAdmission(
  { maxInFlight, maxWaiting }: { readonly maxInFlight: number; readonly maxWaiting: number },
): Admission {
  /** Principals in the order of their next turn, each with its own queue; none of the queues is empty. */
  const queues = new Map<string, Waiter[]>();
  const inFlightOf = new Map<string, number>();
  let inFlight = 0;
  let waiting = 0;

  const remove = (waiter: Waiter): void => {
    const queue = queues.get(waiter.key);
    const index = queue?.indexOf(waiter) ?? -1;
    if (queue === undefined || index === -1) return;
    queue.splice(index, 1);
    waiting -= 1;
    if (queue.length === 0) queues.delete(waiter.key);
  };

  const admit = (key: string): Release => {
    inFlight += 1;
    inFlightOf.set(key, (inFlightOf.get(key) ?? 0) + 1);
    let held = true;
    return () => {
      if (!held) return;
      held = false;
      inFlight -= 1;
      const left = (inFlightOf.get(key) ?? 1) - 1;
      if (left === 0) inFlightOf.delete(key);
      else inFlightOf.set(key, left);
      next();
    };
  };

  /** The turn of whoever has fewest calls running; among equals, of whoever has waited longest for a turn. */
  const next = (): void => {
    let chosen: Waiter | undefined;
    let fewest = Infinity;
    for (const [key, queue] of queues) {
      const running = inFlightOf.get(key) ?? 0;
      if (running < fewest) [chosen, fewest] = [queue[0], running];
    }
    if (chosen === undefined || inFlight >= maxInFlight) return;
    remove(chosen);
    const rest = queues.get(chosen.key);
    if (rest !== undefined) { // to the end of the round
      queues.delete(chosen.key);
      queues.set(chosen.key, rest);
    }
    chosen.settle(success(admit(chosen.key)));
  };

  /** Frees a place in a full room for `key`, when somebody holds at least two more than it would. */
  const makeRoom = (key: string): boolean => {
    let longest: Waiter[] = [];
    for (const queue of queues.values()) if (queue.length > longest.length) longest = queue;
    const last = longest.at(-1);
    if (last === undefined || longest.length < (queues.get(key)?.length ?? 0) + 2) return false;
    remove(last);
    last.settle(failure("full"));
    return true;
  };

  return {
    occupancy: () => ({ inFlight, waiting }),
    enter(key, { signal, maxWaitMilliseconds }) {
      if (signal.aborted) return Promise.resolve(failure("cancelled"));
      if (inFlight < maxInFlight) return Promise.resolve(success(admit(key)));
      if (waiting >= maxWaiting && !makeRoom(key)) return Promise.resolve(failure("full"));
      return new Promise((resolve) => {
        const leave = (why: Refusal): void => {
          remove(waiter);
          waiter.settle(failure(why));
        };
        const onAbort = (): void => leave("cancelled");
        const timer = setTimeout(() => leave("timed_out"), maxWaitMilliseconds);
        const waiter: Waiter = {
          key,
          settle(outcome) {
            clearTimeout(timer);
            signal.removeEventListener("abort", onAbort);
            resolve(outcome);
          },
        };
        signal.addEventListener("abort", onAbort, { once: true });
        const queue = queues.get(key);
        if (queue === undefined) queues.set(key, [waiter]);
        else queue.push(waiter);
        waiting += 1;
      });
    },
  };
}
