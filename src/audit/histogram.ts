/** A histogram of fixed buckets, as Prometheus adds them up over instances. */

/** Counted values: plain data. */
export interface Histogram {
  /** Upper ends of the buckets, rising. */
  readonly bounds: readonly number[];
  /** How many values each bucket holds; one more than there are bounds, for all that is beyond. */
  readonly counts: number[];
  sum: number;
}

/** An empty histogram; `bounds` rise. */
export function createHistogram(bounds: readonly number[]): Histogram {
  return { bounds, counts: new Array<number>(bounds.length + 1).fill(0), sum: 0 };
}

export function observe(histogram: Histogram, value: number): void {
  const { bounds, counts } = histogram;
  let bucket = 0;
  while (bucket < bounds.length && value > (bounds[bucket] ?? 0)) bucket++;
  counts[bucket] = (counts[bucket] ?? 0) + 1;
  histogram.sum += value;
}

/** Upper ends of the buckets, each with how many values were at most that. The last is infinity, with all values. */
export function cumulative({ bounds, counts }: Histogram): readonly (readonly [bound: number, count: number])[] {
  let total = 0;
  return [...bounds, Infinity].map((bound, index) => [bound, total += counts[index] ?? 0] as const);
}
