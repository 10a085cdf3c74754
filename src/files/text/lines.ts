/**
 * Reads text by lines from any workspace, in ranges, so that files larger than one read can be served in parts. Bytes
 * are cut at line ends, or inside a line that is too long for one answer at the end of a character.
 */
import { releaseBytes } from "../../lib/release_bytes.ts";
import { failure, success } from "../../lib/result.ts";
import type { WorkspacePath } from "../workspace/path.ts";
import type { FileContent, Outcome, Workspace } from "../workspace/port.ts";

/** A position in a text: line numbers start at 1; the offset is where the line, or the rest of it, starts. */
export interface TextPosition {
  readonly offsetBytes: number;
  readonly line: number;
}

/** Some lines of a file. */
interface TextLines extends FileContent {
  readonly from: TextPosition;
  /** Where the file goes on; `null` at its end. */
  readonly next: TextPosition | null;
}

interface LineSelection {
  readonly from?: TextPosition;
  /** The first wanted line; earlier ones are skipped. */
  readonly startLine?: number;
  /** The last line that is wanted. */
  readonly endLine?: number;
  /** At most this much of them, and never more than one read may give. */
  readonly maxBytes?: number;
}

const newline = 10;
/** How much is read at first for some lines of a file; as much as one read may give only when that is not enough. */
const firstRangeBytes = 64 * 1024;
const rangeGrowth = 8;

/** The selected lines, as many as one read may give. Passing over lines stops at `maxFileBytes`. */
export async function readLines(
  workspace: Workspace,
  path: WorkspacePath,
  { from = { offsetBytes: 0, line: 1 }, startLine = from.line, endLine = Infinity, maxBytes = Infinity }: LineSelection,
): Promise<Outcome<TextLines>> {
  const { maxReadBytes, maxFileBytes } = workspace.limits;
  let position = from;
  let firstVersion: string | null = null;
  let lengthBytes = endLine === Infinity ? maxReadBytes : Math.min(firstRangeBytes, maxReadBytes);
  for (;; lengthBytes = Math.min(lengthBytes * rangeGrowth, maxReadBytes)) {
    const read = await workspace.read(path, { offsetBytes: position.offsetBytes, lengthBytes });
    if (!read.ok) return read;
    const { value: content } = read;
    const { bytes, sizeBytes, version, modifiedAt } = content;
    if (version !== (firstVersion ??= version)) return failure({ reason: "conflict" });
    const isEnd = position.offsetBytes + bytes.byteLength >= sizeBytes;
    const start = position.line >= startLine ? 0 : offsetOfLine(bytes, startLine - position.line);
    if (start === null && !isEnd) {
      const skipped = countLines(bytes);
      position = { offsetBytes: position.offsetBytes + bytes.byteLength, line: position.line + skipped };
      releaseBytes(bytes);
      if (position.offsetBytes > maxFileBytes) {
        return failure({ reason: "too_large", sizeBytes, limitBytes: maxFileBytes });
      }
      continue;
    }
    const first: TextPosition = start === null
      ? { offsetBytes: sizeBytes, line: position.line + countLines(bytes) }
      : { offsetBytes: position.offsetBytes + start, line: Math.max(position.line, startLine) };
    // a line that started near the end of the range deserves its own range
    if (start !== null && start > 0 && !isEnd) {
      position = first;
      continue;
    }
    const rest = bytes.subarray(start ?? bytes.byteLength);
    const wanted = endLine - first.line + 1;
    const lastWanted = wanted <= 0 ? 0 : wanted === Infinity ? null : offsetOfLine(rest, wanted);
    if (lastWanted === null && !isEnd && lengthBytes < maxReadBytes) {
      position = first;
      continue;
    }
    const whole = rest.subarray(0, lastWanted ?? (isEnd ? rest.byteLength : cutAtBoundary(rest)));
    const taken = firstBytes(whole, maxBytes);
    const cut = taken.byteLength;
    const offsetBytes = first.offsetBytes + cut;
    const next = offsetBytes >= sizeBytes ? null : { offsetBytes, line: first.line + countLines(taken) };
    return success({
      bytes: taken,
      from: first,
      next,
      version,
      sizeBytes,
      modifiedAt,
      get sha256() {
        return content.sha256; // only where it is wanted: making it costs more than a search
      },
    });
  }
}

/**
 * A line's beginning, from which `neededBytes` or all of it are read; nothing where there is no such line. `isWhole`: to
 * its end.
 */
export async function readLine(
  workspace: Workspace,
  path: WorkspacePath,
  line: number,
  neededBytes: number,
): Promise<Outcome<Pick<TextLines, "bytes" | "version" | "sizeBytes" | "modifiedAt"> & { readonly isWhole: boolean }>> {
  const found = await readLines(workspace, path, { startLine: line, endLine: line, maxBytes: 1 });
  if (!found.ok) return found;
  const { from, version, sizeBytes, modifiedAt } = found.value;
  const pieces: Uint8Array[] = [];
  let end = from.offsetBytes;
  while (end < sizeBytes && end - from.offsetBytes < neededBytes && !pieces.at(-1)?.includes(newline)) {
    const read = await workspace.read(path, { offsetBytes: end, lengthBytes: workspace.limits.maxReadBytes });
    if (!read.ok) return read;
    if (read.value.version !== version) return failure({ reason: "conflict" });
    pieces.push(read.value.bytes);
    end += read.value.bytes.byteLength;
  }
  const bytes = joinPieces(pieces);
  const lineEnd = offsetOfLine(bytes, 1) ?? (end === sizeBytes ? bytes.byteLength : null);
  const isWhole = lineEnd !== null;
  return success({
    bytes: bytes.subarray(0, lineEnd ?? cutAtBoundary(bytes)),
    version,
    sizeBytes,
    modifiedAt,
    isWhole,
  });
}

/** The last `count` lines of a file, or as many as one read may return. */
export async function readLastLines(
  workspace: Workspace,
  path: WorkspacePath,
  count: number,
): Promise<Outcome<Omit<TextLines, "from" | "next"> & { readonly isComplete: boolean }>> {
  const { maxReadBytes } = workspace.limits;
  const info = await workspace.stat(path);
  if (!info.ok) return info;
  if (info.value.kind === "directory") return failure({ reason: "is_directory" });
  const { sizeBytes: end } = info.value;
  for (let lengthBytes = Math.min(firstRangeBytes, maxReadBytes);;) {
    const offsetBytes = Math.max(0, end - lengthBytes);
    const read = await workspace.read(path, { offsetBytes, lengthBytes });
    if (!read.ok) return read;
    const { bytes, version, sizeBytes, modifiedAt, sha256 } = read.value;
    let start = bytes.byteLength;
    for (let found = 0; found < count && start > 0; found++) {
      start = start < 2 ? 0 : bytes.lastIndexOf(newline, start - 2) + 1; // the end of the line before
    }
    const isCut = start === 0 && offsetBytes > 0;
    if (isCut && lengthBytes < maxReadBytes) {
      lengthBytes = Math.min(lengthBytes * rangeGrowth, maxReadBytes);
      continue;
    }
    const from = isCut ? (offsetOfLine(bytes, 1) ?? 0) : start; // the first line of the range may be the end of one
    return success({ bytes: bytes.subarray(from), version, sizeBytes, modifiedAt, sha256, isComplete: !isCut });
  }
}

/** What was read in pieces, as one; these are released. */
export function joinPieces(pieces: readonly Uint8Array[]): Uint8Array {
  const [first, ...others] = pieces;
  if (first !== undefined && others.length === 0) return first;
  const whole = Buffer.concat(pieces);
  for (const piece of pieces) releaseBytes(piece);
  return whole;
}

/** How many line ends there are. */
export function countLines(bytes: Uint8Array): number {
  let count = 0;
  for (let at = 0; at < bytes.length; at++) if (bytes[at] === newline) count++; // faster than a call for each line
  return count;
}

/** As many of the bytes as fit, up to a line end, or else to the end of a character. */
export function firstBytes(bytes: Uint8Array, maxBytes: number): Uint8Array {
  if (bytes.byteLength <= maxBytes) return bytes;
  const start = bytes.subarray(0, maxBytes);
  return start.subarray(0, cutAtBoundary(start) || maxBytes);
}

/** As many of the last bytes as fit, from a line's start on, or else from that of a character. */
export function lastBytes(bytes: Uint8Array, maxBytes: number): Uint8Array {
  if (bytes.byteLength <= maxBytes) return bytes;
  const end = bytes.subarray(bytes.byteLength - maxBytes);
  const line = end.indexOf(newline) + 1;
  if (line > 0 && line < end.byteLength) return end.subarray(line);
  let start = 0;
  while (start < 4 && isContinuation(end[start])) start++;
  return end.subarray(start);
}

/** The offset after `lines` line ends, or `null` when there are fewer. */
export function offsetOfLine(bytes: Uint8Array, lines: number): number | null {
  let offset = 0;
  for (let line = 0; line < lines; line++) {
    const at = bytes.indexOf(newline, offset);
    if (at === -1) return null;
    offset = at + 1;
  }
  return offset;
}

/** How many of the bytes end with a line, or where they hold none, with a whole character. */
function cutAtBoundary(bytes: Uint8Array): number {
  const lastLine = bytes.lastIndexOf(newline) + 1;
  if (lastLine > 0) return lastLine;
  let end = bytes.byteLength;
  while (end > 0 && bytes.byteLength - end < 4 && isContinuation(bytes[end - 1])) end--;
  const lead = bytes[end - 1] ?? 0;
  return lead >= 0xc0 ? end - 1 : bytes.byteLength; // RFC 3629 §3: a character starts with a byte of C0 or above
}

function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80;
}

const carriageReturn = 13;

/** The characters from `first` to `last` of the line that the bytes start with, as many as `maxBytes` hold. */
export function charactersOf(
  bytes: Uint8Array,
  { first, last, maxBytes, isStart }: {
    readonly first: number;
    readonly last: number;
    readonly maxBytes: number;
    /** Whether the file starts here: a byte order mark is no character of the line. */
    readonly isStart: boolean;
  },
) {
  const before = passOver(bytes, markBytes(bytes, isStart), first - 1);
  const wanted = passOver(bytes, before.offset, last - first + 1);
  const isCut = wanted.offset - before.offset > maxBytes;
  const end = isCut ? startOfCharacter(bytes, before.offset + maxBytes) : wanted.offset;
  const count = isCut ? passOver(bytes.subarray(0, end), before.offset, Infinity).count : wanted.count;
  const isEnd = before.count < first - 1 || wanted.count < last - first + 1;
  return {
    bytes: bytes.subarray(before.offset, end),
    /** How many there are: fewer than were asked for where the line ends, or no more may be given. */
    count,
    /** How many characters the line has, where that is fewer than were asked for. */
    lineEnd: isEnd && !isCut ? before.count + wanted.count : null,
  };
}

/** The length of the UTF-8 byte order mark, where the file starts here and has one. */
export function markBytes(bytes: Uint8Array, isStart = true): number {
  return isStart && bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0;
}

/** Passes over at most `count` characters, none of them in the line's end. */
function passOver(bytes: Uint8Array, from: number, count: number): { readonly offset: number; readonly count: number } {
  let offset = from;
  let passed = 0;
  while (passed < count && offset < bytes.length && !isLineEnd(bytes, offset)) {
    offset = startOfCharacter(bytes, offset + 1);
    passed++;
  }
  return { offset, count: passed };
}

function startOfCharacter(bytes: Uint8Array, from: number): number {
  let at = from;
  while (isContinuation(bytes[at])) at++;
  return at;
}

function isLineEnd(bytes: Uint8Array, at: number): boolean {
  return bytes[at] === newline ||
    (bytes[at] === carriageReturn && bytes[at + 1] === newline);
}
