/** Finds out in which encoding a text without a byte order mark is, that is no UTF-8. */
import { loadOnce } from "../../lib/program.ts";
import type { WorkspacePath } from "../workspace/path.ts";
import type { Workspace } from "../workspace/port.ts";
import {
  asciiText,
  decodeBytes,
  type DecodedText,
  decodeLegacy,
  isMultiByte,
  isShifted,
  isUtf32,
  type LegacyEncoding,
  looksLikeText,
  shownEncoding,
  type TextEncoding,
  utf32Words,
  utf8Text,
} from "../workspace/encoding.ts";

/** How much of a text the detector sees: different words that are not ASCII. */
const sampleBytes = 4_096;
/** How much of a file is looked through for them, and how large the part is that decides. */
const pieceBytes = 262_144;
/** Of these the share of control characters says whether it is a text at all. */
const judgedBytes = 1_048_576;
const newline = 0x0a;
/** Of one character in UTF-8, at most. */
const maxCharacterBytes = 4;
/** How much more likely than Windows-1252 another Latin encoding has to be: a few accents do not tell them apart. */
const leastAdvantage = 1.5;

/** The detector's names of the encodings that it distinguishes; the last ones are for Latin letters. */
const names: Readonly<Record<string, LegacyEncoding>> = {
  ...{ cp932: "shift_jis", shift_jis: "shift_jis", "euc-jp": "euc-jp", gb18030: "gbk", big5: "big5" },
  ...{ cp949: "euc-kr", "euc-kr": "euc-kr", "windows-1251": "windows-1251", "koi8-r": "koi8-r", ibm866: "ibm866" },
  ...{ "windows-1253": "windows-1253", "windows-1255": "windows-1255", "windows-1256": "windows-1256" },
  ...{ cp874: "windows-874", "iso-8859-5": "iso-8859-5", "iso-8859-7": "iso-8859-7", "koi8-u": "koi8-u" },
  ...{ "windows-1250": "windows-1250", "windows-1252": "windows-1252", "windows-1254": "windows-1254" },
  ...{ "windows-1257": "windows-1257", "windows-1258": "windows-1258", "iso-8859-2": "iso-8859-2" },
};
const latin = /^(?:windows-125[02478]|iso-8859-2)$/;

const loadDetector = loadOnce(() => import("jschardet")); // a megabyte of models, some 150 ms

/** The text of a file's bytes, in the encoding that they show (UTF-8, UTF-16 or one of their forerunners); `null` when they are no text. */
export async function decodeText(bytes: Uint8Array): Promise<DecodedText | null> {
  const decoded = decodeBytes(bytes);
  if (decoded !== null) return decoded;
  const encoding = await detectEncoding(bytes);
  return encoding === null ? null : decodeBytes(bytes, encoding);
}

/** What to know of an encoded text that would be taken for another: a word or two show little; empty for most. */
export async function undetectedWords(bytes: Uint8Array, { text, encoding }: DecodedText): Promise<string> {
  if (encoding === "utf-8" || (await decodeText(bytes))?.text === text) return "";
  return `too little of it shows ${encoding.toUpperCase()}: file_read needs encoding ${encoding} to read it`;
}

/** The encoding of bytes that are neither UTF-8 nor UTF-16, of which the first beyond ASCII are looked at; `null` when they are no text. */
export async function detectEncoding(bytes: Uint8Array): Promise<TextEncoding | null> {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("latin1"); // searched natively
  const shown = shownEncoding(bytes);
  if (shown === "iso-2022-jp") return shown;
  if (shown !== null || text.includes("\0") || !looksLikeText(bytes.subarray(0, judgedBytes))) {
    return null;
  }
  const start = bytes.lastIndexOf(newline, text.search(/[\x80-\xff]/)) + 1;
  const piece = bytes.subarray(start, start + pieceBytes);
  const encoding = await likeliest(sampleOf(piece), piece);
  if (encoding !== "windows-1252" || /[\x80-\x9f]/.test(text)) return encoding;
  return hasEuros.test(text) ? "iso-8859-15" : "latin1";
}

/** Why nothing can be changed in a file that begins so, nor added to it: it is no text that is decoded. `null` where it may be. */
export function whyNoText(start: Uint8Array): string | null {
  if (isUtf32(start)) return utf32Words;
  const isText = shownEncoding(start) ?? utf8Text(wholeCharacters(start)) ?? (looksLikeText(start) || null);
  return isText === null ? noTextWords : null;
}

export const noTextWords = "its content is no text in a known encoding";

/** The encoding of a file, by the first piece that is not ASCII. */
export async function encodingOfFile(workspace: Workspace, path: WorkspacePath): Promise<TextEncoding> {
  const buffer = new Uint8Array(pieceBytes);
  for (let offset = 0; offset <= workspace.limits.maxFileBytes;) {
    const read = await workspace.readInto(path, buffer, offset);
    if (!read.ok || read.value.lengthBytes === 0) return "utf-8";
    const piece = buffer.subarray(0, read.value.lengthBytes);
    const shown = offset === 0 ? shownEncoding(piece) : isShifted(piece) ? "iso-2022-jp" as const : null;
    if (shown !== null) return shown;
    if (asciiText(piece) === null) {
      return utf8Text(wholeCharacters(piece)) === null ? await detectEncoding(piece) ?? "utf-8" : "utf-8";
    }
    offset += piece.byteLength;
  }
  return "utf-8";
}

async function likeliest(sample: Uint8Array, bytes: Uint8Array): Promise<LegacyEncoding> {
  const western = decodeLegacy(sample, "windows-1252") ?? "";
  const runs = Buffer.from(sample).toString("latin1").match(/[\x80-\xff]+/g)?.map(({ length }) => length) ?? [];
  const isScattered = runs.filter((length) => length === 1).length * 2 >= runs.length;
  // most of what German, French and Spanish need is the same in both
  if (isScattered && western === decodeLegacy(sample, "windows-1250")) return "windows-1252";
  const { chardet } = await loadDetector();
  const found = chardet.detectAll(sample, { includeEncodings: Object.keys(names), ignoreThreshold: true })
    .flatMap(({ encoding, confidence }) => {
      const name = names[encoding?.toLowerCase() ?? ""];
      return name === undefined ? [] : [{ name, confidence }];
    }).filter(({ name }) => isTextIn(bytes, name));
  // accents are single among letters of ASCII, other alphabets make whole words
  const [best] = isScattered
    ? found.filter(({ name }) => latin.test(name) || (isMultiByte(name) && name !== "euc-kr"))
    : found;
  if (best === undefined) return "windows-1252";
  const own = found.find(({ name }) => name === "windows-1252")?.confidence ?? 0;
  if (latin.test(best.name) && best.confidence < leastAdvantage * own) return "windows-1252";
  const text = decodeLegacy(bytes, best.name); // where it is the same, that of Windows is the commoner
  return found.find(({ name }) => name.startsWith("windows") && decodeLegacy(bytes, name) === text)?.name ?? best.name;
}

/** What ISO-8859-15 has in place of ¤, ½ and ¨: beside a number, and within a word, nothing else has a meaning. */
const hasEuros =
  /\d[ \xa0]?\xa4(?![\w\xa4])|(?<![\w\xa4])\xa4[ \xa0]?\d|[A-Za-z]\xbd(?=[a-z])|(?<![\w.])\xbduvre|[a-z]\xa8(?=[a-z])/;

/** Whether the bytes, of which the last character may be cut, are text in the encoding. */
function isTextIn(bytes: Uint8Array, encoding: LegacyEncoding): boolean {
  const end = bytes.byteLength < pieceBytes ? undefined : bytes.lastIndexOf(newline) + 1 || undefined;
  return decodeLegacy(bytes.subarray(0, end), encoding) !== null;
}

/** Words that are not ASCII, each once: of a text that repeats itself the detector makes nothing. */
function sampleOf(bytes: Uint8Array): Uint8Array {
  const words = new Set<string>();
  let length = 0;
  for (const word of Buffer.from(bytes).toString("latin1").split(/[^0-\xff]+/)) { // no second byte is below "0"
    if (!/[\x80-\xff]/.test(word) || words.has(word)) continue;
    words.add(word);
    if ((length += word.length + 1) >= sampleBytes) break;
  }
  return Buffer.from([...words].join(" ").slice(0, sampleBytes), "latin1");
}

/** Without a character of UTF-8 that is cut at the end. */
function wholeCharacters(bytes: Uint8Array): Uint8Array {
  for (let back = 1; back < maxCharacterBytes && back < bytes.length; back++) {
    const byte = bytes.at(-back) ?? 0;
    if (byte >= 0xc0) return bytes.subarray(0, -back);
    if (byte < 0x80) return bytes;
  }
  return bytes;
}
