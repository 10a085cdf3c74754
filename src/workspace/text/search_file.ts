/** Searches one file of any workspace by lines, in as many reads as it takes. */
import { Buffer } from "node:buffer";
import { failure, type Result, success } from "../../lib/result.ts";
import { type MarkedEncoding, markedEncoding } from "./encoding.ts";
import { createLineSearch, type FileSearch, type SearchPiece } from "./line_search.ts";
import { toSearchable } from "./searchable.ts";
import type { WorkspacePath } from "../path.ts";
import type { Eventually, Outcome, ReadPart, Workspace, WorkspaceRefusal } from "../port.ts";

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

/** What one read gave. */
interface ReadBytes {
  readonly bytes: Buffer;
  readonly isLast: boolean;
}

const headBytes = 64 * 1024;
const nothingFound = success<FileSearched>({ stoppedAfter: null });

export function createSearchBuffer({ limits: { maxReadBytes } }: Workspace): SearchBuffer {
  return { head: Buffer.allocUnsafeSlow(Math.min(headBytes, maxReadBytes)), piece: null };
}

/** Gives each matching line to `onMatch`. A small file without a match is searched without a promise. */
export function searchFile(
  workspace: Workspace,
  path: WorkspacePath,
  buffer: SearchBuffer,
  search: FileSearch,
): Eventually<Result<FileSearched, PassedOver>> {
  const { pattern } = search;
  let offset = 0;
  let encoding: MarkedEncoding | null = null;
  const toPiece = (read: ReadBytes | PassedOver): SearchPiece | PassedOver => {
    if (typeof read === "string") return read;
    const { bytes, isLast } = read;
    const isFirst = offset === 0;
    if (isFirst) encoding = markedEncoding(bytes);
    const searchable = toSearchable(bytes, { encoding, isFirst, isLast, keepsReturns: pattern.seesReturns });
    if (searchable === null) return "binary";
    offset += searchable.sourceBytes;
    const { text } = searchable;
    return { text, isLast, goesOn: !isLast && !text.characters.endsWith("\n") };
  };
  const searchFrom = (first: SearchPiece | PassedOver): Eventually<Result<FileSearched, PassedOver>> => {
    if (typeof first === "string") return failure(first);
    const { characters } = first.text;
    const isDone = first.isLast && characters.length <= headBytes &&
      pattern.findCandidate(characters, 0, characters.length) === -1;
    return isDone ? nothingFound : searchPieces(first);
  };
  const searchPieces = async (first: SearchPiece): Promise<Result<FileSearched, PassedOver>> => {
    const lines = createLineSearch(search);
    for (let piece = first;;) {
      const stoppedAfter = await lines.take(piece);
      if (stoppedAfter !== null) return success({ stoppedAfter });
      if (piece.isLast) return success({ stoppedAfter: lines.end() });
      const next = toPiece(await readPiece(workspace, path, buffer, offset));
      if (typeof next === "string") return failure(next);
      piece = next;
    }
  };
  const read = readHead(workspace, path, buffer);
  return read instanceof Promise ? read.then(toPiece).then(searchFrom) : searchFrom(toPiece(read));
}

/** The whole of a file that the head holds, else its first piece, unless the head shows that it is binary. */
function readHead(workspace: Workspace, path: WorkspacePath, buffer: SearchBuffer): Eventually<ReadBytes | PassedOver> {
  const { head } = buffer;
  const toPiece = (read: Outcome<ReadPart>): Eventually<ReadBytes | PassedOver> => {
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
