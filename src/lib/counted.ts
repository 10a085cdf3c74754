/** A count and its noun: `1 byte`, `2 bytes`, `3 entries`. */
export function counted(count: number, one: string, several = `${one}s`): string {
  return `${count} ${count === 1 ? one : several}`;
}
