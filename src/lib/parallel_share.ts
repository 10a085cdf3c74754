/** So many calls of one caller work at the same time, whose memory is bounded with them; further ones wait behind them. */

interface Share {
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
  const shares = new Map<string, Share>();
  const leave = (caller: string, share: Share): void => {
    const [next] = share.waiting;
    if (next !== undefined && share.running <= maxAtOnce) next();
    else if (--share.running + share.aside === 0) shares.delete(caller);
  };
  const asideIn = (caller: string, shareOf: () => Share | undefined): StandAside => () => {
    const share = shareOf();
    if (share === undefined) return () => {}; // it has no place yet
    share.aside++;
    leave(caller, share);
    return () => {
      share.aside--;
      share.running++;
    };
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
      return waitForPlace(share, signal()).then(() => inPlace(caller, share, () => work(asideIn(caller, () => share))));
    }
    const place: { share?: Share } = {};
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
