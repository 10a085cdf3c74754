/** Searches one file of any workspace by lines, in as many reads as it takes. */
import { Buffer } from "node:buffer";
import { failure, type Result, success } from "../../lib/result.ts";
import { countLineEnds } from "./byte_text.ts";
import { type MarkedEncoding, markedEncoding } from "./encoding.ts";
import type { FairTurns } from "./fair_turns.ts";
import type { LinePattern } from "./line_pattern.ts";
import { toSearchable } from "./searchable.ts";
import type { WorkspacePath } from "../path.ts";
import type { Eventually, Outcome, ReadPart, Workspace, WorkspaceRefusal } from "../port.ts";
import { type LineMatch, searchText } from "./search_text.ts";

interface FileSearch {
  readonly pattern: LinePattern;
  readonly contextLines: number;
  /** Only lines after this one. */
  readonly afterLine: number;
  /** Takes each match, in the order of lines; `true` when that is enough of this file. */
  readonly onMatch: (match: LineMatch) => boolean;
  /** The turns of the whole search. */
  readonly nextTurn: FairTurns;
  /** Asked now and then: whether to stop. */
  readonly isOver: () => boolean;
  /** One for the whole search. */
  readonly buffer: SearchBuffer;
}

/** Why a file was not searched. */
export type PassedOver = "binary" | "too_large" | "hard_link" | "unreadable";

/** What came of the search of one file. */
interface FileSearched {
  /** The last line that was searched, when the search stopped before the end of the file. */
  readonly stoppedAfter: number | null;
}

/** The memory into which one file after another is read: what most files fit into, and one piece of a larger one. */
interface SearchBuffer {
  readonly head: Buffer;
  piece: Buffer | null;
}

interface Piece {
  readonly bytes: Buffer;
  readonly isLast: boolean;
}

const headBytes = 64 * 1024;

export function createSearchBuffer({ limits: { maxReadBytes } }: Workspace): SearchBuffer {
  return { head: Buffer.allocUnsafeSlow(Math.min(headBytes, maxReadBytes)), piece: null };
}

/** Gives each matching line to `onMatch`. */
export async function searchFile(
  workspace: Workspace,
  path: WorkspacePath,
  { pattern, contextLines, afterLine, onMatch, nextTurn, isOver, buffer }: FileSearch,
): Promise<Result<FileSearched, PassedOver>> {
  let lastMatch = 0;
  let offset = 0;
  let encoding: MarkedEncoding | null = null;
  for (let firstLine = 1;;) {
    const reading = offset === 0 ? readHead(workspace, path, buffer) : readPiece(workspace, path, buffer, offset);
    const piece = reading instanceof Promise ? await reading : reading;
    if (typeof piece === "string") return failure(piece);
    const isFirst = offset === 0;
    if (isFirst) encoding = markedEncoding(piece.bytes);
    const searchable = toSearchable(piece.bytes, {
      encoding,
      isFirst,
      isLast: piece.isLast,
      keepsReturns: pattern.seesReturns,
    });
    if (searchable === null) return failure("binary");
    const { text, sourceBytes } = searchable;
    for (const stretch of searchText(text, { pattern, contextLines, firstLine, afterLine })) {
      for (const match of stretch.matches) {
        lastMatch = match.line;
        if (onMatch(match)) return success({ stoppedAfter: match.line });
      }
      const pause = nextTurn();
      if (pause === undefined) continue;
      await pause;
      if (!isOver()) continue;
      const lastLine = firstLine - 1 + countLineEnds(text.characters, 0, stretch.end);
      return success({ stoppedAfter: Math.max(lastLine, lastMatch) });
    }
    if (piece.isLast) return success({ stoppedAfter: null });
    offset += sourceBytes;
    firstLine += countLineEnds(text.characters, 0, text.characters.length);
    const pause = nextTurn();
    if (pause === undefined) continue;
    await pause;
    if (firstLine > 1 && isOver()) return success({ stoppedAfter: firstLine - 1 });
  }
}

/** The whole of a file that the head holds, else its first piece, unless the head shows that it is binary. */
function readHead(workspace: Workspace, path: WorkspacePath, buffer: SearchBuffer): Eventually<Piece | PassedOver> {
  const { head } = buffer;
  const toPiece = (read: Outcome<ReadPart>): Eventually<Piece | PassedOver> => {
    if (!read.ok) return reasonOf(read.error);
    if (read.value.sizeBytes > workspace.limits.maxFileBytes) return "too_large";
    const { lengthBytes, sizeBytes } = read.value;
    const bytes = head.subarray(0, lengthBytes);
    if (lengthBytes >= sizeBytes) return { bytes, isLast: true };
    const isBinary = bytes.includes(0) && markedEncoding(bytes) === null;
    return isBinary ? "binary" : readPiece(workspace, path, buffer, 0);
  };
  const reading = workspace.readInto(path, head, 0);
  return reading instanceof Promise ? reading.then(toPiece) : toPiece(reading);
}

async function readPiece(
  workspace: Workspace,
  path: WorkspacePath,
  buffer: SearchBuffer,
  offset: number,
): Promise<Piece | PassedOver> {
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
