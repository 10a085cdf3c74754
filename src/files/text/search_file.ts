/** Searches one file of any workspace by lines, in as many reads as it takes. */
import { Buffer, isUtf8 } from "node:buffer";
import { type NextTurn, whenReady } from "../../lib/turns.ts";
import type { LinePattern } from "./line_pattern.ts";
import { decodeBytes, decodeWide, detectEncoding, isShifted, shortBytes, shownEncoding } from "./encoding.ts";
import type { TextEncoding } from "./encoding.ts";
import { markBytes } from "./lines.ts";
import { failure, type Result, success } from "../../lib/result.ts";
import type { WorkspacePath } from "../workspace/path.ts";
import type { Eventually, ReadPart, Workspace, WorkspaceRefusal } from "../workspace/port.ts";
import { type ByteText, countLineEnds, endOfLine, startOfLine } from "./finder.ts";

/** Why a file was not searched. */
export type PassedOver = "binary" | "too_large" | "hard_link" | "unreadable" | "document";

/** What came of the search of one file: the last line that was searched, when that was not the last of the file. */
type FileSearched = Result<{ readonly stoppedAfter: number | null }, PassedOver>;

/** A line that matches, with its neighbours. */
export interface LineMatch {
  /** From 1. */
  readonly line: number;
  /** Of a line that is cut: where the match starts, in characters from 1. */
  readonly column?: number;
  /** The line without its end, cut around the match when it is long. */
  readonly text: string;
  readonly before: readonly string[];
  readonly after: readonly string[];
  /** Of all matches in the line. */
  readonly found: MatchCount;
}

/** Matches of one line. */
export interface MatchCount {
  readonly count: number;
  /** Whether there may be more. */
  readonly isLeast: boolean;
  /** Of a long line: where the matches after the first begin, in characters from 1; only some. */
  readonly columns: readonly number[];
}

/** What a search asks of each file. */
interface FileSearch {
  readonly pattern: LinePattern;
  /** Which matches of a line are counted; `some`: the first ones, where the line is slow to search; `none`: one is enough. */
  readonly counts?: "none" | "some" | "all";
  /** Takes what matches, where all are counted. */
  readonly onText?: ((text: string, line: number) => void) | undefined;
  /** How many lines to give before and after each match. */
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
  /** Whether text that holds a NUL is searched, too: by others it is taken for binary. */
  readonly takesNul?: boolean;
  /** Whether the search may stop before it has looked at a line: it would not begin again with this one each time. */
  readonly mayStopAtOnce: boolean;
}

/** The memory into which one file after another is read. It grows for a line that is longer. */
interface SearchBuffer {
  bytes: Buffer;
}

/** What most files fit into. */
const headBytes = 64 * 1024;
/** The longest line, which is in memory as a whole. */
const maxLineBytes = 16 * 1024 * 1024;
/** The same in other encodings than UTF-8, in some five times as much memory. */
const maxDecodedBytes = 8 * 1024 * 1024;
const newline = 0x0a;
const maxShownCharacters = 500;
/** What a line that may match costs beside its characters, as so many of them. */
const lineCost = 32;
/** Of a long line, what is looked through in one step. */
const screenedCharacters = 64 * 1024;
/** Bytes that hold more characters than are shown. */
const shownBytes = 4 * (maxShownCharacters + 1);
/** Places of one line that are named beside the first. */
const maxNamedPlaces = 5;
/** How many steps' worth of text an expression may look at, for the matches of one line, before others have a turn. */
const maxCountedSteps = 4;

export function createSearchBuffer({ limits: { maxReadBytes } }: Workspace): SearchBuffer {
  return { bytes: Buffer.allocUnsafeSlow(Math.min(headBytes, maxReadBytes)) };
}

/** Gives each matching line to `onMatch`. Without a promise where a small file holds nothing, as most do. */
export function searchFile(
  workspace: Workspace,
  path: WorkspacePath,
  buffer: SearchBuffer,
  search: FileSearch,
): Eventually<FileSearched> {
  return whenReady(workspace.readInto(path, buffer.bytes, 0), (read) => {
    if (!read.ok) return failure(reasonOf(read.error));
    const { lengthBytes, sizeBytes } = read.value;
    if (sizeBytes > workspace.limits.maxFileBytes) return failure("too_large");
    const bytes = buffer.bytes.subarray(0, lengthBytes);
    // nearly all files are plain and whole in the buffer; longer UTF-16 is never UTF-8 without a byte of 0
    const mayBePlain = lengthBytes > shortBytes ? !isShifted(bytes) : shownEncoding(bytes) === null;
    const isWhole = lengthBytes === 0 || lengthBytes >= sizeBytes;
    const plain = isWhole && mayBePlain ? toText(bytes, "utf-8", { isStart: true, takesNul: search.takesNul }) : null;
    if (plain !== null && holdsNothing(plain, search)) return success({ stoppedAfter: null });
    return searchPieces(workspace, path, buffer, { ...search, read: read.value, plain });
  });
}

/** At most one step of work. */
function holdsNothing(text: ByteText, { pattern }: FileSearch): boolean {
  const { length } = text.characters;
  return length <= pattern.stepCharacters && pattern.findCandidate(text, 0, length) === -1;
}

interface BegunSearch extends FileSearch {
  /** What is in the buffer, and its text where it is the whole file. */
  readonly read: ReadPart;
  readonly plain: ByteText | null;
}

async function searchPieces(
  workspace: Workspace,
  path: WorkspacePath,
  buffer: SearchBuffer,
  search: BegunSearch,
): Promise<FileSearched> {
  const { contextLines, nextTurn, plain, takesNul } = search;
  const { maxFileBytes, maxReadBytes } = workspace.limits;
  let encoding: TextEncoding = "utf-8";
  let { afterLine, read: { lengthBytes, sizeBytes } } = search;
  // what is in the buffer ends at `offset` of the file, and begins with the line `firstLine`
  for (let offset = 0, filled = 0, firstLine = 1;;) {
    if (offset > 0) {
      if (buffer.bytes.length - filled < maxReadBytes) makeRoom(buffer, filled, maxReadBytes);
      if (filled === buffer.bytes.length) return failure("too_large");
      const read = await workspace.readInto(path, buffer.bytes.subarray(filled), offset);
      if (!read.ok) return failure(reasonOf(read.error));
      ({ lengthBytes, sizeBytes } = read.value);
      if (sizeBytes > maxFileBytes) return failure("too_large");
    }
    offset += lengthBytes;
    filled += lengthBytes;
    const isLast = lengthBytes === 0 || offset >= sizeBytes;
    const pause = nextTurn();
    if (pause !== undefined) await pause;
    const bytes = buffer.bytes.subarray(0, filled);
    const isStart = offset === filled;
    if (isStart && plain === null) encoding = shownEncoding(bytes) ?? encoding;
    if (encoding !== "utf-8" && filled > maxDecodedBytes) return failure("too_large");
    const end = isLast ? filled : lineStartBefore(bytes, filled, encoding);
    if (end === 0 && !isLast) continue;
    if (encoding === "utf-8" && !isStart && isShifted(bytes.subarray(0, end))) encoding = "iso-2022-jp";
    let text = plain ?? toText(bytes.subarray(0, end), encoding, { isStart, takesNul });
    if (text === null && encoding === "utf-8") {
      if (end > maxDecodedBytes) return failure("too_large");
      encoding = await detectEncoding(bytes) ?? encoding; // before it was ASCII, or at least UTF-8
      text = toText(bytes.subarray(0, end), encoding, { isStart, takesNul });
    }
    if (text === null) return failure("binary");
    // the last lines of a piece are searched with the next, which has those after them
    const { characters } = text;
    let to = characters.length;
    for (let line = 0; line < contextLines && to > 0 && !isLast; line++) to = startOfLine(characters, to - 1);
    const stoppedAfter = await searchLines(text, { ...search, firstLine, afterLine, to });
    if (stoppedAfter !== null || isLast) return success({ stoppedAfter });
    afterLine = Math.max(afterLine, firstLine + countLineEnds(characters, 0, to) - 1);
    firstLine += countLineEnds(characters);
    let kept = end;
    for (let line = 0; line < 2 * contextLines && kept > 0; line++, firstLine--) {
      kept = lineStartBefore(bytes, kept - (encoding.startsWith("utf-16") ? 2 : 1), encoding);
    }
    bytes.copyWithin(0, kept);
    filled -= kept;
  }
}

/** The bytes stay as they are. */
function makeRoom(buffer: SearchBuffer, filled: number, least: number): void {
  const grown = Buffer.allocUnsafeSlow(Math.min(filled + Math.max(filled, least), maxLineBytes + least));
  buffer.bytes.copy(grown, 0, 0, filled);
  buffer.bytes = grown;
}

function reasonOf(refusal: WorkspaceRefusal): PassedOver {
  return refusal.reason === "denied" && refusal.because === "hard_link" ? "hard_link" : "unreadable";
}

/** The offset after the last line end before another offset; 0 where there is none. */
function lineStartBefore(bytes: Buffer, before: number, encoding: TextEncoding): number {
  for (let at = before; at > 0;) {
    at = bytes.lastIndexOf(newline, at - 1);
    if (at === -1) return 0;
    if (!encoding.startsWith("utf-16")) return at + 1;
    // a line ends in two bytes, and other characters have one of them
    if (at % 2 === (encoding === "utf-16be" ? 1 : 0) && bytes[at ^ 1] === 0) return (at | 1) + 1;
  }
  return 0;
}

/** The text; `null` for what is none in the encoding, or binary. */
function toText(
  bytes: Buffer,
  encoding: TextEncoding,
  { isStart, takesNul = false }: { readonly isStart: boolean; readonly takesNul?: boolean | undefined },
): ByteText | null {
  if (encoding === "utf-8") {
    const mark = markBytes(bytes, isStart);
    return toByteText(mark === 0 ? bytes : bytes.subarray(mark), takesNul);
  }
  const isWide = encoding === "utf-16le" || encoding === "utf-16be";
  if (isWide && bytes.length % 2 !== 0) return null;
  const text = isWide ? decodeWide(bytes, encoding) : decodeBytes(bytes, encoding)?.text;
  if (!text?.isWellFormed()) return null;
  return toByteText(Buffer.from(isStart ? text.replace(/^\ufeff/, "") : text), takesNul);
}

/** The text in bytes of UTF-8; `null` for binary content: bytes that are not UTF-8, or hold a NUL where none is taken. */
export function toByteText(bytes: Buffer, takesNul = false): ByteText | null {
  const characters = bytes.toString("latin1");
  if (!takesNul && characters.includes("\0")) return null; // binary, as grep and git see it
  if (Buffer.byteLength(characters) !== characters.length && !isUtf8(bytes)) return null; // nearly all are ASCII
  return { characters, decode: (from, to) => bytes.toString("utf8", from, to) };
}

interface LineSearch extends FileSearch {
  readonly firstLine: number;
  /** The offset after the last line that is searched. */
  readonly to: number;
}

/** The last line that was searched, where the search is to stop; `null` to go on. Others have their turn between two steps. */
export async function searchLines(text: ByteText, search: LineSearch): Promise<number | null> {
  const { characters } = text;
  const { pattern, contextLines, firstLine, afterLine, to, nextTurn, isOver } = search;
  const { stepCharacters } = pattern;
  let lineStart = 0;
  let line = firstLine; // the number of the line at `lineStart`
  for (; line <= afterLine && lineStart < to; line++) lineStart = endOfLine(characters, lineStart) + 1;
  /** Whether stopping after this line is no further than the call before, and for nothing. */
  const isInVain = (last: number): boolean => last <= afterLine && !search.mayStopAtOnce;
  for (let at = lineStart; at < to;) {
    // as many lines as one step searches, one at least
    const whole = at + stepCharacters >= to ? to : startOfLine(characters, at + stepCharacters);
    const stretchEnd = whole > at ? whole : Math.min(to, endOfLine(characters, at) + 1);
    const isLong = stretchEnd - at > stepCharacters + 1;
    if (isLong && !await mayHold(characters.slice(at, stretchEnd), search)) at = stretchEnd;
    for (let left = stepCharacters; left > 0 && at < stretchEnd;) {
      const candidate = isLong ? at : pattern.findCandidate(text, at, stretchEnd);
      if (candidate === -1) {
        at = stretchEnd;
        break;
      }
      const start = startOfLine(characters, candidate);
      const end = endOfLine(characters, candidate);
      line += countLineEnds(characters, lineStart, start);
      lineStart = start;
      const found = createLineFinder(text, search, { line, start, end });
      let isStopped = false;
      while (!isStopped && !found.takePart()) {
        const pause = nextTurn();
        if (pause === undefined) continue;
        await pause;
        isStopped = isOver();
      }
      const shown = found.shown();
      if (shown === null && isStopped && !isInVain(line - 1)) return Math.max(line - 1, afterLine);
      if (shown === null && (isStopped || found.isUnsure)) search.onUnsure(line);
      if (shown !== null) {
        const before = linesBefore(text, start, contextLines);
        const match = { line, ...shown, before, after: linesAfter(text, end + 1, contextLines) };
        if (search.onMatch(match)) return line;
      }
      if (isStopped) return line;
      left -= lineCost + end - start + found.work;
      at = end + 1;
    }
    const pause = nextTurn();
    if (pause === undefined) continue;
    await pause;
    const last = line + countLineEnds(characters, lineStart, at) - 1;
    if (isOver() && !isInVain(last)) return Math.max(last, afterLine);
  }
  return null;
}

/** Whether a line that is longer than a step may match. */
async function mayHold(line: string, { pattern: { screen }, nextTurn }: FileSearch): Promise<boolean> {
  if (screen === null) return true;
  for (let at = 0; at < line.length; at += screenedCharacters) {
    // the source is as long as what it finds, or longer
    if (line.slice(at, at + screenedCharacters + screen.source.length).search(screen) !== -1) return true;
    const pause = nextTurn();
    if (pause !== undefined) await pause;
  }
  return false;
}

/**
 * Finds the matches of a line that do not overlap, from the left. A line that is longer than a step comes in parts, which
 * overlap: a match of an expression that is longer than that may be missed.
 */
function createLineFinder(
  text: ByteText,
  { pattern, counts = "none", onText }: FileSearch,
  { line, start, end }: { readonly line: number; readonly start: number; readonly end: number },
) {
  const { characters } = text;
  const { stepCharacters } = pattern;
  const lineEnd = pattern.seesReturns ? end : withoutReturn(characters, end);
  const isLong = lineEnd - start > stepCharacters;
  const columns: number[] = [];
  let first: string | null = null;
  let [from, count, charactersBefore, work, isLeast] = [start, 0, 0, 0, false];
  if (isLong && pattern.inParts === "nothing_found") from = lineEnd;
  return {
    isUnsure: isLong && pattern.inParts !== "all_found",
    get work(): number {
      return work;
    },
    shown(): Pick<LineMatch, "text" | "column" | "found"> | null {
      const [column, ...further] = columns;
      if (first === null) return null;
      const found = { count, isLeast: isLeast || from < lineEnd, columns: further };
      return { text: first, ...column === undefined ? {} : { column }, found };
    },
    /** `true` when the line was searched to its end, or far enough. */
    takePart(): boolean {
      const to = characterStart(characters, Math.min(lineEnd, from + stepCharacters));
      const isLineEnd = to === lineEnd;
      // what is before is shown, and looked back at
      const partStart = characterStart(characters, Math.max(start, from - shownBytes));
      const part = text.decode(partStart, to);
      const own = partStart === from ? 0 : text.decode(partStart, from).length;
      let next = isLineEnd ? part.length : Math.max(own, part.length - (stepCharacters >> 2));
      const dear = work + maxCountedSteps * stepCharacters;
      let isDear = false;
      for (let at = own; at <= part.length && !isDear;) {
        const match = pattern.next(part, at);
        const isReal = match !== null &&
          (isLineEnd || (match.start < next && !(pattern.looksAhead && match.end === part.length)));
        if (!isReal) break;
        first ??= cutAround(part, match.start, partStart > start, !isLineEnd);
        if (columns.length <= maxNamedPlaces && (isLong || part.length > maxShownCharacters)) {
          columns.push(charactersBefore + Array.from(part.slice(own, match.start)).length + 1);
        }
        onText?.(part.slice(match.start, match.end), line);
        count++;
        work += pattern.isExpression ? part.length - at : match.end - at;
        isDear = pattern.isExpression && work > dear;
        isLeast = isDear && counts === "some";
        if (counts === "none" || isLeast) {
          from = lineEnd;
          return true;
        }
        at = match.end;
        if (at === match.start) at += (part.codePointAt(at) ?? 0) > 0xffff ? 2 : 1;
        next = isDear ? at : Math.max(next, match.end);
      }
      if (isLineEnd && !(isDear && next <= part.length)) {
        from = lineEnd;
        return true;
      }
      if (/[\udc00-\udfff]/.test(part.charAt(next))) next++;
      const nextFrom = partStart + Buffer.byteLength(part.slice(0, next));
      charactersBefore += countCharacters(characters, from, nextFrom);
      from = nextFrom;
      return false;
    },
  };
}

/** The last lines before an offset, cut. */
function linesBefore(text: ByteText, to: number, count: number): string[] {
  const lines: string[] = [];
  for (let end = to - 1; lines.length < count && end >= 0;) {
    const start = startOfLine(text.characters, end);
    lines.unshift(startOfCut(text, start, end));
    end = start - 1;
  }
  return lines;
}

/** The next lines, cut, from an offset on. */
function linesAfter(text: ByteText, from: number, count: number): string[] {
  const { characters } = text;
  const lines: string[] = [];
  for (let start = from; lines.length < count && start < characters.length;) {
    const end = endOfLine(characters, start);
    lines.push(startOfCut(text, start, end));
    start = end + 1;
  }
  return lines;
}

/** The start of a line, as lines around a match are shown. */
function startOfCut({ characters, decode }: ByteText, start: number, end: number): string {
  // a character at the end may be cut: it is not shown
  return cutAround(decode(start, Math.min(withoutReturn(characters, end), start + shownBytes)), 0);
}

/** The end of a line without the CR of CRLF. */
function withoutReturn(characters: string, end: number): number {
  return characters.startsWith("\r\n", end - 1) ? end - 1 : end;
}

/** The line around `at`; it may itself be cut out of a longer one. */
function cutAround(line: string, at: number, hasBefore = false, hasAfter = false): string {
  const start = Math.max(0, Math.min(at - maxShownCharacters / 2, line.length - maxShownCharacters));
  const end = start + maxShownCharacters;
  // toWellFormed: the cut may go through a surrogate pair
  const [isCutBefore, isCutAfter] = [hasBefore || start > 0, hasAfter || end < line.length];
  return `${isCutBefore ? "…" : ""}${line.slice(start, end).toWellFormed()}${isCutAfter ? "…" : ""}`;
}

/** The start of the character that the byte at `offset` is in, or of the next. */
function characterStart(characters: string, offset: number): number {
  let at = offset;
  while (at < characters.length && (characters.charCodeAt(at) & 0xc0) === 0x80) at++;
  return at;
}

/** How many characters start from one offset to another. */
function countCharacters(characters: string, from: number, to: number): number {
  const beyondAscii = characters.slice(from, to).search(/[\x80-\xff]/);
  if (beyondAscii === -1) return Math.max(0, to - from);
  let count = beyondAscii;
  for (let at = from + beyondAscii; at < to; at++) if ((characters.charCodeAt(at) & 0xc0) !== 0x80) count++;
  return count;
}
