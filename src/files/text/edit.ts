/** Replaces passages of a text, bounded before the result is made. Line ends stay the file's, whatever the caller types. */
import { countLineEnds, createTextFinder, findOverlapping, unicodeForms, wordClass } from "./finder.ts";
import { failure, type Result, success } from "../../lib/result.ts";
import type { WorkspacePath } from "../workspace/path.ts";
import type { FileContent, Outcome, Workspace } from "../workspace/port.ts";
import { decodeWide, encodingOfFile, markedEncoding, whyNoText, wideEncoding } from "./encoding.ts";
import { joinPieces, markBytes } from "./lines.ts";
import { digestOf } from "../../lib/secrets.ts";
import { nextTurn, type Working } from "../../lib/turns.ts";

/** Why nothing was replaced. */
export type EditRefusal =
  | { readonly reason: "empty_old_text" | "same_text" | "same_line_ends" }
  | { readonly reason: "not_there"; readonly alike: Alike | null }
  /** Occurrences, though one was wanted, and the lines, from 1, at which the first few begin. */
  | { readonly reason: "not_unique"; readonly count: number; readonly lines: readonly number[] }
  /** The result would be larger than allowed; it was not made. */
  | { readonly reason: "too_large"; readonly sizeBytes: number; readonly limitBytes: number };

interface Replacement {
  readonly oldText: string;
  readonly newText: string;
  /** Every occurrence; otherwise exactly one must be there. */
  readonly all: boolean;
  /** Only where no letter, digit or underscore stands before or behind. */
  readonly wholeWord?: boolean;
}

/** A text with its replacements made. */
type Edited = Result<{ readonly text: string; readonly count: number }, EditRefusal>;

/** So many places are looked at before others may have their turn. */
const placesPerTurn = 8_192;
const charactersPerTurn = 65_536;
/** Line ends are looked for in so many characters at once. */
const pieceCharacters = 65_536;
/** Lines that a refusal names. */
const maxNamedLines = 6;

/** Replaces `oldText`, found from the start without overlaps. `maxBytes` bounds the result in UTF-8; for `work` see `nextTurn`. */
export async function replaceText(
  text: string,
  { oldText, newText, all, wholeWord = false }: Replacement,
  maxBytes: number,
  work?: Working,
): Promise<Edited> {
  if (oldText === "") return failure({ reason: "empty_old_text" });
  if (oldText === newText) return failure({ reason: "same_text" });
  // CR alone ends lines if the text has no LF and the search finds nothing otherwise
  const ends = text.includes("\n") || !text.includes("\r") ? ["\r\n", /\r\n?/] : [/\r\n?/];
  for (const lineEnd of ends) {
    const lines: string[] = [];
    for (const piece of text.includes("\r") ? piecesOf(text) : []) {
      lines.push(exchange(piece, lineEnd, "\n"));
      await nextTurn(work);
    }
    const plain = lines.length === 0 ? text : lines.join("");
    const replacement = exchange(newText, lineEnd, "\n");
    const forms = unicodeForms(exchange(oldText, lineEnd, "\n"));
    const others = forms.filter((form) => form !== replacement);
    for (const wanted of others.length > 1 ? [others] : forms.map((form) => [form])) {
      const part = { plain, wanted, newText: replacement, all, wholeWord, endsInCr: lineEnd !== "\r\n" };
      const edited = await replaceIn(text, { ...part, maxBytes, work });
      if (edited !== null) return edited;
    }
  }
  return failure({ reason: "not_there", alike: await findAlike(text, oldText, wholeWord, work) });
}

/**
 * Replaces what is found in `plain`, the text with LF alone; `null` where it is not there. Keeps no places: there are as
 * many as letters, in ten times their memory.
 */
async function replaceIn(
  text: string,
  { plain, wanted, newText: replacement, all, wholeWord = false, endsInCr, maxBytes, work }:
    & Omit<Replacement, "oldText">
    & {
      readonly plain: string;
      /** Its forms, each of which is replaced. */
      readonly wanted: readonly string[];
      /** Whether CR alone ends a line. */
      readonly endsInCr: boolean;
      readonly maxBytes: number;
      readonly work: Working | undefined;
    },
): Promise<Edited | null> {
  const forms = wanted.map((form) => {
    const most = Math.min(form.length, replacement.length);
    let head = 0;
    while (head < most && form[head] === replacement[head]) head++;
    let tail = 0;
    while (tail < most - head && form.at(-1 - tail) === replacement.at(-1 - tail)) tail++;
    const added = replacement.slice(head, replacement.length - tail);
    return { from: head, to: form.length - tail, added, changeOf: null as ChangeOf | null };
  });
  const isSame = wanted.includes(replacement);
  const found = { form: 0 };
  const toText = offsetsIn(text);
  const first: number[] = [];
  let [count, seen, end, made] = [0, 0, 0, 0];
  let sizeBytes = Buffer.byteLength(text);
  let edited = "";
  let parts: string[] = [];
  for (const at of findForms(plain, wanted, wholeWord, found)) {
    if (at === -1) await nextTurn(work);
    if (at === -1) continue;
    if (++count <= maxNamedLines) first.push(at);
    if (isSame || count > 1 && !all) continue;
    for (; at - seen > charactersPerTurn; await nextTurn(work)) toText(seen += charactersPerTurn);
    seen = at;
    const form = forms[found.form];
    if (form === undefined) throw new RangeError("a place is of one of the forms");
    form.changeOf ??= await changesIn(text, form.added, endsInCr ? /\r\n?|\n/g : /\r?\n/g, work);
    const from = toText(at + form.from);
    const to = toText(at + form.to);
    const removed = text.slice(from, to);
    const change = form.changeOf(removed);
    sizeBytes += change.growth;
    made += from - end + change.added.length;
    if (made <= maxBytes && parts.push(text.slice(end, from), change.added) > placesPerTurn) {
      edited += parts.join("");
      parts = [];
    }
    end = to;
  }
  if (count === 0) return null;
  if (count > 1 && !all) return failure({ reason: "not_unique", count, lines: linesAt(plain, first) });
  if (isSame) return failure({ reason: "same_line_ends" });
  if (sizeBytes > maxBytes) return failure({ reason: "too_large", sizeBytes, limitBytes: maxBytes });
  return success({ text: edited + parts.join("") + text.slice(end), count });
}

/** What is added for a removed passage, with line ends like its own, or like the text's, and the bytes by which that grows. */
async function changesIn(text: string, replacement: string, ends: RegExp, work?: Working) {
  const common = await commonEnd(piecesOf(text), work);
  const forms = new Map((["\n", "\r\n", "\r"] as const).map((end) => {
    const added = exchange(replacement, "\n", end);
    return [end, { added, sizeBytes: Buffer.byteLength(added) }];
  }));
  let last: { readonly removed: string; readonly added: string; readonly growth: number } | null = null;
  return (removed: string) => {
    if (last?.removed === removed) return last; // most are alike
    const [own = common, ...others] = new Set(removed.match(ends));
    const { added = "", sizeBytes = 0 } = forms.get(others.length > 0 ? common : own as typeof common) ?? {};
    return last = { removed, added, growth: sizeBytes - Buffer.byteLength(removed) };
  };
}

type ChangeOf = Awaited<ReturnType<typeof changesIn>>;

/** As `replaceAll`, whose result V8 keeps as a tree of all its parts: of 15 MB with short lines, 200 MB. */
function exchange(text: string, old: string | RegExp, next: string): string {
  return text.split(old).join(next);
}

/** Where an offset of the text with LF alone is in the text as it is; asked for ascending ones. */
function offsetsIn(text: string): (offset: number) => number {
  let next = text.indexOf("\r\n");
  let grown = 0;
  return (offset) => {
    for (; next !== -1 && next - grown < offset; next = text.indexOf("\r\n", next + 2)) grown++;
    return offset + grown;
  };
}

/** How most lines of the pieces of a text end. */
async function commonEnd(pieces: readonly string[], work?: Working): Promise<"\n" | "\r\n" | "\r"> {
  let [all, pairs] = [0, 0];
  for (const piece of pieces) {
    all += countLineEnds(piece);
    pairs += countPairs(piece);
    await nextTurn(work);
  }
  if (all === 0) return pieces.some((piece) => piece.includes("\r")) ? "\r" : "\n";
  return pairs * 2 > all ? "\r\n" : "\n";
}

function countPairs(text: string): number {
  let count = 0;
  for (let at = text.indexOf("\r\n"); at !== -1; at = text.indexOf("\r\n", at + 2)) count++;
  return count;
}

/** The text in pieces, none of which ends between CR and LF. */
function piecesOf(text: string): readonly string[] {
  const pieces: string[] = [];
  for (let from = 0, to; from < text.length; from = to) {
    to = Math.min(text.length, from + pieceCharacters);
    if (text[to - 1] === "\r" && text[to] === "\n") to++;
    pieces.push(text.slice(from, to));
  }
  return pieces;
}

/** The line, from 1, of each offset; these ascend. */
function linesAt(text: string, offsets: readonly number[]): readonly number[] {
  let line = 1;
  let from = 0;
  return offsets.map((offset) => {
    line += countLineEnds(text, from, offset);
    from = offset;
    return line;
  });
}

const wordCharacter = new RegExp(`[${wordClass}]`, "u");
const wordUnits = Array.from({ length: 128 }, (_, unit) => wordCharacter.test(String.fromCharCode(unit)));

/** Where `wanted` is, found from the start without overlaps; -1 where others may have their turn. */
export function* findPlaces(text: string, wanted: string, wholeWord: boolean): Generator<number, undefined> {
  // As a search takes it (line_pattern.ts): what begins or ends with no letter cannot be in the midst of a word there.
  const [needsStart, needsEnd] = [0, wanted.length - 1].map((at) => wholeWord && isWordCharacter(wanted, at));
  let from = 0;
  let places = 0;
  for (const at of findOverlapping(text, wanted, 0, undefined, charactersPerTurn)) {
    if (++places % placesPerTurn === 0 || at === -1) yield -1;
    const end = at + wanted.length;
    const isInside = (needsStart && isWordCharacter(text, at - 1)) || (needsEnd && isWordCharacter(text, end));
    if (at < from || isInside) continue;
    yield at;
    from = end;
  }
}

/** The same for several texts; `found` says which of them is at a place. */
function* findForms(
  text: string,
  forms: readonly string[],
  wholeWord: boolean,
  found: { form: number },
): Generator<number, undefined> {
  const [only = "", ...others] = forms;
  if (others.length === 0) return yield* findPlaces(text, only, wholeWord);
  const each = forms.map((form) => ({ form, places: findPlaces(text, form, wholeWord), at: -1 }));
  for (let from = 0;;) {
    for (const finder of each) {
      while (finder.at < from) { // or not asked yet
        const at = finder.places.next().value;
        if (at === -1) yield -1;
        else finder.at = at ?? Infinity;
      }
    }
    const at = Math.min(...each.map((finder) => finder.at));
    if (at === Infinity) return undefined;
    found.form = each.findIndex((finder) => finder.at === at);
    yield at;
    from = at + (forms[found.form]?.length ?? 0);
  }
}

/** Of a character outside the Basic Multilingual Plane, either half may be at `at`. */
function isWordCharacter(text: string, at: number): boolean {
  const unit = text.charCodeAt(at);
  if (Number.isNaN(unit)) return false;
  if (unit < wordUnits.length) return wordUnits[unit] === true;
  const start = unit >= 0xdc00 && unit <= 0xdfff ? at - 1 : at;
  return wordCharacter.test(String.fromCodePoint(text.codePointAt(start) ?? 0));
}

type LineEnds = "LF" | "CRLF" | "CR" | "mixed line ends";

/** `null` for a text without a line end. CR alone counts if there is no LF. */
export function lineEndsOf(text: string): LineEnds | null {
  if (!text.includes("\n")) return text.includes("\r") ? "CR" : null;
  if (!text.includes("\r\n")) return "LF";
  return /(?:^|[^\r])\n/.test(text) ? "mixed line ends" : "CRLF";
}

/** The encoding, the line ends where the beginning of the file has one, and whether a byte order mark is before it, and the size. */
type StoredForm = NonNullable<Awaited<ReturnType<typeof storedFormOf>>>;

/** Bytes of the beginning from which the line ends are detected. */
const headBytes = 16_384;
const newline = 0x0a;
const carriageReturn = 0x0d;

/**
 * The form of the file at `path`; `null` where there is none that can be read. Another encoding than UTF-8 and UTF-16
 * is looked for in all of the file, up to its first bytes that are not ASCII, and only `ifForeign`.
 */
export async function storedFormOf(workspace: Workspace, path: WorkspacePath, ifForeign: boolean) {
  const buffer = new Uint8Array(headBytes);
  const read = await workspace.readInto(path, buffer, 0);
  if (!read.ok) return null;
  const { lengthBytes, sizeBytes } = read.value;
  const head = buffer.subarray(0, lengthBytes);
  const wide = wideEncoding(head);
  if (wide !== null) {
    const text = decodeWide(head.subarray(0, head.length & ~1), wide);
    return {
      encoding: wide,
      lineEnds: lineEndsOf(text),
      hasMark: markedEncoding(head) !== null,
      sizeBytes,
      noText: null,
    };
  }
  const lineEnds = await firstLineEnds(workspace, path, head);
  const hasMark = markBytes(head) > 0;
  const encoding = ifForeign ? await encodingOfFile(workspace, path) : "utf-8";
  return { encoding, lineEnds, hasMark, sizeBytes, noText: whyNoText(head) };
}

/** As the first line ends, however long it is; a CR within it, as of a progress bar, is none where an LF follows. */
async function firstLineEnds(workspace: Workspace, path: WorkspacePath, head: Uint8Array): Promise<LineEnds | null> {
  let lineEnds = lineEndsOf(Buffer.from(head).toString("latin1"));
  const buffer = Buffer.alloc(headBytes);
  for (let at = head.byteLength; lineEnds === null || lineEnds === "CR"; at += buffer.byteLength - 1) {
    if (at < headBytes || at > workspace.limits.maxFileBytes) break;
    await nextTurn();
    const read = await workspace.readInto(path, buffer, at - 1);
    if (!read.ok || read.value.lengthBytes < 2) break;
    lineEnds = lineEndsOf(buffer.toString("latin1", 0, read.value.lengthBytes)) ?? lineEnds;
  }
  return lineEnds;
}

/** Whether the last line of a file has no end: what is added goes on in it. */
export async function hasOpenLine(
  workspace: Workspace,
  path: WorkspacePath,
  { encoding, lineEnds, sizeBytes }: StoredForm,
): Promise<boolean> {
  const end = new Uint8Array(2);
  const read = await workspace.readInto(path, end, Math.max(0, sizeBytes - end.byteLength));
  if (!read.ok || read.value.lengthBytes === 0) return false;
  const last = end[encoding === "utf-16le" ? 0 : read.value.lengthBytes - 1];
  return last !== (lineEnds === "CR" ? carriageReturn : newline);
}

const mark = "\ufeff";

/** New content in the form of the file that is there, and what to know of it. Its own CR or byte order mark takes precedence. */
export function inFormOf(
  stored: StoredForm | null,
  content: string,
  { isAdded, isContinued = false }: { readonly isAdded: boolean; readonly isContinued?: boolean },
) {
  if (stored === null || stored.noText !== null || stored.sizeBytes === 0) {
    return { text: content, encoding: "utf-8", note: "" } as const;
  }
  const kept: string[] = [];
  const isMarked = content.startsWith(mark);
  const encoding = isMarked && !isAdded && !stored.encoding.startsWith("utf-16") ? "utf-8" : stored.encoding;
  if (encoding !== "utf-8" && !isAdded) kept.push(`encoding ${encoding.toUpperCase()}`);
  const getsMark = stored.hasMark && !isAdded && !isMarked && content !== "";
  if (getsMark) kept.push("byte order mark");
  const ends = lineEndsOf(content);
  const getsEnds = ends === "LF" && (stored.lineEnds === "CRLF" || stored.lineEnds === "CR");
  if (getsEnds) kept.push(`${stored.lineEnds} line ends`);
  const text = getsEnds ? content.replaceAll("\n", stored.lineEnds === "CR" ? "\r" : "\r\n") : content;
  const isOther = !getsEnds && ends !== null && stored.lineEnds !== null && ends !== stored.lineEnds;
  const note = [
    ...isContinued ? ["its last line had no line end, so the added text continues it"] : [],
    ...isOther ? [`its line ends were ${stored.lineEnds}, those ${isAdded ? "added" : "written"} are ${ends}`] : [],
    ...kept.length > 0 ? [`it keeps its ${kept.join(", ")}`] : [],
  ].join("; ");
  return { text: getsMark ? mark + text : text, encoding, note };
}

/** Others may write while it is read; it is then read again. */
const maxAttempts = 5;

/** The content, read in pieces of one version; files of more than `maxBytes` are refused before the second. */
export async function readWholeFile(
  workspace: Workspace,
  path: WorkspacePath,
  maxBytes: number,
): Promise<Outcome<FileContent>> {
  for (let attempt = 1;; attempt++) {
    const read = await readPieces(workspace, path, maxBytes);
    if (read.ok || read.error.reason !== "conflict" || attempt === maxAttempts) return read;
  }
}

async function readPieces(workspace: Workspace, path: WorkspacePath, maxBytes: number): Promise<Outcome<FileContent>> {
  const { maxReadBytes } = workspace.limits;
  const pieces: Uint8Array[] = [];
  let firstVersion: string | null = null;
  for (let offsetBytes = 0;;) {
    const read = await workspace.read(path, { offsetBytes, lengthBytes: maxReadBytes });
    if (!read.ok) return read;
    const { bytes, sizeBytes, version, modifiedAt } = read.value;
    if (sizeBytes > maxBytes) return failure({ reason: "too_large", sizeBytes, limitBytes: maxBytes });
    if (version !== (firstVersion ??= version)) return failure({ reason: "conflict" });
    pieces.push(bytes);
    offsetBytes += bytes.byteLength;
    if (bytes.byteLength > 0 && offsetBytes < sizeBytes) continue;
    const whole = joinPieces(pieces);
    return success({ bytes: whole, sizeBytes, sha256: digestOf(whole), version, modifiedAt });
  }
}

/** Where a text has nearly the passage that an edit looked for: what differs, and the line at which it begins, from 1. */
export interface Alike {
  /**
   * `words`: it is only there within longer words; `numbers`: without its line numbers; `escapes`: with the characters
   * that its escapes stand for; `form`: but for blanks, case, quotes and dashes; `rest`: only its first line is.
   */
  readonly but: "words" | "numbers" | "escapes" | "form" | "rest";
  readonly line: number;
}

/** Longer texts are not compared: the search makes copies of them. */
const maxComparedCharacters = 1_100_000;
/** A first line that is shorter is anywhere. */
const minLineCharacters = 4;

/** The first passage that nearly matches the wanted one, or `null`. */
async function findAlike(text: string, wanted: string, wholeWord: boolean, work?: Working): Promise<Alike | null> {
  if (text.length > maxComparedCharacters) return null;
  const lines = withLf(text);
  const forms = [
    ["words", wholeWord ? withLf(wanted) : null],
    ["numbers", withoutNumbers(wanted)],
    ["escapes", withoutEscapes(wanted)],
  ] as const;
  for (const [but, passage] of forms) {
    await nextTurn(work);
    const at = passage === null || passage === "" ? -1 : createTextFinder(passage)(lines, 0);
    if (at !== -1) return { but, line: lineAt(lines, at) };
  }
  await nextTurn(work);
  const line = lineOfFolded(text, folded(wanted));
  if (line !== null) return { but: "form", line };
  const [first = "", ...rest] = wanted.trim().split("\n");
  const at = rest.length === 0 || first.trim().length < minLineCharacters ? null : onlyPlace(text, first.trim());
  return at === null ? null : { but: "rest", line: lineAt(text, at) };
}

/** The passage without the numbers that reads and searches put before lines; `null` where not all lines have one. */
function withoutNumbers(wanted: string): string | null {
  const lines = withLf(wanted).split("\n");
  const isEnded = lines.at(-1) === "";
  const passage = (isEnded ? lines.slice(0, -1) : lines).map((line) =>
    /^ *\d+(?:\t|→|[:|-] ?)([^]*)$/.exec(line)?.[1] ?? null
  );
  if (passage.includes(null) || passage.every((line) => line?.trim() === "")) return null;
  return passage.join("\n") + (isEnded ? "\n" : "");
}

const escapes: Readonly<Record<string, string>> = {
  ...{ n: "\n", t: "\t", r: "" },
  ...{ lt: "<", gt: ">", amp: "&", quot: '"', apos: "'", "#39": "'" },
};

/** The passage of which a JSON text was made twice, or that was escaped for HTML; `null` for one without escapes. */
function withoutEscapes(wanted: string): string | null {
  const plain = wanted.replace(
    /\\([ntr"'\\/])|&(lt|gt|amp|quot|apos|#39);/g,
    (_, character: string, entity = character) => escapes[entity] ?? entity,
  );
  return plain === wanted ? null : plain;
}

function withLf(text: string): string {
  return exchange(text, "\r\n", "\n");
}

/** Those of no width, too. */
const blanks = /[\s\u00ad\u200b-\u200f\u2060]+/g;

/** Without blanks, in small letters, with plain quotes and dashes; each character as long as it was. */
function folded(text: string): string {
  return text.replace(blanks, "").replace(/[\u2018\u2019]/g, "'").replace(/[\u201c\u201d]/g, '"')
    .replace(/\p{Pd}/gu, "-").split("\u0130").map((part) => part.toLowerCase()).join("\u0130"); // its small form is longer
}

/** The line at which the passage begins in the folded text. */
function lineOfFolded(text: string, passage: string): number | null {
  const at = passage === "" ? -1 : createTextFinder(passage)(folded(text), 0);
  if (at === -1) return null;
  let line = 1;
  let seen = 0;
  for (const unit of text) {
    if (unit === "\n") line++;
    else if (unit.search(blanks) === -1 && (seen += unit.length) > at) break;
  }
  return line;
}

function onlyPlace(text: string, passage: string): number | null {
  const find = createTextFinder(passage);
  const at = find(text, 0);
  return at === -1 || find(text, at + 1) !== -1 ? null : at;
}

function lineAt(text: string, offset: number): number {
  return 1 + countLineEnds(text, 0, offset);
}
