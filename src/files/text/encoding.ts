/** What the bytes of a file are: the media type, the encoding of a text, and how a text is written back as it was. */
import { loadOnce } from "../../lib/program.ts";
import type { WorkspacePath } from "../workspace/path.ts";
import type { Workspace } from "../workspace/port.ts";

/** Encodings of one or two bytes a character, by the runtime's own tables (WHATWG Encoding §9 to §14). */
const singleByte = [
  ...["windows-1250", "windows-1251", "windows-1252", "windows-1253", "windows-1254", "windows-1255"] as const,
  ...["windows-1256", "windows-1257", "windows-1258", "windows-874", "koi8-r", "koi8-u", "ibm866"] as const,
  ...["iso-8859-2", "iso-8859-5", "iso-8859-7", "iso-8859-15", "macintosh"] as const,
] as const;
const multiByte = ["shift_jis", "euc-jp", "iso-2022-jp", "gbk", "big5", "euc-kr"] as const;

const legacyEncodings = [...singleByte, ...multiByte] as const;
type LegacyEncoding = typeof legacyEncodings[number];

/** What a text file is encoded in. `latin1` is what is the same in Windows-1252. */
export const textEncodings = ["utf-8", "utf-16le", "utf-16be", "latin1", ...legacyEncodings] as const;
export type TextEncoding = typeof textEncodings[number];

/** A decoded file. A byte order mark is the first character of the text, so that what is written back stays the same. */
export interface DecodedText {
  readonly text: string;
  readonly encoding: TextEncoding;
}

/** Of a text: control characters, of which binary files are full. */
const maxControlShare = 0.02;

/** The text of these bytes in `encoding`, or in UTF-8 or UTF-16 as they show; `null` when they are no text in it. */
export function decodeBytes(bytes: Uint8Array, encoding: TextEncoding | null = null): DecodedText | null {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const chosen = encoding ?? shownEncoding(buffer) ?? "utf-8";
  const text = encoding === null && isUtf32(buffer) ? null : textIn(buffer, chosen);
  return text === null ? null : { text, encoding: chosen };
}

function textIn(buffer: Buffer, encoding: TextEncoding): string | null {
  switch (encoding) {
    case "utf-8":
      return asciiText(buffer) ?? utf8Text(buffer);
    case "utf-16le":
    case "utf-16be": {
      const text = buffer.length % 2 === 0 ? decodeWide(buffer, encoding) : null;
      return text?.isWellFormed() ? text : null;
    }
    case "latin1":
      return buffer.toString("latin1");
    default:
      return decodeLegacy(buffer, encoding);
  }
}

const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** The text of these bytes, or `null` where one of them is not ASCII. Ten times as quick as to decode UTF-8. */
function asciiText(bytes: Uint8Array): string | null {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("latin1");
  return Buffer.byteLength(text) === text.length ? text : null;
}

/** The text of these bytes, or `null` where they are no UTF-8. */
function utf8Text(bytes: Uint8Array): string | null {
  try {
    return strict.decode(bytes);
  } catch {
    return null;
  }
}

/** The bytes of the text in `encoding`; `null` when it has characters that the encoding lacks. */
export function encodeText(text: string, encoding: TextEncoding): Uint8Array<ArrayBuffer> | null {
  if (!text.isWellFormed()) return null;
  switch (encoding) {
    case "utf-8":
      return new TextEncoder().encode(text);
    case "utf-16le":
      return new Uint8Array(Buffer.from(text, "utf16le"));
    case "utf-16be":
      return new Uint8Array(Buffer.from(text, "utf16le").swap16());
    case "latin1":
      return /^[\0-\xff]*$/.test(text) ? new Uint8Array(Buffer.from(text, "latin1")) : null;
    default:
      return encodeLegacy(text, encoding);
  }
}

/** The first character that the encoding lacks. */
export function lackingIn(text: string, encoding: TextEncoding): string | undefined {
  return Array.from(text).find((character) => encodeText(character, encoding) === null);
}

/**
 * The bytes of a text that was made of another by edits: lines that are the same keep their bytes, which an encoding may
 * have several of. `null` as in {@link encodeText}.
 */
export function encodeEdited(
  before: DecodedText & { readonly bytes: Uint8Array },
  text: string,
): Uint8Array<ArrayBuffer> | null {
  const { encoding } = before;
  if (encoding === "utf-8" || encoding.startsWith("utf-16")) return encodeText(text, encoding);
  const [was, now] = [before.text, text].map((each) => each.split("\n")) as [string[], string[]];
  const most = Math.min(was.length, now.length);
  let head = 0;
  while (head < most && was[head] === now[head]) head++;
  let tail = 0;
  while (tail < most - head && was.at(-1 - tail) === now.at(-1 - tail)) tail++;
  const changed = encodeText(now.slice(head, now.length - tail).join("\n"), encoding);
  if (changed === null) return null;
  const lines = Buffer.from(before.bytes).toString("latin1").split("\n"); // a newline is no part of a character
  const bytes = (part: readonly string[]): Buffer => Buffer.from(part.join("\n"), "latin1");
  const parts = [
    ...head === 0 ? [] : [bytes(lines.slice(0, head))],
    ...head + tail === now.length ? [] : [changed],
    ...tail === 0 ? [] : [bytes(lines.slice(lines.length - tail))],
  ];
  const newline = Buffer.from("\n");
  return new Uint8Array(Buffer.concat(parts.flatMap((part, index) => index === 0 ? [part] : [newline, part])));
}

/** Whether bytes that are not UTF-8 read as text: without NUL, and with few control characters. */
export function looksLikeText(bytes: Uint8Array): boolean {
  let controls = 0;
  for (const byte of bytes) {
    if (byte === 0) return false;
    if (byte < 0x20 ? byte !== 0x09 && byte !== 0x0a && byte !== 0x0d : byte === 0x7f) controls++;
  }
  return controls <= bytes.length * maxControlShare;
}

/** The two orders of bytes. */
type WideEncoding = "utf-16le" | "utf-16be";

/** How much of a file without a mark is looked at. */
const sampleBytes = 4_096;
/** How many bytes of what reads as UTF-8, too, have to be 0. */
const leastZeroShare = 0.25;
/** Less is as likely to be anything else. */
const leastBytes = 8;
/** How many of its characters have to be of the commonest scripts. */
const leastCommonShare = 0.5;
const common = /[\t\n\r -~\xa0-\u02ff\u0370-\u06ff\u3000-\u30ff\uac00-\ud7a3]/gu;
const impossible = /[^\P{Cc}\t\n\r\f]|\p{Cn}|\p{Co}|\p{Cs}/u;

/** Frequent in Chinese and Japanese: a third and more of a text. */
const frequent =
  /[\u3001\u3002\u300c\u300d\u3041-\u30ff\uff01\uff0c\uff1a\uff1b\uff1f的一是了我不人在他有这個个上们們来來到时時大地为為子中你说說生国國年着就那和要她出也得里後后自以会會家可下而过過天去能对對小多然于心学學么之都好看起发發当當没成只如事把还用第样道想作种開开美乍总从無无情己面最女但现前些所同日手又行意动方期它头经長长儿回位分爱老因很给名法间斯知世什两次使身者被高已亲其进此话常与活正感文本字件內内界行目語语日東东京電电]/gu;
const ideographs = /^[\ufeff\t\n\r -~\u2013-\u2026\u3000-\u30ff\u4e00-\u9fff\uff00-\uffef]*$/u;

/** Whether it is Chinese or Japanese without other letters, of which at least this share is frequent. */
function isIdeographic(text: string, leastShare: number): boolean {
  return ideographs.test(text) && (text.match(frequent)?.length ?? 0) >= text.length * leastShare;
}

/** In so few bytes UTF-16 may be UTF-8, too. */
export const shortBytes = 256;

/** The order of bytes of Chinese or Japanese in UTF-16 that bytes of 0 do not tell. What else it may be reads as no such text. */
function ideographicEncoding(sample: Uint8Array): WideEncoding | null {
  for (const [encoding, at] of [["utf-16le", 1], ["utf-16be", 0]] as const) {
    const isHigh = (byte: number): boolean => (byte >= 0x4e && byte <= 0x9f) || [0, 0x20, 0x30, 0xff].includes(byte);
    if (!sample.every((byte, index) => index % 2 !== at || isHigh(byte))) continue;
    const isPlain = looksLikeText(sample);
    const isUtf8 = utf8Text(sample) !== null;
    if (isUtf8 && (isPlain || sample.length > shortBytes)) return null;
    if (isIdeographic(decodeWide(sample, encoding), isUtf8 ? 0.5 : isPlain ? 0.3 : 0.1)) return encoding;
  }
  return null;
}

const utf32Orders = [true, false] as const;
export const utf32Words = "it seems to be UTF-32, which is not decoded: save it as UTF-8";

/** Whether it is UTF-32, with a mark or without, which nothing here decodes: each number is that of a character. */
export function isUtf32(start: Uint8Array): boolean {
  const sample = start.subarray(0, sampleBytes);
  if (sample.length < leastBytes || sample.length % 4 !== 0 || !sample.includes(0)) return false;
  const view = new DataView(sample.buffer, sample.byteOffset, sample.byteLength);
  return utf32Orders.some((isLittle) => {
    const codes = Array.from({ length: sample.length / 4 }, (_, at) => view.getUint32(4 * at, isLittle));
    return codes.every((code) => code <= 0x10ffff) && !impossible.test(String.fromCodePoint(...codes));
  });
}

const shift = new RegExp(String.raw`\x1b\$[@B](?:[!-~]{2})+\x1b\([BJI]`);

/** ISO-2022-JP: within ASCII, signs that switch to two bytes a character and back. */
export function isShifted(start: Uint8Array): boolean {
  const at = start.indexOf(0x1b);
  if (at === -1) return false;
  const text = Buffer.from(start.buffer, start.byteOffset + at, start.byteLength - at).toString("latin1");
  return shift.test(text) && asciiText(start) !== null &&
    decodeLegacy(start, "iso-2022-jp") !== null;
}

/** The encoding that the start of a file shows, where that is none of one byte a character, and not UTF-8. */
export function shownEncoding(start: Uint8Array): TextEncoding | null {
  return wideEncoding(start) ?? (isShifted(start) ? "iso-2022-jp" : null);
}

/** The encoding that a byte order mark at the start names; `null` without one, and for that of UTF-8. */
export function markedEncoding(start: Uint8Array): WideEncoding | null {
  if (start[0] === 0xff && start[1] === 0xfe) return "utf-16le";
  return start[0] === 0xfe && start[1] === 0xff ? "utf-16be" : null;
}

/** The same also without a mark, where the start of a file holds bytes of 0 and reads as text in UTF-16 alone. */
export function wideEncoding(start: Uint8Array): WideEncoding | null {
  const marked = markedEncoding(start);
  const sample = start.subarray(0, sampleBytes);
  if (start.length % 2 !== 0 || start.length < leastBytes) return marked;
  if (!sample.includes(0)) return marked ?? ideographicEncoding(sample);
  if (isUtf32(start)) return null;
  if (marked !== null) return marked;
  const zeros = [0, 0];
  for (const [index, byte] of sample.entries()) if (byte === 0) zeros[index % 2] = (zeros[index % 2] ?? 0) + 1;
  // a byte of 0 in a text of UTF-8 is a stray one, unless many characters have one
  const isStray = utf8Text(sample) !== null && !sample.some((byte) => byte > 0 && byte < 0x09);
  if (isStray && Math.max(...zeros) < sample.length * leastZeroShare) return null;
  const encoding = (zeros[1] ?? 0) > (zeros[0] ?? 0) ? "utf-16le" : "utf-16be";
  const text = decodeWide(sample, encoding).replace(/[\ud800-\udbff]$/, "");
  const isText = isIdeographic(text, 0.1) ||
    !impossible.test(text) && (text.match(common)?.length ?? 0) >= text.length * leastCommonShare;
  return isText ? encoding : ideographicEncoding(sample);
}

/** An even number of bytes as text, which may hold halves of pairs. */
export function decodeWide(bytes: Uint8Array, encoding: WideEncoding): string {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return (encoding === "utf-16le" ? buffer : Buffer.from(buffer).swap16()).toString("utf16le");
}

/** Whether characters may take two bytes, of which the second may be that of an ASCII character. */
export function isMultiByte(encoding: string): boolean {
  return (multiByte as readonly string[]).includes(encoding);
}

/** The text of these bytes; `null` where they are none in the encoding. */
function decodeLegacy(bytes: Uint8Array, encoding: LegacyEncoding): string | null {
  try {
    return new TextDecoder(encoding, { fatal: true }).decode(bytes);
  } catch {
    return null;
  }
}

/** The bytes of the text; `null` where it has a character that the encoding lacks. */
function encodeLegacy(text: string, encoding: LegacyEncoding): Uint8Array<ArrayBuffer> | null {
  if (encoding === "iso-2022-jp") return encodeShifted(text);
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

const toAscii = [0x1b, 0x28, 0x42];
const toJapanese = [0x1b, 0x24, 0x42];

/** ISO-2022-JP: the codes of EUC-JP without their highest bit, between signs that switch. */
function encodeShifted(text: string): Uint8Array<ArrayBuffer> | null {
  const table = tableOf("euc-jp");
  const bytes: number[] = [];
  let isJapanese = false;
  for (const character of text) {
    const code = character < "\x80" ? null : table.get(character);
    const [lead = 0] = code ?? [];
    if (code === undefined || (code !== null && lead < 0xa1) || character === "\x1b") return null;
    if (isJapanese !== (code !== null)) bytes.push(...isJapanese ? toAscii : toJapanese);
    isJapanese = code !== null;
    for (const byte of code ?? [character.charCodeAt(0)]) bytes.push(byte & 0x7f);
  }
  return Uint8Array.from(isJapanese ? [...bytes, ...toAscii] : bytes);
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
  const lines = codes.flatMap((code) => [...code, newline]); // which begins a new character in each of these encodings
  const characters = new TextDecoder(encoding).decode(Uint8Array.from(lines));
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

// * The encoding of a text that has no byte order mark and is no UTF-8.

/** How much of a text the detector sees: different words that are not ASCII. */
const wordsBytes = 4_096;
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
    if ((length += word.length + 1) >= wordsBytes) break;
  }
  return Buffer.from([...words].join(" ").slice(0, wordsBytes), "latin1");
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

// * Media types of files, by their first bytes where a client shows the content, and by their name otherwise.

/** Content that clients show themselves. */
interface MediaKind {
  readonly type: "image" | "audio";
  readonly mimeType: string;
}

const signatures: readonly { readonly at: number; readonly bytes: string; readonly kind: MediaKind }[] = [
  { at: 0, bytes: "\x89PNG\r\n\x1a\n", kind: { type: "image", mimeType: "image/png" } },
  { at: 0, bytes: "\xff\xd8\xff", kind: { type: "image", mimeType: "image/jpeg" } },
  { at: 0, bytes: "GIF87a", kind: { type: "image", mimeType: "image/gif" } },
  { at: 0, bytes: "GIF89a", kind: { type: "image", mimeType: "image/gif" } },
  { at: 8, bytes: "WEBP", kind: { type: "image", mimeType: "image/webp" } },
  { at: 8, bytes: "WAVE", kind: { type: "audio", mimeType: "audio/wav" } },
  { at: 4, bytes: "ftypavif", kind: { type: "image", mimeType: "image/avif" } },
  { at: 4, bytes: "ftypM4A", kind: { type: "audio", mimeType: "audio/mp4" } },
  { at: 0, bytes: "fLaC", kind: { type: "audio", mimeType: "audio/flac" } },
  { at: 0, bytes: "OggS", kind: { type: "audio", mimeType: "audio/ogg" } },
  { at: 0, bytes: "ID3", kind: { type: "audio", mimeType: "audio/mpeg" } },
  { at: 0, bytes: "\xff\xfb", kind: { type: "audio", mimeType: "audio/mpeg" } },
];

const typesByExtension: ReadonlyMap<string, string> = new Map([
  ["txt", "text/plain"],
  ["log", "text/plain"],
  ["md", "text/markdown"],
  ["csv", "text/csv"],
  ["html", "text/html"],
  ["htm", "text/html"],
  ["css", "text/css"],
  ["js", "text/javascript"],
  ["mjs", "text/javascript"],
  ["ts", "text/x-typescript"],
  ["py", "text/x-python"],
  ["sh", "text/x-shellscript"],
  ["json", "application/json"],
  ["xml", "application/xml"],
  ["yaml", "application/yaml"],
  ["yml", "application/yaml"],
  ["toml", "application/toml"],
  ["pdf", "application/pdf"],
  ["zip", "application/zip"],
  ["gz", "application/gzip"],
  ["svg", "image/svg+xml"],
  ["png", "image/png"],
  ["jpg", "image/jpeg"],
  ["jpeg", "image/jpeg"],
  ["gif", "image/gif"],
  ["webp", "image/webp"],
  ["mp3", "audio/mpeg"],
  ["wav", "audio/wav"],
  ["ogg", "audio/ogg"],
  ["flac", "audio/flac"],
]);

/** The kind of image or audio that these bytes start, or `null`. */
export function sniffMedia(bytes: Uint8Array): MediaKind | null {
  const start = startOf(bytes);
  if (beginsAsText(bytes)) return null;
  return signatures.find(({ at, bytes: signature }) => start.startsWith(signature, at))?.kind ?? null;
}

const mediaStartBytes = 64;
const notInText = /[^\t-\r -\xfe]/;
const startOf = (bytes: Uint8Array) => Buffer.from(bytes.subarray(0, mediaStartBytes)).toString("latin1");

/** Whether these bytes start no image or audio: each has a byte early on that no text has, be it only in a size. */
export function beginsAsText(bytes: Uint8Array): boolean {
  return !notInText.test(startOf(bytes));
}

/** The media type of what shows no other (RFC 2046 §4.5.1). */
export const unknownMediaType = "application/octet-stream";

/** The media type that a file's name promises; {@link unknownMediaType} when it promises none. */
export function mediaTypeOf(name: string): string {
  const extension = /\.([^./]+)$/.exec(name)?.[1]?.toLowerCase();
  return (extension === undefined ? undefined : typesByExtension.get(extension)) ?? unknownMediaType;
}
