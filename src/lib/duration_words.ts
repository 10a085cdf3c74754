/** Spans of time in words for people. */
const units = [["day", 86_400], ["hour", 3_600], ["minute", 60], ["second", 1]] as const;

/** The span in the largest unit that divides it, or to the nearest in one of which it has two or more. */
export function durationWords(seconds: number): string {
  const [name, size] = units.find(([, size]) => seconds >= size && (seconds % size === 0 || seconds >= 2 * size)) ??
    ["second", 1];
  const count = Math.round(seconds / size);
  return `${count} ${name}${count === 1 ? "" : "s"}`;
}
