/** A histogram of fixed buckets, as Prometheus adds them up over instances. */

/** Counted values. */
export interface Histogram {
  observe(value: number): void;
  /** Upper ends of the buckets, each with how many values were at most that. The last is infinity, with all values. */
  cumulative(): readonly (readonly [bound: number, count: number])[];
  readonly sum: number;
}

/** An empty histogram; `bounds` rise. */
export function createHistogram(bounds: readonly number[]): Histogram {
  const counts = new Array<number>(bounds.length + 1).fill(0);
  let sum = 0;
  return {
    observe(value) {
      let bucket = 0;
      while (bucket < bounds.length && value > (bounds[bucket] ?? 0)) bucket++;
      counts[bucket] = (counts[bucket] ?? 0) + 1;
      sum += value;
    },
    cumulative() {
      let total = 0;
      return [...bounds, Infinity].map((bound, index) => [bound, total += counts[index] ?? 0] as const);
    },
    get sum() {
      return sum;
    },
  };
}
