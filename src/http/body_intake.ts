/**
 * How much memory request bodies and large answers may take at once. The bound is shared: a caller may take no more
 * than what is still free, so that one who takes all it can gets half, the next a quarter, and the one who asks for
 * little always gets in.
 */

/** How a request with a body is received. */
type BodyAdmission = "admitted" | "over_share" | "stopping";

/** Counts what is in flight. All sizes are bytes. */
export interface BodyIntake {
  /** Takes a share for a request, before a byte of its body is read. */
  admit(caller: string, bytes: number): BodyAdmission;
  /** An admitted body was read, or given up. */
  arrived(): void;
  /** Takes more of the caller's share; `false` where there is no more. */
  take(caller: string, bytes: number): boolean;
  /** Gives back what was admitted or taken. */
  release(caller: string, bytes: number): void;
  /** Admits no more. Resolves when the admitted bodies have arrived, or abandons them after so many milliseconds. */
  stop(milliseconds: number): Promise<void>;
  /** Whether bodies that did not arrive are our stop's fault. */
  readonly isAbandoned: boolean;
}

/** What any request counts for beside its body: its headers, its call, its answer. */
export const requestBytes = 16_384;
/** When a caller may try again: what is in flight is over soon, or given up by its own deadline. */
export const intakeRetrySeconds = 1;

const leastIntakeBytes = 64 * 1_048_576;
/** So many of the largest bodies or answers fit in at once. */
const largestAtOnce = 16;
/** Callers that are kept with nothing in flight: a map that loses and gains an entry for each request rehashes. */
const maxKeptCallers = 1_000;

/** The bound for a server whose largest body or answer has this size. */
export function intakeBytesFor(largestBytes: number): number {
  return Math.max(leastIntakeBytes, largestAtOnce * largestBytes);
}

export function createBodyIntake(maxBytes: number): BodyIntake {
  const held = new Map<string, number>();
  let total = 0;
  let reading = 0;
  let stopped: PromiseWithResolvers<void> | null = null;
  let isAbandoned = false;

  const take = (caller: string, bytes: number): boolean => {
    const own = (held.get(caller) ?? 0) + bytes;
    if (!(own <= maxBytes - total)) return false; // nor what is no number: it would stay in the sums
    held.set(caller, own);
    total += bytes;
    return true;
  };
  return {
    admit(caller, bytes) {
      if (stopped !== null) return "stopping";
      if (!take(caller, bytes)) return "over_share";
      reading += 1;
      return "admitted";
    },
    arrived() {
      reading -= 1;
      if (reading === 0) stopped?.resolve();
    },
    take,
    release(caller, bytes) {
      total -= bytes;
      const rest = (held.get(caller) ?? 0) - bytes;
      if (rest > 0 || held.size <= maxKeptCallers) held.set(caller, rest);
      else held.delete(caller);
    },
    async stop(milliseconds) {
      stopped = Promise.withResolvers();
      if (reading === 0) return;
      const timer = setTimeout(stopped.resolve, milliseconds);
      await stopped.promise;
      clearTimeout(timer);
      isAbandoned = reading > 0;
    },
    get isAbandoned() {
      return isAbandoned;
    },
  };
}
