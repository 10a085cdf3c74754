/**
 * The one path grammar, the same for every backend: pure, without decoding, without normalisation. What it accepts is
 * a list of names below the root, so an accepted path cannot leave the workspace by its spelling. Then how paths and
 * texts are shown, and patterns of names.
 */
import { decodeTriplets } from "../../lib/network.ts";
import { failure, type Result, success } from "../../lib/result.ts";

/** A path inside the workspace. The parsers here make them from callers' texts, {@link entryPath} from stored names. */
export interface WorkspacePath {
  /** The names joined by `/`; empty for the root. */
  readonly text: string;
  /** At least one name for a file; none for the root. No name is empty, `.` or `..`. */
  readonly segments: readonly string[];
}

/** Which rule of the grammar a path breaks. */
export type PathRule =
  | "empty"
  | "leaves_workspace"
  | "not_unicode"
  | "control_character"
  | "name_too_long"
  | "path_too_long"
  | "trailing_slash"
  | "reserved";

/** Which rule a name breaks that may be read when it is there, but is not created. */
export type NewNameRule =
  | "control_character"
  | "backslash"
  | "not_unicode"
  | "invisible_character"
  | "colon"
  | "trailing_dot_or_blank"
  | "device_name";

/** Longest name, in bytes of UTF-8 (NAME_MAX of Linux, macOS and NTFS). */
export const maxNameBytes = 255;
/** Longest path as a caller writes it, some characters escaped. */
const maxWrittenCharacters = 4 * 4096;
/** Longest path below the root, in bytes of UTF-8 (PATH_MAX of Linux). */
export const maxPathBytes = 4096;
/** Most names in a path: each costs a look at the disk, of a path that grows with their number. */
export const maxPathNames = 512;
/** The directory in the root that holds unfinished writes; no path reaches it. */
export const stagingDirectoryName = ".portcullis";

/** The workspace's root itself. */
export const rootPath: WorkspacePath = { text: "", segments: [] };

const surrogate = /[\ud800-\udfff]/;
const encoder = new TextEncoder();
// \p{Cc} is C0, DEL and C1; the other two are what terminals and JavaScript take for line ends
const controlCharacter = /[\p{Cc}\u2028\u2029]/u;
// \p{Cf} holds the bidirectional controls and the zero-width characters; the others are letters that show as nothing
const invisibleCharacter = /[\p{Cf}\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0]/u;
// COM¹ and its kin are devices too (cap-std CVE-2024-51756)
const deviceName = /^(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³]|conin\$|conout\$)\s*(?:\.|$)/i;

/** Parses the path of a file: at least one name, and no `/` or `/.` at its end. */
export function parseFilePath(text: string): Result<WorkspacePath, PathRule> {
  const parsed = parseDirectoryPath(text);
  if (!parsed.ok) return parsed;
  if (text === "") return failure("empty");
  const last = text.slice(text.lastIndexOf("/") + 1);
  return last === "" || last === "." ? failure("trailing_slash") : parsed;
}

/** Parses the path of a directory; the empty text and `.` are the root. Empty and `.` segments are dropped. */
export function parseDirectoryPath(text: string): Result<WorkspacePath, PathRule> {
  if (text.length > maxWrittenCharacters) return failure("path_too_long"); // before any work that grows with the text
  if (text.startsWith("/")) return failure("leaves_workspace");
  const path = text.includes("\\") ? readName(text) : text;
  // Windows has no such names, but would go where they lead
  if (path === null || (Deno.build.os === "windows" && text.includes("\\"))) return failure("leaves_workspace");
  const segments: string[] = [];
  for (const segment of path.split("/")) {
    // `a/../b` is refused, not resolved: with `a` a link, the file system and the text disagree about it
    if (segment === "..") return failure("leaves_workspace");
    if (segment !== "" && segment !== ".") segments.push(segment);
  }
  // a drive, also behind `./`: joined to another path, Windows would start there
  if (/^(?:\.?\/)*[A-Za-z]:/.test(text)) return failure("leaves_workspace");
  // what was written: escapes stand for such characters, and for bytes that are no character
  if (!text.isWellFormed()) return failure("not_unicode");
  if (controlCharacter.test(text)) return failure("control_character");
  if (segments.length > maxPathNames || isLongerThan(path, maxPathBytes)) return failure("path_too_long");
  if (segments.some((segment) => isLongerThan(segment, maxNameBytes))) return failure("name_too_long");
  if (isReserved(segments)) return failure("reserved");
  return success({ text: segments.join("/"), segments });
}

/** Orders names by their UTF-8 bytes, which every backend can do. */
export function compareNames(a: string, b: string): number {
  if (a === b) return 0;
  // code units sort like bytes, but for surrogates against U+E000 to U+FFFF
  if (surrogate.test(a) || surrogate.test(b)) return compareCodePoints(a, b);
  return a < b ? -1 : 1;
}

/** The path of an entry with this name, as a listing gave it, in a directory. */
export function entryPath({ text, segments }: WorkspacePath, name: string): WorkspacePath {
  return { text: text === "" ? name : `${text}/${name}`, segments: [...segments, name] };
}

/** The same with several names, below a directory. */
export function childPath(directory: WorkspacePath, names: readonly string[]): WorkspacePath {
  const segments = [...directory.segments, ...names];
  return { text: segments.join("/"), segments };
}

/** Says whether the names lead into the staging directory, by any spelling that a file system may take for its name. */
export function isReserved(segments: readonly string[]): boolean {
  const first = segments[0];
  if (first === undefined || /^[!--/-~]/.test(first)) return false; // what begins with these folds to no dot
  return foldedForms(first).includes(stagingDirectoryName);
}

/** The rule that keeps `name` from being created, or `null`. Names that are there already may be used. */
export function newNameProblem(name: string): NewNameRule | null {
  if (!name.isWellFormed()) return "not_unicode"; // bytes that are not UTF-8
  if (controlCharacter.test(name)) return "control_character";
  if (name.includes("\\")) return "backslash";
  if (invisibleCharacter.test(name)) return "invisible_character"; // what a person approves must be what they see
  if (name.includes(":")) return "colon"; // NTFS alternate data streams
  if (/[\s.]$/u.test(name)) return "trailing_dot_or_blank"; // Win32 drops them, and reaches another file
  if (deviceName.test(name)) return "device_name";
  return null;
}

function compareCodePoints(a: string, b: string): number {
  let at = 0;
  while (at < a.length && a[at] === b[at]) at++;
  if (at > 0 && /[\ud800-\udbff]/.test(a[at - 1] ?? "")) at--; // compare whole characters
  return (a.codePointAt(at) ?? -1) - (b.codePointAt(at) ?? -1);
}

function isLongerThan(text: string, bytes: number): boolean {
  if (text.length * 3 <= bytes) return false; // UTF-8 needs at most three bytes a code unit
  // a half of a pair stands for one byte
  return text.length > bytes || encoder.encode(text.replace(/\p{Cs}/gu, "?")).byteLength > bytes;
}

const longestExtension = 20; // bytes; what follows a dot further ahead is a part of the name

/** The name with the number before its extension, and without one for 1; shortened where it would be too long. */
export function numberedName(name: string, number: number, maxBytes = maxNameBytes): string {
  const dot = name.lastIndexOf(".");
  const hasExtension = dot > 0 && encoder.encode(name.slice(dot)).byteLength <= longestExtension;
  const extension = hasExtension ? name.slice(dot) : "";
  const suffix = number === 1 ? extension : ` (${number})${extension}`;
  const stem = hasExtension ? name.slice(0, dot) : name;
  return cutToBytes(stem, maxBytes - encoder.encode(suffix).byteLength) + suffix;
}

/** As many whole characters from the start as fit. */
function cutToBytes(text: string, maxBytes: number): string {
  let bytes = 0;
  let cut = "";
  for (const character of text) {
    bytes += encoder.encode(character).byteLength;
    if (bytes > maxBytes) break;
    cut += character;
  }
  return cut;
}

// * Names as the least strict file systems compare them. Two spellings that any of them takes for one name fold to one
// text: NTFS, APFS, HFS+, FAT and ext4 with casefold all distinguish at least what differs here.

const plainAscii = /^[\x20-\x7e]*$/;
// HFS+ passes over these when it compares names (CVE-2014-9390)
const ignorable = /[\p{Cf}\p{Default_Ignorable_Code_Point}]/gu;
/** Win32 drops dots and blanks at the end; NTFS takes what follows a colon for a stream of the file before it. */
const suffix = /:|[\s.]$/u;

/** The name without case, Unicode form and invisible characters. */
export function foldName(name: string): string {
  if (plainAscii.test(name)) return name.toLowerCase();
  // there and back: U+017F is a small letter that has only "S" in upper case, U+1E9E a capital with only a small one
  const cased = name.replace(ignorable, "").normalize("NFKC").toLowerCase().toUpperCase().toLowerCase();
  return cased.normalize("NFKC").replace(ignorable, "");
}

/** The folded name, and beside it the one that Windows opens where it drops a part. */
export function foldedForms(name: string): readonly string[] {
  const folded = foldName(name);
  if (!suffix.test(folded)) return [folded];
  const opened = folded.replace(/(?<=.):.*$/su, "").replace(/[\s.]+$/u, "");
  return opened === "" || opened === folded ? [folded] : [folded, opened];
}

// * Addresses of workspace files, `workspace:///` and the path, and what the template `workspace:///{+path}` makes of a
// value. Equivalent URIs name one file (RFC 3986 §6.2.2): the case of the scheme and of triplets, and which characters
// are encoded, say nothing. Dot segments are refused: addresses come without them (mcp/resource.ts).

const origin = "workspace:///";

/** The template of all addresses (RFC 6570 §3.2.3: reserved characters stand for themselves). */
export const fileUriTemplate = `${origin}{+path}`;

/** The address of a file. */
export function toFileUri(path: WorkspacePath): string {
  return `${origin}${encodePath(path)}`;
}

/** The path that an address names, or `null` for what is equivalent to nothing that {@link toFileUri} makes. */
export function parseFileUri(uri: string): WorkspacePath | null {
  // a byte needs at most three characters; nothing longer is worth decoding
  if (uri.length > origin.length + 3 * maxPathBytes) return null;
  if (uri.slice(0, origin.length).toLowerCase() !== origin) return null; // RFC 3986 §3.1
  const written = uri.slice(origin.length);
  if (/[?#]|%2F/i.test(written)) return null; // a query, a fragment, or a slash within a name
  const text = decodeTriplets(written);
  const path = text === null || text.includes("\\") ? null : parseFilePath(text);
  // parsing drops dot segments and empty ones
  return path?.ok === true && path.value.text === text ? path.value : null;
}

/** What to put into the template for a path: the path as it is, or encoded where the template would change it. */
export function toTemplateValue(path: WorkspacePath): string {
  return /[?#[\]]|%[0-9a-f]{2}/i.test(path.text) ? encodePath(path) : path.text;
}

/** The text that a value of the template names; `null` when its percent-encoding is not UTF-8. */
export function fromTemplateValue(value: string): string | null {
  // RFC 6570 §3.2.1: triplets pass, a `%` that begins none is a character
  return decodeTriplets(value.replace(/%(?![0-9a-f]{2})/gi, "%25"));
}

/** RFC 3986 §3.3: what a segment may hold as it is, is never encoded; everything else always is. */
function encodePath({ segments }: WorkspacePath): string {
  return segments
    .map((name) => encodeURIComponent(name.toWellFormed()).replace(/%(?:24|26|2B|2C|3A|3B|3D|40)/g, decodeURIComponent))
    .join("/");
}

// * How text from the workspace is shown, so that it cannot pass for something else on a terminal or a page.

/** Halves of surrogate pairs in a name: a byte that is not UTF-8 (lib/kernel/descriptor.ts), or one that cannot be told. */
const firstByte = 0xdc00;
export const firstUnknown = 0xd800;

const plainName = /^[ -[\]-~]*$/; // printable ASCII without the backslash: nearly every name
// everything that moves the cursor, ends a line or reorders what is read (Trojan Source, CVE-2021-42574),
// and what shows as nothing, as another blank, or is no character at all (a byte that is not UTF-8)
const misleadingInName =
  /(?! )[\p{Cc}\p{Cf}\p{Cs}\p{Zs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\\]|(?<=^[A-Za-z]):/gu;
// a text keeps its own line ends and tabs, and the joiners that emoji and Persian need
const misleadingInText = /[^\t\n\r\P{Cc}]|[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\u2028\u2029]/gu;

/**
 * A name or path on one line, which {@link readName} reads: control, bidirectional and invisible characters,
 * unusual blanks and the backslash as `\u{...}`, bytes that are not UTF-8 as `\x{..}`. No two names are shown alike.
 */
export function showName(name: string): string {
  return plainName.test(name) && name[1] !== ":" ? name : name.replace(misleadingInName, toNameEscape);
}

/** A pattern or an expression that a caller wrote, on one line: {@link showName}, but for its backslashes. */
export function showWritten(text: string): string {
  return showName(text).replaceAll("\\u{5C}", "\\");
}

/**
 * Shows paths that stand in one answer, or the names at their ends. Of two that differ in their Unicode form alone, the
 * one that is not composed is shown with escapes: a model would write it composed, and reach the other. `null` where
 * there are no two such.
 */
export function createTwinDisplay(paths: Iterable<string>): ((path: string, name?: string) => string) | null {
  const known = new Map<string, string>();
  const twins = new Set<string>();
  for (const path of paths) {
    if (plainName.test(path)) continue;
    const composed = path.normalize("NFC");
    if ((known.get(composed) ?? path) !== path) twins.add(composed);
    known.set(composed, path);
  }
  if (twins.size === 0) return null;
  return (path, name = path) => {
    const shown = showName(name);
    const isTwin = path !== path.normalize("NFC") && twins.has(path.normalize("NFC"));
    return isTwin ? shown.replace(/[^\x20-\x7e]/gu, toEscape) : shown;
  };
}

/** The path as data for programs: as it is, or as {@link showName} has it where no path can be written so. */
export function toPathText(path: string): string {
  return isTypable(path) ? path : showName(path);
}

/** Whether callers can write the name as it is: without backslashes, control characters and halves of pairs. */
export function isTypable(name: string): boolean {
  return name.isWellFormed() && !/[\p{Cc}\u2028\u2029\\]|^[A-Za-z]:/u.test(name);
}

const escape = /\\(?:u\{([0-9A-Fa-f]{1,6})\}|x\{(?:([89A-Fa-f][0-9A-Fa-f])|\?(\d{0,3}))\})/g;

/** The name that a caller wrote, with the escapes of {@link showName}; `null` for a backslash that begins none of them. */
export function readName(written: string): string | null {
  let isEscape = true;
  const read = written.replace(escape, (whole, character?: string, byte?: string, unknown?: string) => {
    if (byte !== undefined) return String.fromCharCode(firstByte + Number.parseInt(byte, 16));
    if (unknown !== undefined) return String.fromCharCode(firstUnknown + Number(unknown));
    const code = Number.parseInt(character ?? "", 16);
    const meant = code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : "";
    // ASCII that shows as itself is written as itself: no dot, no slash
    const isMeant = code > 0x7e || meant === ":" || showName(meant) !== meant;
    if (meant !== "" && isMeant && meant.isWellFormed()) return meant;
    isEscape = false;
    return whole;
  });
  return isEscape && !written.replace(escape, "").includes("\\") ? read : null;
}

/** A text with control characters (but tab and line ends) and bidirectional controls as `\u{...}`. */
export function showText(text: string): string {
  return text.replace(misleadingInText, toEscape);
}

// what shows as nothing, or turns a text around, but where it shapes an emoji, or letters of Arabic or Indic scripts
const invisible =
  /\r(?!\n|$)|(?:[^\P{C}\t\n\r]|[\p{Default_Ignorable_Code_Point}\p{Zl}\p{Zp}\u2800\ufffc])(?<!\p{Extended_Pictographic}[\ufe0e\ufe0f]|[#*\d]\ufe0f(?=\u20e3)|[\p{Extended_Pictographic}\p{Emoji_Modifier}]\ufe0f?\u200d(?=\p{Extended_Pictographic})|(?:\p{Script=Arabic}|(?!\p{Script=Inherited})\p{M})[\u200c\u200d])/gu;

/** A text for a person who reads it: {@link showText}, and as `\u{...}` what shows as nothing; it stays readable. */
export function showReadably(text: string): string {
  return text.replace(invisible, toEscape);
}

// what shows as nothing, as a blank, or as a line end, what covers its neighbours, and what looks like other characters
const unseen =
  /[^\t\n\r\P{Cc}]|\r(?!\n)|(?! )[\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800\ufffc]|(?<=\p{M}{6})\p{M}|[\uff10-\uff19\uff21-\uff3a\uff41-\uff5a\u{1d400}-\u{1d7ff}\u037e\u1fef\u2024\u2044\u212a\u2215\u29f5\u29f8\u29f9\uff0f\uff3c]/gu;
const plain = /^[\t\n\r -~]*$/;
const word = /[\p{L}\p{M}\p{N}_]+/gu;
const latin = /\p{Script=Latin}/u;
/** Letters of scripts that do not stand beside Latin ones in one word, as those of East Asia do. */
const alike =
  /(?=\p{L})[^\p{Script=Latin}\p{Script=Common}\p{Script=Inherited}\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Bopomofo}\p{Script=Thai}]/gu;

/**
 * A text for a person who decides about it: {@link showText}, and everything as `\u{...}` that shows as nothing, as a
 * blank, or as another character: tags, variation selectors, joiners, a carriage return alone, piles of marks, and
 * letters of other scripts within Latin words.
 */
export function showExactly(text: string): string {
  if (plain.test(text) && !text.includes("\r")) return text;
  return text.replace(word, (each) => latin.test(each) ? each.replace(alike, toEscape) : each).replace(
    unseen,
    toEscape,
  );
}

/** JSON has six bytes for a control character, and {@link showText} up to nine: a text has few of them, or is binary. */
const maxEscapes = 20_000;

/** A text as {@link showText} shows it, and how many characters that escapes; `null` when there are too many for a text. */
export function escapeText(text: string): { readonly shown: string; readonly escapes: number } | null {
  if (plain.test(text)) return { shown: text, escapes: 0 };
  let escapes = 0;
  for (const _ of text.matchAll(misleadingInText)) if (++escapes > maxEscapes) return null;
  return { shown: escapes === 0 ? text : showText(text), escapes };
}

function toEscape(character: string): string {
  return `\\u{${(character.codePointAt(0) ?? 0).toString(16).toUpperCase()}}`;
}

function toNameEscape(character: string): string {
  if (character.isWellFormed()) return toEscape(character);
  const code = character.charCodeAt(0);
  if (code < firstByte) return `\\x{?${code === firstUnknown ? "" : code - firstUnknown}}`;
  return `\\x{${(code - firstByte).toString(16).toUpperCase()}}`;
}

// * Patterns of names, for rules about names and for walks.

/** Says whether one name matches. */
export type NameMatcher = (name: string) => boolean;

/** Prepares a pattern of `*` and `?`; `hasClasses`: also `[abc]`, `[a-z]`, `[!a]` and a backslash before what stands for itself. */
export function compileName(
  pattern: string,
  { hasClasses = false }: { readonly hasClasses?: boolean } = {},
): NameMatcher {
  if (!(hasClasses ? /[?[\\]/ : /\?/).test(pattern)) return matchPieces(pattern.split("*"));
  // what is no class, such as `[a`, is a character
  const parts = pattern.match(hasClasses ? /\\[^]|\[[!^]?\]?[^\]]*\]|[^]/g : /[^]/g) ?? [];
  const steps = parts.map(stepOf);
  return (name) => matchesPath(steps, name.split(""));
}

/** What a part of a pattern says of one character. */
function stepOf(part: string): NameMatcher {
  if (part === "*") return anyNames;
  if (part === "?") return () => true;
  if (part.length > 2) return classOf(part.slice(1, -1));
  const meant = part.at(-1);
  return (character) => character === meant;
}

/** Pieces with anything between them. */
function matchPieces(pieces: readonly string[]): NameMatcher {
  const [first = "", ...others] = pieces;
  const last = others.pop();
  if (last === undefined) return (name) => name === first;
  return (name) => {
    if (name.length < first.length + last.length || !name.startsWith(first) || !name.endsWith(last)) return false;
    const end = name.length - last.length;
    let from = first.length;
    for (const piece of others) {
      const at = name.indexOf(piece, from);
      if (at === -1) return false;
      from = at + piece.length;
    }
    return from <= end;
  };
}

function classOf(text: string): NameMatcher {
  const isNegated = text.startsWith("!") || text.startsWith("^");
  const ranges = Array.from((isNegated ? text.slice(1) : text).matchAll(/([^])-([^])|([^])/g), (
    [, from, to, single],
  ) => [from ?? single ?? "", to ?? single ?? ""] as const);
  return (character) => ranges.some(([from, to]) => from <= character && character <= to) !== isNegated;
}

/** In a pattern of names: any number of them. */
export const anyNames: NameMatcher = () => true;

/**
 * Whether the names match a pattern of names, or characters one of characters. Only the last {@link anyNames} is ever
 * tried again: an earlier one could not reach further than the later does, which bounds the work by pattern times path.
 */
export function matchesPath(parts: readonly NameMatcher[], segments: readonly string[]): boolean {
  let index = 0;
  let at = 0;
  let wildcard = -1;
  let wildcardEnd = 0;
  while (at < segments.length) {
    const part = parts[index];
    if (part === anyNames) {
      wildcard = index++;
      wildcardEnd = at;
    } else if (part?.(segments[at] ?? "")) {
      index++;
      at++;
    } else if (wildcard !== -1) {
      index = wildcard + 1;
      at = ++wildcardEnd;
    } else {
      return false;
    }
  }
  while (parts[index] === anyNames) index++;
  return index === parts.length;
}
