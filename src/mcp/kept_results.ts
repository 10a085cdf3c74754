/** How much of the results of each person's tasks this process has stored and that is still kept. */
import type { Clock } from "../lib/clock.ts";

/** Characters of one person's large results that are kept at the same time. */
const maxKeptCharacters = 64_000_000;
/** Smaller results are not counted: a thousand of them are one large one. */
const minCountedCharacters = 100_000;

interface KeptResults {
  /** Counts a result that is kept until then; `false` when the person has too many. */
  keep(subject: string, characters: number, until: number): boolean;
}

export function createKeptResults(clock: Clock): KeptResults {
  const kept = new Map<string, readonly { readonly characters: number; readonly until: number }[]>();
  return {
    keep(subject, characters, until) {
      if (characters < minCountedCharacters) return true;
      const still = (kept.get(subject) ?? []).filter((result) => result.until > clock());
      const sum = still.reduce((total, result) => total + result.characters, characters);
      if (sum > maxKeptCharacters) return false;
      kept.set(subject, [...still, { characters, until }]);
      return true;
    },
  };
}
