/** Chance from a seed: the same seed gives the same schedule, as far as processes allow. */
import { createHash } from "node:crypto";

/** A source of chance. */
export interface Random {
  /** At least 0, below 1. */
  next(): number;
  /** A whole number, at least 0, below `below`. */
  int(below: number): number;
  pick<T>(choices: readonly T[]): T;
  chance(probability: number): boolean;
}

/** Independent sources for independent names, whatever order they are used in. */
export function seeded(seed: number, name: string): Random {
  const digest = createHash("sha256").update(`${seed}/${name}`).digest();
  let [a, b, c, d] = [0, 4, 8, 12].map((at) => digest.readUInt32LE(at)) as [number, number, number, number];
  // sfc32: small, fast, and long enough for any soak.
  const next = (): number => {
    const sum = (a + b + d) | 0;
    d = (d + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = ((c << 21) | (c >>> 11)) + sum | 0;
    return (sum >>> 0) / 2 ** 32;
  };
  const int = (below: number): number => Math.floor(next() * below);
  return {
    next,
    int,
    pick: (choices) => {
      if (choices.length === 0) throw new RangeError("there is nothing to pick from");
      return choices[int(choices.length)] as (typeof choices)[number];
    },
    chance: (probability) => next() < probability,
  };
}
