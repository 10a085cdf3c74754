/** Encodings of one or two bytes a character, by the runtime's own tables (WHATWG Encoding §9 to §14). */

const singleByte = [
  ...["windows-1250", "windows-1251", "windows-1252", "windows-1253", "windows-1254", "windows-1255"] as const,
  ...["windows-1256", "windows-1257", "windows-1258", "windows-874", "koi8-r", "koi8-u", "ibm866"] as const,
  ...["iso-8859-2", "iso-8859-5", "iso-8859-7", "iso-8859-15", "macintosh"] as const,
] as const;
const multiByte = ["shift_jis", "euc-jp", "gbk", "big5", "euc-kr"] as const;

export const legacyEncodings = [...singleByte, ...multiByte] as const;
export type LegacyEncoding = typeof legacyEncodings[number];

/** Whether characters may take two bytes, of which the second may be that of an ASCII character. */
export function isMultiByte(encoding: string): boolean {
  return (multiByte as readonly string[]).includes(encoding);
}

/** The text of these bytes; `null` where they are none in the encoding. */
export function decodeLegacy(bytes: Uint8Array, encoding: LegacyEncoding): string | null {
  try {
    return new TextDecoder(encoding, { fatal: true }).decode(bytes);
  } catch {
    return null;
  }
}

/** The bytes of the text; `null` where it has a character that the encoding lacks. */
export function encodeLegacy(text: string, encoding: LegacyEncoding): Uint8Array<ArrayBuffer> | null {
  const table = tableOf(encoding);
  const bytes = new Uint8Array(2 * text.length);
  let length = 0;
  for (const character of text) {
    const code = character < "\x80" ? [character.charCodeAt(0)] : table.get(character);
    if (code === undefined) return null;
    bytes.set(code, length);
    length += code.length;
  }
  return bytes.slice(0, length);
}

type Table = ReadonlyMap<string, readonly number[]>;
const tables = new Map<LegacyEncoding, Table>();

function tableOf(encoding: LegacyEncoding): Table {
  const known = tables.get(encoding) ?? makeTable(encoding);
  tables.set(encoding, known);
  return known;
}

/** Turns the decoder's table round: of several codes of a character the first. */
function makeTable(encoding: LegacyEncoding): Table {
  const codes = range(0x80, 0xff).map((byte) => [byte]);
  if (isMultiByte(encoding)) {
    for (const lead of range(encoding === "big5" ? 0xa1 : 0x81, 0xfe)) { // WHATWG Encoding §5: not those below
      if (encoding === "shift_jis" && (lead === 0xed || lead === 0xee)) continue; // nor these, which 0xfa to 0xfc repeat
      codes.push(...range(0x40, 0xfe).map((trail) => [lead, trail]));
    }
  }
  const newline = 0x0a; // begins a new character in each of these encodings
  const characters = new TextDecoder(encoding).decode(Uint8Array.from(codes.flatMap((code) => [...code, newline])));
  const table = new Map<string, readonly number[]>();
  for (const [index, character] of characters.split("\n").entries()) {
    const isOne = [...character].length === 1 && character !== "\ufffd";
    if (isOne && !table.has(character)) table.set(character, codes[index] ?? []);
  }
  return table;
}

function range(first: number, last: number): readonly number[] {
  return Array.from({ length: last - first + 1 }, (_, index) => first + index);
}
