/** Searches one file of any workspace by lines, in as many reads as it takes. */
import { Buffer, isUtf8 } from "node:buffer";
import {
  createLiteralCount,
  cutLongLine,
  type LineMatch,
  linesAfter,
  linesBefore,
  type LiteralCount,
  searchText,
} from "./search_text.ts";
import { type ByteText, countLineEnds, endOfLine } from "./finder.ts";
import type { NextTurn } from "../../lib/turns.ts";
import type { LinePattern } from "./line_pattern.ts";
import type { LongLineSearch } from "./long_line.ts";
import { decodeBytes, decodeWide, type TextEncoding, type WideEncoding, wideEncoding } from "../workspace/encoding.ts";
import { cutAtBoundary, markBytes } from "./lines.ts";
import { failure, type Result, success } from "../../lib/result.ts";
import { detectEncoding } from "./detect.ts";
import type { WorkspacePath } from "../workspace/path.ts";
import type { Workspace, WorkspaceRefusal } from "../workspace/port.ts";

/** Why a file was not searched. */
export type PassedOver = "binary" | "too_large" | "hard_link" | "unreadable" | "document";

/** What came of the search of one file: the last line that was searched, when that was not the last of the file. */
type FileSearched = Result<{ readonly stoppedAfter: number | null }, PassedOver>;

/** The memory into which one file after another is read: what most files fit into, and one piece of a larger one. */
interface SearchBuffer {
  readonly head: Buffer;
  piece: Buffer | null;
}

/** What one read gave. */
interface ReadBytes {
  readonly bytes: Buffer;
  readonly isLast: boolean;
}

const headBytes = 64 * 1024;
const firstByteOfMark = 0xef;

export function createSearchBuffer({ limits: { maxReadBytes } }: Workspace): SearchBuffer {
  return { head: Buffer.allocUnsafeSlow(Math.min(headBytes, maxReadBytes)), piece: null };
}

/** Gives each matching line to `onMatch`. A file of one read whose bytes show that nothing matches is not looked at by lines. */
export async function searchFile(
  workspace: Workspace,
  path: WorkspacePath,
  buffer: SearchBuffer,
  search: FileSearch,
): Promise<FileSearched> {
  const read = await workspace.readInto(path, buffer.head, 0);
  if (!read.ok) return failure(reasonOf(read.error));
  const { lengthBytes, sizeBytes } = read.value;
  if (sizeBytes > workspace.limits.maxFileBytes) return failure("too_large");
  const pause = search.nextTurn();
  if (pause !== undefined) await pause;
  const bytes = buffer.head.subarray(0, lengthBytes);
  const isLast = lengthBytes >= sizeBytes;
  if (isLast && holdsNothing(bytes, search.pattern)) return success({ stoppedAfter: null });
  if (!isLast && bytes.includes(0) && wideEncoding(bytes) === null) return failure("binary");
  return await searchPieces(workspace, path, buffer, search, isLast ? { bytes, isLast } : null);
}

/** Whether plain text has no match, though it has the bytes that were looked for first. */
function holdsNothing(bytes: Buffer, pattern: LinePattern): boolean {
  const characters = bytes.toString("latin1");
  if (bytes[0] === firstByteOfMark || characters.includes("\0") || !isUtf8(bytes)) return false;
  if (pattern.screens.some((screen) => !screen.test(characters))) return true; // also where lines end in CRLF
  return (pattern.seesReturns || !characters.includes("\r\n")) &&
    pattern.findCandidate(characters, 0, characters.length) === -1;
}

async function searchPieces(
  workspace: Workspace,
  path: WorkspacePath,
  buffer: SearchBuffer,
  search: FileSearch,
  whole: ReadBytes | null,
): Promise<FileSearched> {
  const keepsReturns = search.pattern.seesReturns;
  const lines = createLineSearch(search);
  let encoding: TextEncoding = "utf-8";
  for (let offset = 0;;) {
    const read = whole ?? await readPiece(workspace, path, buffer, offset);
    if (typeof read === "string") return failure(read);
    const { bytes, isLast } = read;
    const isFirst = offset === 0;
    if (isFirst) encoding = wideEncoding(bytes) ?? encoding;
    const cut = { isFirst, isLast, keepsReturns };
    let searchable = toSearchable(bytes, { encoding, ...cut });
    if (searchable === null && encoding === "utf-8") {
      encoding = await detectEncoding(bytes) ?? encoding; // before it was ASCII, or at least UTF-8
      searchable = toSearchable(bytes, { encoding, ...cut });
    }
    if (searchable === null) return failure("binary");
    const { text, sourceBytes } = searchable;
    const goesOn = !isLast && !text.characters.endsWith("\n");
    const stoppedAfter = await lines.take({ text, isLast, goesOn }) ?? (isLast ? lines.end() : null);
    if (stoppedAfter !== null || isLast) return success({ stoppedAfter });
    offset += sourceBytes;
  }
}

async function readPiece(
  workspace: Workspace,
  path: WorkspacePath,
  buffer: SearchBuffer,
  offset: number,
): Promise<ReadBytes | PassedOver> {
  const { maxReadBytes, maxFileBytes } = workspace.limits;
  const bytes = buffer.piece ??= Buffer.allocUnsafeSlow(maxReadBytes);
  const read = await workspace.readInto(path, bytes, offset);
  if (!read.ok) return reasonOf(read.error);
  if (read.value.sizeBytes > maxFileBytes) return "too_large";
  const { lengthBytes, sizeBytes } = read.value;
  const isLast = lengthBytes === 0 || offset + lengthBytes >= sizeBytes;
  return { bytes: bytes.subarray(0, lengthBytes), isLast };
}

function reasonOf(refusal: WorkspaceRefusal): PassedOver {
  return refusal.reason === "denied" && refusal.because === "hard_link" ? "hard_link" : "unreadable";
}

/** Passes matches on in order, each once the lines after it are known: they may come with the next piece of the file. */
function createMatchQueue(contextLines: number, onMatch: (match: LineMatch) => boolean) {
  let waiting: readonly LineMatch[] = [];
  let last = 0;
  /** Passes on the first matches as long as they are complete, or all. */
  const passOn = (all: boolean): boolean => {
    for (let [first] = waiting; first !== undefined; [first] = waiting) {
      if (!all && first.after.length < contextLines) return false;
      waiting = waiting.slice(1);
      last = first.line;
      if (onMatch(first)) return true;
    }
    return false;
  };
  return {
    /** The line that was passed on last; 0 before. */
    get last(): number {
      return last;
    },
    /** Takes a match; unless the text is the file's last, more lines may come. `true` when that is enough. */
    push(match: LineMatch, mayGoOn: boolean): boolean {
      waiting = [...waiting, match];
      return passOn(!mayGoOn);
    },
    /** The lines after all that was pushed. */
    add(lines: readonly string[]): boolean {
      waiting = waiting.map((match) => ({ ...match, after: [...match.after, ...lines].slice(0, contextLines) }));
      return passOn(false);
    },
    /** Passes on all; the line of the one that was enough, or `null`. */
    flush: (): number | null => passOn(true) ? last : null,
  };
}

/** What a search asks of each file. */
interface FileSearch {
  readonly pattern: LinePattern;
  /** See search_text.ts. */
  readonly counts?: "none" | "all" | "texts";
  readonly contextLines: number;
  /** Only lines after this one. */
  readonly afterLine: number;
  /** Takes each match, in the order of lines; `true` when that is enough of this file. */
  readonly onMatch: (match: LineMatch) => boolean;
  /** Called for each line in which a match may have been missed. */
  readonly onUnsure: (line: number) => void;
  /** The turns of the whole search. */
  readonly nextTurn: NextTurn;
  /** Asked now and then: whether to stop. */
  readonly isOver: () => boolean;
  /** Whether the search may stop before it has looked at a line: it would not begin again with this one each time. */
  readonly mayStopAtOnce: boolean;
}

/** Whole lines of a file, or a part of a line that is too long. */
interface SearchPiece {
  readonly text: ByteText;
  /** Whether the line that it ends with goes on in the next piece: it is then the only one. */
  readonly goesOn: boolean;
  readonly isLast: boolean;
}

/** Of a long line, in one step. */
const countedBytes = 64 * 1024;

/** A line that goes on from piece to piece. */
interface LongLine {
  /** Its start, as it is shown around others. */
  readonly shown: readonly string[];
  /** `null` when the line has matched, or is not asked for. */
  search: LongLineSearch | null;
  /** The first match, until the others are counted. */
  match: LineMatch | null;
  readonly counter: LiteralCount | null;
}

function createLineSearch(
  { pattern, counts = "none", contextLines, afterLine, onMatch, onUnsure, nextTurn, isOver, mayStopAtOnce }: FileSearch,
) {
  const queue = createMatchQueue(contextLines, onMatch);
  let firstLine = 1;
  let earlier: readonly string[] = [];
  let long: LongLine | null = null;

  const isOverAfter = async (pause: Promise<void>): Promise<boolean> => {
    await pause;
    return isOver();
  };
  /** Stops after a line, unless that would be no further than the call before, and for nothing. */
  const stopAfter = (line: number): number | null =>
    line <= afterLine && !mayStopAtOnce ? null : queue.flush() ?? Math.max(line, afterLine);
  /** The next call begins with this line, unless this one did, and had no time for it. */
  const stopInLine = ({ search, match, counter }: LongLine): number | null => {
    if (search === null) {
      if (match !== null && queue.push(countedMatch(match, counter, true), true)) return queue.last;
      return stopAfter(firstLine);
    }
    const stopped = stopAfter(firstLine - 1);
    if (stopped !== null) return stopped;
    onUnsure(firstLine);
    return queue.flush() ?? firstLine;
  };
  const takeLong = async (line: LongLine, piece: string, isEnd: boolean): Promise<number | null> => {
    const steps = line.search?.feed(piece, isEnd);
    let step = steps?.next();
    for (; step?.done === false; step = steps?.next()) {
      const pause = nextTurn();
      const stopped = pause !== undefined && await isOverAfter(pause) ? stopInLine(line) : null;
      if (stopped !== null) return stopped;
    }
    if (step?.value) {
      const found = { count: 1, isLeast: counts !== "none" };
      line.match = { line: firstLine, ...cutLongLine(step.value), found, before: earlier, after: [] };
      line.search = null;
    }
    for (let at = 0; line.counter !== null && at < piece.length; at += countedBytes) {
      line.counter.add(piece.slice(at, at + countedBytes));
      const pause = nextTurn();
      if (pause !== undefined) await pause;
    }
    if (line.match !== null && (isEnd || line.counter === null)) {
      const match = countedMatch(line.match, line.counter, !isEnd);
      line.match = null;
      if (queue.push(match, true)) return queue.last;
    }
    const pause = isEnd ? undefined : nextTurn();
    return pause !== undefined && await isOverAfter(pause) ? stopInLine(line) : null;
  };
  const takeLines = async (text: ByteText, from: number, isLast: boolean): Promise<number | null> => {
    const { characters } = text;
    const options = { pattern, counts, from, contextLines, linesBefore: earlier, firstLine, afterLine };
    for (const { matches, unsure, end } of searchText(text, options)) {
      unsure.forEach(onUnsure);
      for (const match of matches) if (queue.push(match, !isLast)) return queue.last;
      const pause = nextTurn();
      if (pause === undefined || !await isOverAfter(pause)) continue;
      return queue.flush() ?? Math.max(firstLine - 1 + countLineEnds(characters, from, end), queue.last);
    }
    if (isLast) return null;
    if (contextLines > 0) earlier = linesBefore(text, { from, to: characters.length, count: contextLines, earlier });
    firstLine += countLineEnds(characters, from, characters.length);
    const pause = nextTurn();
    return pause !== undefined && await isOverAfter(pause) ? stopAfter(firstLine - 1) : null;
  };

  return {
    /** The last line that was searched, where the search is to stop; `null` to go on. */
    async take({ text, goesOn, isLast }: SearchPiece): Promise<number | null> {
      const { characters } = text;
      if (long === null && queue.add(linesAfter(text, 0, contextLines))) return queue.last;
      if (!goesOn && long === null) return await takeLines(text, 0, isLast);
      const isWanted = firstLine > afterLine;
      long ??= {
        shown: linesAfter(text, 0, 1),
        search: isWanted ? pattern.searchLong() : null,
        match: null,
        counter: isWanted && counts !== "none" && pattern.literals !== null
          ? createLiteralCount(pattern.literals)
          : null,
      };
      const end = goesOn ? characters.length : endOfLine(characters, 0);
      const stopped = await takeLong(long, characters.slice(0, end), !goesOn);
      if (stopped !== null || goesOn) return stopped;
      if (long.search?.isUnsure) onUnsure(firstLine);
      if (contextLines > 0) earlier = [...earlier, ...long.shown].slice(-contextLines);
      long = null;
      firstLine++;
      if (queue.add(linesAfter(text, end + 1, contextLines))) return queue.last;
      return await takeLines(text, end + 1, isLast);
    },
    /** The same, after the last piece. */
    end: (): number | null => queue.flush(),
  };
}

function countedMatch(match: LineMatch, counter: LiteralCount | null, isLeast: boolean): LineMatch {
  return counter === null ? match : { ...match, found: { ...counter.found, isLeast }, texts: [] };
}

/** A piece of a file, ready to be searched, and how many of the file's bytes it is made of. */
interface SearchablePiece {
  readonly text: ByteText;
  readonly sourceBytes: number;
}

/** Whole lines of what was read, or all of it at the file's end; `null` for what is no text in the encoding. */
function toSearchable(
  bytes: Buffer,
  { encoding, isFirst, isLast, keepsReturns }: {
    readonly encoding: TextEncoding;
    readonly isFirst: boolean;
    readonly isLast: boolean;
    /** Leaves the CR of CRLF in the lines. */
    readonly keepsReturns: boolean;
  },
): SearchablePiece | null {
  const isWide = encoding === "utf-16le" || encoding === "utf-16be";
  const piece = isWide
    ? fromUtf16(bytes, encoding, isLast)
    : encoding === "utf-8"
    ? fromUtf8(bytes, isFirst, isLast)
    : fromLegacy(bytes, encoding, isLast);
  return piece === null || keepsReturns ? piece : withoutReturns(piece, isLast, isWide ? 2 : 1);
}

function fromUtf8(bytes: Buffer, isFirst: boolean, isLast: boolean): SearchablePiece | null {
  const sourceBytes = isLast ? bytes.length : cutAtBoundary(bytes);
  const content = bytes.subarray(markBytes(bytes, isFirst), sourceBytes);
  const text = toByteText(content, content.length);
  return text === null ? null : { text, sourceBytes };
}

/** Up to a line's end, or else to an ASCII character that is not part of another. */
function fromLegacy(bytes: Buffer, encoding: TextEncoding, isLast: boolean): SearchablePiece | null {
  const line = bytes.lastIndexOf("\n") + 1;
  const sourceBytes = isLast ? bytes.length : line || bytes.lastIndexOf(" ") + 1 || bytes.length;
  const decoded = decodeBytes(bytes.subarray(0, sourceBytes), encoding);
  return decoded === null ? null : fromText(decoded.text, sourceBytes);
}

function fromUtf16(bytes: Buffer, encoding: WideEncoding, isLast: boolean): SearchablePiece | null {
  if (isLast && bytes.length % 2 !== 0) return null;
  const even = bytes.subarray(0, bytes.length - bytes.length % 2);
  const whole = decodeWide(even, encoding);
  const cut = isLast
    ? whole.length
    : whole.lastIndexOf("\n") + 1 || whole.length - (/[\ud800-\udbff]$/.test(whole) ? 1 : 0);
  const text = whole.slice(0, cut);
  return text.isWellFormed() ? fromText(text.replace(/^\ufeff/, ""), 2 * cut) : null;
}

function fromText(text: string, sourceBytes: number): SearchablePiece | null {
  const bytes = Buffer.from(text, "utf8");
  const searchable = toByteText(bytes, bytes.length);
  return searchable === null ? null : { text: searchable, sourceBytes };
}

/** A CR at the end of a piece is left to the next, which may begin with its LF. */
function withoutReturns(piece: SearchablePiece, isLast: boolean, characterBytes: number): SearchablePiece {
  const { text } = piece;
  const isCut = !isLast && text.characters.endsWith("\r");
  if (!isCut && !text.characters.includes("\r\n")) return piece;
  const whole = isCut ? text.characters.slice(0, -1) : text.characters;
  const characters = whole.replaceAll("\r\n", "\n");
  const bytes = Buffer.from(characters, "latin1");
  return {
    text: { characters, decode: (from, to) => bytes.toString("utf8", from, to) },
    sourceBytes: piece.sourceBytes - (isCut ? characterBytes : 0),
  };
}

/** The text in the first `length` bytes; `null` for binary content: bytes that are not UTF-8, or hold a NUL. */
export function toByteText(bytes: Buffer, length: number): ByteText | null {
  const characters = bytes.toString("latin1", 0, length);
  if (characters.includes("\0")) return null; // binary, as grep and git see it
  if (!isUtf8(length === bytes.length ? bytes : bytes.subarray(0, length))) return null;
  return { characters, decode: (from, to) => bytes.toString("utf8", from, to) };
}
