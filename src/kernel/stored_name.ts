/**
 * Names as Linux stores them are bytes, and need not be UTF-8. A byte that is part of no character becomes half a
 * surrogate pair, U+DC80 to U+DCFF (as PEP 383 has it), which no UTF-8 gives: each name has one text, and back.
 */

const encoder = new TextEncoder();
const encode = encoder.encode.bind(encoder);
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
const decode = decoder.decode.bind(decoder);
const { fromCharCode } = String;

/** The text of a stored name, or of a path of them. */
export function toNameText(bytes: Uint8Array): string {
  let text = "";
  let start = 0;
  for (let at = 0; at < bytes.length;) {
    const length = characterLength(bytes, at);
    if (length === 0) {
      text += decode(bytes.subarray(start, at)) + fromCharCode(0xdc00 + (bytes[at] ?? 0));
      start = at + 1;
    }
    at += length || 1;
  }
  return text + decode(bytes.subarray(start));
}

/** The stored bytes that have this text; `null` where none do, so that no name has two texts. */
export function toNameBytes(text: string): Uint8Array | null {
  const bytes: number[] = [];
  for (const character of text) {
    const code = character.codePointAt(0) ?? 0;
    if (code >= 0xdc80 && code <= 0xdcff) bytes.push(code - 0xdc00);
    else bytes.push(...encode(character));
  }
  const stored = Uint8Array.from(bytes);
  return toNameText(stored) === text ? stored : null;
}

/** The bytes of the character that starts at `at` (RFC 3629 §4); 0 where none does. */
function characterLength(bytes: Uint8Array, at: number): number {
  const [lead = 0, second = 0] = [bytes[at], bytes[at + 1]];
  if (lead < 0x80) return 1;
  const length = lead >= 0xc2 && lead < 0xe0
    ? 2
    : lead >= 0xe0 && lead < 0xf0
    ? 3
    : lead >= 0xf0 && lead < 0xf5
    ? 4
    : 0;
  for (let index = 1; index < length; index++) if (((bytes[at + index] ?? 0) & 0xc0) !== 0x80) return 0;
  const isOverlong = (lead === 0xe0 && second < 0xa0) || (lead === 0xf0 && second < 0x90);
  const isSurrogate = lead === 0xed && second >= 0xa0;
  return isOverlong || isSurrogate || (lead === 0xf4 && second >= 0x90) ? 0 : length;
}
