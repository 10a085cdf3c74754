/** Lets one task at a time run for each key, in the order in which they came. */

/** Runs tasks one after the other for each key. */
export interface KeyedMutex {
  run<T>(key: string, task: () => Promise<T>): Promise<T>;
  /** Whether a task of this key runs or waits. */
  isBusy(key: string): boolean;
}

export function createKeyedMutex(): KeyedMutex {
  const tails = new Map<string, Promise<unknown>>();
  return {
    isBusy: (key) => tails.has(key),
    async run(key, task) {
      const before = tails.get(key) ?? Promise.resolve();
      const mine = before.then(task, task);
      tails.set(key, mine);
      try {
        return await mine;
      } finally {
        if (tails.get(key) === mine) tails.delete(key);
      }
    },
  };
}
