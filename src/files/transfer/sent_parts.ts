/** Which parts of a file were sent: a link is used up when all of it was. */

/** From the first byte to the one after the last. */
export type Part = [number, number];

/** The parts in order, with those joined that touch. */
export function addPart(parts: readonly Part[], added: Part): Part[] {
  const joined: Part[] = [];
  for (const [from, to] of [...parts, added].sort(([one], [other]) => one - other)) {
    const last = joined.at(-1);
    if (last !== undefined && from <= last[1]) joined[joined.length - 1] = [last[0], Math.max(last[1], to)];
    else joined.push([from, to]);
  }
  return joined;
}

/** How many bytes of a part were sent already. */
export function bytesSentOf(parts: readonly Part[], [from, to]: Part): number {
  return parts.reduce((sum, [start, end]) => sum + Math.max(0, Math.min(to, end) - Math.max(from, start)), 0);
}

/** Whether they are a whole file of this size. */
export function isWhole(parts: readonly Part[], sizeBytes: number): boolean {
  const [first] = parts;
  return first !== undefined && first[0] === 0 && first[1] >= sizeBytes;
}
