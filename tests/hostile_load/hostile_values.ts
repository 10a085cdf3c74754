/** Texts and sizes that are hard on parsers, patterns, escapes and diffs. */
import type { Random } from "../soak/random.ts";

const units = [
  "a",
  "\n",
  "\r\n",
  '"',
  "\\",
  "\u0001",
  "\u0085",
  "\u202e",
  "é",
  "\u{1f600}",
  " ",
  "\t",
  "../",
  "a/",
  "%25",
  "{a,b}",
  "*",
  "a?",
  "(a+)+",
  "=",
  ",",
  ";",
] as const;

/** A text of about so many characters: one unit repeated, a period with an odd one out, or a mixture. */
export function hostileText(random: Random, characters: number): string {
  const unit = random.pick(units);
  const repeated = unit.repeat(Math.ceil(characters / unit.length)).slice(0, characters);
  switch (random.int(4)) {
    case 0:
      return `${repeated.slice(0, characters / 2)}b${repeated.slice(characters / 2 + 1)}`;
    case 1:
      return `${repeated.slice(1)}\n`;
    case 2:
      return Array.from({ length: Math.min(characters, 2_000) }, () => random.pick(units)).join("").slice(
        0,
        characters,
      );
    default:
      return repeated;
  }
}

/** A size: nothing, around a bound, or as much as a body takes. */
export function sizeAround(random: Random, bound: number, most: number): number {
  return random.pick(
    [0, 1, Math.ceil(bound / 2), bound - 1, bound, bound + 1, 2 * bound, most].filter((it) => it <= most),
  );
}

/** JSON nested so deeply. */
export function nested(random: Random, depth: number): unknown {
  const [open, close] = random.pick([["[", "]"], ['{"items":', "}"], ['{"a":', "}"]] as const);
  return JSON.parse(`${open.repeat(depth)}${open === "[" ? "" : "{}"}${close.repeat(depth)}`);
}

/** An object of so many members. */
export function wide(random: Random, members: number): Record<string, unknown> {
  const value = random.pick([1, "", [], {}, null, true]);
  return Object.fromEntries(Array.from({ length: members }, (_, index) => [`k${index}`, value]));
}
