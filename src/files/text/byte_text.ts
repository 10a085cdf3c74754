/**
 * UTF-8 text as its bytes, each byte one character of a string (Latin-1): V8 searches such strings at several GB a
 * second, and only the lines that are shown are decoded. Offsets are those of the bytes.
 */

/** A text, as bytes and as a string of one character a byte. Valid until the buffer is refilled. */
export interface ByteText {
  readonly characters: string;
  /** Decodes from one offset to another, which are starts or ends of characters. */
  decode(from: number, to: number): string;
}

/** How many line ends there are from one offset to another. */
export function countLineEnds(characters: string, from = 0, to = characters.length): number {
  let count = 0;
  for (let at = characters.indexOf("\n", from); at !== -1 && at < to; at = characters.indexOf("\n", at + 1)) count++;
  return count;
}

/** How many characters start from one offset to another. */
export function countCharacters(characters: string, from: number, to: number): number {
  const beyondAscii = characters.slice(from, to).search(/[\x80-\xff]/);
  if (beyondAscii === -1) return Math.max(0, to - from);
  let count = beyondAscii;
  for (let at = from + beyondAscii; at < to; at++) if ((characters.charCodeAt(at) & 0xc0) !== 0x80) count++;
  return count;
}

/** The offset of the first line end at or after `from`, or of the text's end. */
export function endOfLine(characters: string, from: number): number {
  const lineEnd = characters.indexOf("\n", from);
  return lineEnd === -1 ? characters.length : lineEnd;
}

/** The offset at which the line that holds `at` starts. */
export function startOfLine(characters: string, at: number): number {
  return at === 0 ? 0 : characters.lastIndexOf("\n", at - 1) + 1;
}
