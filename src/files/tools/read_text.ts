/** Reads lines of a text file for `file_read`, in any encoding, at most a page of them. */
import { failure, type Result, success } from "../../lib/result.ts";
import { releaseBytes } from "../../lib/release_bytes.ts";
import { parseLineRange } from "../../lib/line_range.ts";
import { createKeyedMutex, nextTurn, type Working } from "../../lib/turns.ts";
import { escapeText, type WorkspacePath } from "../workspace/path.ts";
import type { FileContent, Workspace, WorkspaceRefusal } from "../workspace/port.ts";
import {
  decodeBytes,
  decodeText,
  encodingOfFile,
  isMultiByte,
  isShifted,
  looksLikeText,
  shownEncoding,
} from "../text/encoding.ts";
import type { DecodedText, TextEncoding } from "../text/encoding.ts";
import {
  charactersOf,
  countLines,
  firstBytes,
  lastBytes,
  offsetOfLine,
  readLastLines,
  readLine,
  readLines,
  type TextPosition,
} from "../text/lines.ts";
import { readWholeFile } from "../text/edit.ts";
import type { ReadCursor } from "./input.ts";

/** Of a file, what tells UTF-16. */
const headBytes = 4_096;
/** What is read whole where lines of bytes do not do, in some five times as much memory. */
const maxWholeBytes = 16 * 1024 * 1024;
/** One at a time. */
const large = createKeyedMutex();
/** Of one character in UTF-8, at most. */
const maxCharacterBytes = 4;

/** What to read of a file. */
export interface TextRequest {
  readonly lines: LineRequest;
  readonly cursor: ReadCursor | undefined;
  readonly encoding: TextEncoding | undefined;
  readonly maxBytes: number;
  /** What it is read for: see `nextTurn`. */
  readonly work?: Working | undefined;
}

/** Lines of a file, or characters of one line. */
export interface TextPart {
  /** Exactly as the file has it. */
  readonly content: string;
  readonly shown: string;
  /** Characters that `shown` escapes. */
  readonly escapes: number;
  /** Of the content, in the file's own encoding where that is UTF-8. */
  readonly contentBytes: number;
  /** The number of the first line; `null` where the file is too large to count lines before it. */
  readonly startLine: number | null;
  /** Lines of this part, the last of which may be cut. */
  readonly lines: number;
  /** Of the whole file; `null` where it is too large to be counted. */
  readonly totalLines: number | null;
  readonly isWhole: boolean;
  /** Which characters of the line these are, where not lines were asked for. */
  readonly characters?: { readonly first: number; readonly count: number; readonly lineEnd: number | null };
  readonly next: ReadCursor | null;
  /** Whether the bound left out some of the last lines that were asked for. */
  readonly isShort?: boolean;
  readonly encoding: TextEncoding;
}

/** Why there is no text. */
export type TextProblem = WorkspaceRefusal | { readonly reason: "not_text" };

/** A part of a file that was read whole, in the encoding that is asked for, or that it shows. */
export async function selectText(
  file: Pick<FileContent, "bytes" | "version">,
  request: TextRequest,
): Promise<Result<TextPart, TextProblem>> {
  const { bytes } = file;
  const { cursor, encoding } = request;
  const decoded = encoding === undefined ? await decodeText(bytes) : decodeBytes(bytes, encoding);
  if (decoded === null) return failure({ reason: "not_text" });
  if (cursor !== undefined && cursor.version !== file.version) return failure({ reason: "conflict" });
  await nextTurn(request.work); // of 16 MiB each step takes some 50 ms
  const all = decoded.encoding === "utf-8" ? bytes : Buffer.from(decoded.text, "utf8");
  await nextTurn();
  const part = selectPart(decoded, all, file.version, request);
  if (all !== bytes) releaseBytes(all);
  return part;
}

/** A part of a text; `all`: as UTF-8. */
function selectPart(
  decoded: DecodedText,
  all: Uint8Array,
  version: string,
  { lines: { startLine = 1, endLine, tail, characters }, cursor, maxBytes }: TextRequest,
): Result<TextPart, TextProblem> {
  const totalLines = linesOf(all);
  const from: TextPosition = cursor?.from ??
    positionOfLine(all, tail === undefined ? startLine : totalLines - tail + 1);
  const lastLine = cursor?.endLine ?? endLine;
  const rest = all.subarray(from.offsetBytes);
  if (characters !== undefined) {
    const found = charactersOf(rest, { ...characters, maxBytes, isStart: from.offsetBytes === 0 });
    const content = Buffer.from(found.bytes).toString("utf8");
    const shown = escapeText(content);
    if (shown === null) return failure({ reason: "not_text" });
    const { count, lineEnd } = found;
    return success({
      content,
      ...shown,
      contentBytes: found.bytes.byteLength,
      startLine,
      lines: count === 0 ? 0 : 1,
      totalLines,
      isWhole: false,
      ...rest.byteLength > 0 ? { characters: { first: characters.first, count, lineEnd } } : {},
      next: null,
      encoding: decoded.encoding,
    });
  }
  const wanted = lastLine === undefined ? rest : rest.subarray(0, lengthOfLines(rest, lastLine - from.line + 1));
  const part = tail === undefined ? firstBytes(wanted, maxBytes) : lastBytes(wanted, maxBytes);
  const isWhole = part.byteLength === all.byteLength;
  const content = isWhole ? decoded.text : Buffer.from(part).toString("utf8");
  const shown = escapeText(content);
  if (shown === null) return failure({ reason: "not_text" });
  const lines = isWhole ? totalLines : linesOf(part);
  const end = from.offsetBytes + part.byteLength;
  const isCut = tail === undefined && part.byteLength < wanted.byteLength;
  const next = isCut ? { offsetBytes: end, line: from.line + countLines(part) } : null;
  return success({
    content,
    ...shown,
    contentBytes: part.byteLength,
    startLine: tail === undefined ? from.line : totalLines - lines + 1,
    lines,
    totalLines,
    isWhole,
    next: next === null ? null : toCursor(version, next, lastLine),
    isShort: tail !== undefined && part.byteLength < wanted.byteLength,
    encoding: decoded.encoding,
  });
}

type LargeRead = Result<TextPart & Pick<FileContent, "sizeBytes" | "modifiedAt">, TextProblem>;

/** A part of a file that is too large to be read whole. */
export async function readTextPart(
  workspace: Workspace,
  path: WorkspacePath,
  request: TextRequest,
): Promise<LargeRead> {
  const head = new Uint8Array(headBytes);
  const start = await workspace.readInto(path, head, 0);
  if (!start.ok) return start;
  const encoding = request.encoding ?? shownEncoding(head.subarray(0, start.value.lengthBytes)) ?? "utf-8";
  const part = await readPartIn(workspace, path, { ...request, encoding });
  if (request.encoding !== undefined) return part;
  if (part.ok && isShifted(Buffer.from(part.value.content))) {
    return await readPartIn(workspace, path, { ...request, encoding: "iso-2022-jp" });
  }
  if (part.ok || part.error.reason !== "not_text") return part;
  const found = await encodingOfFile(workspace, path);
  return await readPartIn(workspace, path, { ...request, encoding: found === "utf-8" ? "windows-1252" : found });
}

/** Line ends of UTF-16 are not those of bytes, a cut may be within a character, and a line may be longer than a read. */
async function readPartIn(
  workspace: Workspace,
  path: WorkspacePath,
  request: TextRequest & { readonly encoding: TextEncoding },
): Promise<LargeRead> {
  const { lines: { characters }, encoding } = request;
  const isWide = encoding.startsWith("utf-16") || isMultiByte(encoding);
  if (!isWide && characters === undefined) return await readBytePart(workspace, path, request);
  return await large.run("", () => (isWide ? readWidePart : readCharacters)(workspace, path, request), request.work);
}

async function readWidePart(workspace: Workspace, path: WorkspacePath, request: TextRequest): Promise<LargeRead> {
  const read = await readWholeFile(workspace, path, maxWholeBytes);
  if (!read.ok && read.error.reason === "too_large") { // its last lines are not to be had either
    const words = `its text has several bytes a character, and ${read.error.sizeBytes} bytes in all, of which at ` +
      `most ${maxWholeBytes} are decoded; file_search finds lines in it`;
    return failure({ reason: "document", words });
  }
  if (!read.ok) return read;
  await nextTurn(request.work);
  const { sizeBytes, modifiedAt } = read.value;
  const part = await selectText(read.value, request);
  releaseBytes(read.value.bytes);
  return part.ok ? success({ ...part.value, sizeBytes, modifiedAt }) : part;
}

async function readCharacters(workspace: Workspace, path: WorkspacePath, request: TextRequest): Promise<LargeRead> {
  const { startLine = 1, characters } = request.lines;
  const neededBytes = Math.min(maxCharacterBytes * (characters?.last ?? 0), maxWholeBytes);
  const read = await readLine(workspace, path, startLine, neededBytes);
  if (!read.ok) return read;
  const { sizeBytes, modifiedAt, isWhole } = read.value;
  const part = await selectText(read.value, { ...request, lines: { characters } });
  releaseBytes(read.value.bytes);
  if (!part.ok) return part;
  if (!isWhole && part.value.characters?.lineEnd !== null) {
    return failure({ reason: "too_large", sizeBytes, limitBytes: maxWholeBytes });
  }
  return success({ ...part.value, startLine, totalLines: null, sizeBytes, modifiedAt });
}

async function readBytePart(
  workspace: Workspace,
  path: WorkspacePath,
  { lines: { startLine, endLine, tail }, cursor, encoding, maxBytes }: TextRequest,
): Promise<LargeRead> {
  const lastLine = cursor?.endLine ?? endLine;
  const read = tail !== undefined ? await readLastLines(workspace, path, tail) : await readLines(workspace, path, {
    ...cursor === undefined ? {} : { from: cursor.from },
    ...startLine === undefined ? {} : { startLine },
    ...lastLine === undefined ? {} : { endLine: lastLine },
    maxBytes,
  });
  if (!read.ok) return read;
  await nextTurn();
  const { version, sizeBytes, modifiedAt } = read.value;
  if (cursor !== undefined && cursor.version !== version) return failure({ reason: "conflict" });
  const part = tail === undefined ? read.value.bytes : lastBytes(read.value.bytes, maxBytes);
  const decoded = encoding === "utf-8" || looksLikeText(part) ? decodeBytes(part, encoding) : null;
  const shown = decoded === null ? null : escapeText(decoded.text);
  if (decoded === null || shown === null) return failure({ reason: "not_text" });
  const next = "next" in read.value ? read.value.next : null;
  const isCut = next !== null && (lastLine === undefined || next.line <= lastLine);
  return success({
    content: decoded.text,
    ...shown,
    contentBytes: part.byteLength,
    startLine: "from" in read.value ? read.value.from.line : null,
    lines: linesOf(part),
    totalLines: null,
    isWhole: false,
    next: isCut ? toCursor(version, next, lastLine) : null,
    isShort: "isComplete" in read.value && !(read.value.isComplete && part.byteLength === read.value.bytes.byteLength),
    encoding: decoded.encoding,
    sizeBytes,
    modifiedAt,
  });
}

function toCursor(version: string, from: TextPosition, endLine: number | undefined): ReadCursor {
  return { version, from, ...endLine === undefined ? {} : { endLine } };
}

/** Lines, the last of which may have no line end. */
function linesOf(bytes: Uint8Array): number {
  return countLines(bytes) + (bytes.byteLength > 0 && bytes.at(-1) !== 0x0a ? 1 : 0);
}

function positionOfLine(bytes: Uint8Array, line: number): TextPosition {
  if (line <= 1) return { offsetBytes: 0, line: 1 };
  return { offsetBytes: offsetOfLine(bytes, line - 1) ?? bytes.byteLength, line };
}

function lengthOfLines(bytes: Uint8Array, lines: number): number {
  return lines <= 0 ? 0 : offsetOfLine(bytes, lines) ?? bytes.byteLength;
}

/** Lines of a file, a range or the last ones, or characters of one line. Numbers start at 1. */
export interface LineRequest {
  readonly startLine?: number | undefined;
  readonly endLine?: number | undefined;
  readonly tail?: number | undefined;
  /** Of the line {@link startLine}, both included. */
  readonly characters?: { readonly first: number; readonly last: number } | undefined;
}

/** A file name and what its end asks for. */
export interface NamedPart {
  readonly filename: string;
  readonly lines: LineRequest;
}

const maxWordsCharacters = 1_000;
const maxNumber = 1_000_000_000;
/** How much is shown on each side of a place in a line. */
const charactersAround = 1_000;

/**
 * The ways to read a name whose end asks for a part, the longest file name first: `a:1:5` is line 5 of `a:1`, or where
 * there is no such file, character 5 in line 1 of `a`.
 */
export function parseNamedParts(text: string): readonly NamedPart[] {
  return [parseNamedLines(text), parseNamedCharacters(text), parseWords(text)].filter((part) => part !== null);
}

/** In words: `a.md lines 10 to 20`, `a.md:10 through 20`, `a.md (first 50 lines)`, `last 20 lines of a.md`. */
const namedInWords = [
  /^(?<file>[^]+?)(?::|#|,?\s+)\(?(?<words>(?:lines?|the|first|last|from|top|bottom|starting)\s[^:/]*?)\)?$/i,
  /^(?<file>[^]+):(?<words>[^:/]+)$/,
  /^(?<words>(?:lines?|the|first|last|top|bottom)\s[^:/]*?)\s(?:of|in|from)\s(?<file>[^]+)$/i,
];

function parseWords(text: string): NamedPart | null {
  for (const form of text.length > maxWordsCharacters ? [] : namedInWords) {
    const { file = "", words = "" } = form.exec(text)?.groups ?? {};
    const range = parseLineRange(words);
    if (range === null || !/[a-z]/i.test(words)) continue;
    const { startLine, endLine = Infinity, tail } = range;
    const isOrdered = [startLine, tail].every((each) => each === undefined || isNumber(String(each)));
    if (isOrdered && endLine >= (startLine ?? 1)) return { filename: file, lines: range };
  }
  return null;
}

/** `a:2-4`, `a:2-`, `a:7`, `a:-50`; also as others write ranges: `a:L2-L4`, `a#L2-L4`, `a:2,4`, `a:2..4`. */
const namedLines = /^([^]+)(?::-(\d{1,10})|(?::L?|#L)(\d{1,10})(?:(?:-|,|\.\.)L?(\d{0,10}))?)$/i;

function parseNamedLines(text: string): NamedPart | null {
  const [, filename, last, first, end] = namedLines.exec(text) ?? [];
  if (filename === undefined) return null;
  if (last !== undefined) return isNumber(last) ? { filename, lines: { tail: Number(last) } } : null;
  if (!isNumber(first) && Number(first) !== 0) return null;
  const startLine = Math.max(1, Number(first)); // some count from 0
  if (end === "") return { filename, lines: { startLine } };
  if (end !== undefined && !isNumber(end)) return null;
  const endLine = end === undefined ? startLine : Number(end);
  return { filename, lines: { startLine: Math.min(startLine, endLine), endLine: Math.max(startLine, endLine) } };
}

function parseNamedCharacters(text: string): NamedPart | null {
  const [, filename, line, place, last] = /^([^]+):(\d{1,10}):(\d{1,10})(?:-(\d{1,10}))?$/.exec(text) ?? [];
  if (filename === undefined || !isNumber(line) || !(isNumber(place) || Number(place) === 0)) return null;
  if (last !== undefined && !isNumber(last)) return null;
  const [startLine, from, to] = [Number(line), Math.max(1, Number(place)), Number(last)];
  const characters = last === undefined
    ? { first: Math.max(1, from - charactersAround), last: from + charactersAround - 1 }
    : { first: Math.min(from, to), last: Math.max(from, to) };
  return { filename, lines: { startLine, endLine: startLine, characters } };
}

function isNumber(text: string | undefined): boolean {
  return text !== undefined && Number(text) >= 1 && Number(text) <= maxNumber;
}
