/** So many calls of one caller work at the same time, whose memory is bounded with them; further ones wait behind them. */

interface Share {
  running: number;
  readonly waiting: (() => void)[];
}

/** Runs a caller's work: at once where the caller has a place. */
type ParallelShare = <T>(caller: string, work: () => T | Promise<T>) => T | Promise<T>;

export function createParallelShare(maxAtOnce: number): ParallelShare {
  const shares = new Map<string, Share>();
  const leave = (caller: string, share: Share): void => {
    const next = share.waiting.shift();
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
  return (caller, work) => {
    const share = shares.get(caller);
    if (share !== undefined && share.running >= maxAtOnce) {
      return new Promise<void>((resolve) => share.waiting.push(resolve)).then(() => inPlace(caller, share, work));
    }
    const done = work();
    if (!(done instanceof Promise)) return done;
    const taken = shares.get(caller) ?? { running: 0, waiting: [] };
    shares.set(caller, taken);
    taken.running++;
    return inPlace(caller, taken, () => done);
  };
}
