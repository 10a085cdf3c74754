/** A map with a bound: past it, the entries that were set longest ago are evicted. */

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
  /** One iterator for all evictions: a new one passes the place of each entry that was deleted lately. */
  #fromOldest: MapIterator<[Key, Value]> | null = null;
  #setsSinceEviction = 0;

  constructor(options: BoundedMapOptions<Key, Value>) {
    super();
    this.#options = options;
  }

  override set(key: Key, value: Value): this {
    const { maxWeight, weigh, onEvict } = this.#options;
    this.delete(key);
    super.set(key, value);
    this.#weight += weigh(value);
    // An iterator that waits keeps the tables that the map has left behind since.
    if (++this.#setsSinceEviction > this.size) this.#fromOldest = null;
    while (this.#weight > maxWeight) {
      this.#setsSinceEviction = 0;
      this.#fromOldest ??= this.entries();
      const next = this.#fromOldest.next();
      if (next.done) {
        this.#fromOldest = null;
        break;
      }
      const [oldest, evicted] = next.value;
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
    this.#fromOldest = null;
  }
}
