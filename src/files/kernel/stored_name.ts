/**
 * Names as Linux stores them are bytes, and need not be UTF-8. A byte that is part of no character becomes half a
 * surrogate pair, U+DC80 to U+DCFF (as PEP 383 has it), which no UTF-8 gives: each name has one text, and back.
 */

const decoder = new TextDecoder("utf-8", { ignoreBOM: true }); // U+FEFF at its start is a part of a name
export const decode = decoder.decode.bind(decoder);
const { fromCharCode } = String;
const unitAt: (text: string, at: number) => number = Function.prototype.call.bind(String.prototype.charCodeAt);

/** The text of a stored name, which mostly is UTF-8. */
export function toName(bytes: Uint8Array): string {
  const decoded = decode(bytes);
  return decoded.includes("\ufffd") ? toNameText(bytes) : decoded;
}

/** The text of a stored name, or of a path of them. */
function toNameText(bytes: Uint8Array): string {
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

/**
 * Puts the stored bytes that have this text into `buffer`, as far as they fit, and gives their number; `null` where
 * none have it, so that no name has two texts. Calls nothing that other code could have replaced.
 */
export function putNameBytes(text: string, buffer: Uint8Array): number | null {
  let length = 0;
  let strays = 0;
  for (let at = 0; at < text.length; at++) {
    const unit = unitAt(text, at);
    if (unit < 0x80) {
      buffer[length++] = unit;
      continue;
    }
    const next = unitAt(text, at + 1);
    const isPair = (unit & 0xfc00) === 0xd800 && (next & 0xfc00) === 0xdc00;
    if (isPair) at++;
    if (isPair || (unit & 0xf800) !== 0xd800) {
      length = putCharacter(isPair ? 0x10000 + ((unit & 0x3ff) << 10) + (next & 0x3ff) : unit, buffer, length);
      continue;
    }
    if (unit < 0xdc80 || unit > 0xdcff) return null;
    buffer[length++] = unit - 0xdc00;
    strays++;
  }
  buffer[length] = 0;
  for (let at = 0; strays > 0 && at < length;) { // strays that are a character together have another text
    const characterBytes = characterLength(buffer, at);
    if (characterBytes === 0) strays--;
    at += characterBytes || 1;
  }
  return strays === 0 ? length : null;
}

/** RFC 3629 §3, beyond ASCII. */
function putCharacter(code: number, buffer: Uint8Array, at: number): number {
  const more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
  buffer[at] = ((0xff00 >> (more + 1)) & 0xff) | (code >> (6 * more));
  for (let index = 1; index <= more; index++) buffer[at + index] = 0x80 | ((code >> (6 * (more - index))) & 0x3f);
  return at + more + 1;
}

/** The bytes of the character that starts at `at` (RFC 3629 §4); 0 where none does. */
function characterLength(bytes: Uint8Array, at: number): number {
  const lead = bytes[at] ?? 0;
  const second = bytes[at + 1] ?? 0;
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
