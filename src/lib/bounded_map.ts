/** A map with a bound: past it, the entries that were set longest ago are evicted, a sixteenth at once. */

interface BoundedMapOptions<Key, Value> {
  /** The weights of all entries, together. A single entry that weighs more is not kept. */
  readonly maxWeight: number;
  readonly weigh: (value: Value) => number;
  /** Called for each entry that is evicted, not for one that is deleted or replaced. */
  readonly onEvict?: (value: Value, key: Key) => void;
}

/** Keeps at most `max` entries; or, with options, as many as weigh no more than `maxWeight`. */
export function boundedMap<Key, Value>(max: number | BoundedMapOptions<Key, Value>): Map<Key, Value> {
  return new BoundedMap(typeof max === "number" ? { maxWeight: max, weigh: () => 1 } : max);
}

class BoundedMap<Key, Value> extends Map<Key, Value> {
  readonly #options: BoundedMapOptions<Key, Value>;
  #weight = 0;

  constructor(options: BoundedMapOptions<Key, Value>) {
    super();
    this.#options = options;
  }

  override set(key: Key, value: Value): this {
    const { maxWeight, weigh, onEvict } = this.#options;
    this.delete(key);
    super.set(key, value);
    this.#weight += weigh(value);
    if (this.#weight <= maxWeight) return this;
    // A sixteenth at once: on its way to the oldest, an iterator passes the place of each entry that was evicted lately.
    const enough = maxWeight - Math.floor(maxWeight / 16);
    for (const [oldest, evicted] of this) {
      if (this.#weight <= (oldest === key ? maxWeight : enough)) break;
      this.delete(oldest);
      onEvict?.(evicted, oldest);
    }
    return this;
  }

  override delete(key: Key): boolean {
    const value = this.get(key);
    if (!super.delete(key)) return false;
    this.#weight -= this.#options.weigh(value as Value);
    return true;
  }

  override clear(): void {
    super.clear();
    this.#weight = 0;
  }
}
