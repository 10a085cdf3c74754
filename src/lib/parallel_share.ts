/** So many calls of one caller work at the same time, whose memory is bounded with them; further ones wait behind them. */

interface Share {
  running: number;
  readonly waiting: Set<() => void>;
}

/** Runs a caller's work: at once where the caller has a place. What waits when its signal aborts is never begun. */
type ParallelShare = <T>(caller: string, work: () => T | Promise<T>, signal: () => AbortSignal) => T | Promise<T>;

export function createParallelShare(maxAtOnce: number): ParallelShare {
  const shares = new Map<string, Share>();
  const leave = (caller: string, share: Share): void => {
    const [next] = share.waiting;
    if (next !== undefined) next();
    else if (--share.running === 0) shares.delete(caller);
  };
  const inPlace = async <T>(caller: string, share: Share, work: () => T | Promise<T>): Promise<T> => {
    try {
      return await work();
    } finally {
      leave(caller, share);
    }
  };
  return (caller, work, signal) => {
    const share = shares.get(caller);
    if (share !== undefined && share.running >= maxAtOnce) {
      return waitForPlace(share, signal()).then(() => inPlace(caller, share, work));
    }
    const done = work();
    if (!(done instanceof Promise)) return done;
    const taken = shares.getOrInsertComputed(caller, () => ({ running: 0, waiting: new Set() }));
    taken.running++;
    return inPlace(caller, taken, () => done);
  };
}

function waitForPlace({ waiting }: Share, signal: AbortSignal): Promise<void> {
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
