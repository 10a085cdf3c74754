/** A list of named things on offer, which may come and go while the server runs. */

/** The things by name, in the order in which they were added. */
export interface Registry<Given, Entry> {
  get(name: string): Entry | undefined;
  all(): readonly Entry[];
  /** Grows with every change: whatever was made from the list may be kept for as long as it stays the same. */
  readonly version: number;
  /** Adds one. Throws when its name is taken, or it is of no use to clients. */
  add(given: Given): void;
  /** Removes one and says whether there was one. Calls that run go on. */
  remove(name: string): boolean;
  /** Calls `listener` after each change, until the returned function is called. */
  onChange(listener: () => void): () => void;
}

/** Makes a registry; `prepare` turns what is added into what is kept. */
export function createRegistry<Given, Entry>(
  nameOf: (given: Given) => string,
  prepare: (given: Given) => Entry,
  initial: Iterable<Given>,
): Registry<Given, Entry> {
  const byName = new Map<string, Entry>();
  const listeners = new Set<() => void>();
  let version = 0;
  let ordered: readonly Entry[] = [];

  const changed = (): void => {
    version += 1;
    ordered = [...byName.values()];
    for (const listener of [...listeners]) listener();
  };
  const register = (given: Given): void => {
    const name = nameOf(given);
    if (byName.has(name)) throw new TypeError(`"${name}" is already registered`);
    byName.set(name, prepare(given));
  };
  for (const given of initial) register(given);
  changed();

  return {
    get: (name) => byName.get(name),
    all: () => ordered,
    get version() {
      return version;
    },
    add(given) {
      register(given);
      changed();
    },
    remove(name) {
      const removed = byName.delete(name);
      if (removed) changed();
      return removed;
    },
    onChange(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}
