/** Searches one file of any workspace by lines, in as many reads as it takes. */
import { Buffer, isUtf8 } from "node:buffer";
import { failure, type Result, success } from "../../lib/result.ts";
import { detectEncoding } from "./detect.ts";
import type { TextEncoding } from "../workspace/encoding.ts";
import type { LinePattern } from "./line_pattern.ts";
import { scannedBytes } from "./byte_scan.ts";
import { createLineSearch, type FileSearch } from "./line_search.ts";
import { toSearchable } from "./searchable.ts";
import { wideEncoding } from "./wide_encoding.ts";
import type { WorkspacePath } from "../workspace/path.ts";
import type { Eventually, Outcome, ReadPart, Workspace, WorkspaceRefusal } from "../workspace/port.ts";

/** Why a file was not searched. */
export type PassedOver = "binary" | "too_large" | "hard_link" | "unreadable";

/** What came of the search of one file. */
interface FileSearched {
  /** The last line that was searched, when the search stopped before the end of the file. */
  readonly stoppedAfter: number | null;
}

/** The memory into which one file after another is read: what most files fit into, and one piece of a larger one. */
export interface SearchBuffer {
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
  const read = readHead(workspace, path, buffer, search.pattern);
  if (read === null) return nothingFound;
  return read instanceof Promise
    ? read.then((later) => searchHead(workspace, path, buffer, search, later))
    : searchHead(workspace, path, buffer, search, read);
}

/** Reads what fits into the head; `null` where a file was read that can hold no match. */
function readHead(
  workspace: Workspace,
  path: WorkspacePath,
  { head }: SearchBuffer,
  pattern: LinePattern,
): Eventually<Outcome<ReadPart>> | null {
  const bytes = scannedBytes();
  const count = workspace.readSmall?.(path, bytes) ?? null;
  if (count === null || count > Math.min(head.length, workspace.limits.maxFileBytes)) {
    return workspace.readInto(path, head, 0);
  }
  if (pattern.scan(bytes, count)) return null;
  head.set(bytes.subarray(0, count));
  return success({ lengthBytes: count, sizeBytes: count });
}

/** Searches the whole of a file that the head holds, else all its pieces, unless the head shows that it is binary. */
function searchHead(
  workspace: Workspace,
  path: WorkspacePath,
  buffer: SearchBuffer,
  search: FileSearch,
  read: Outcome<ReadPart>,
): Eventually<Result<FileSearched, PassedOver>> {
  if (!read.ok) return failure(reasonOf(read.error));
  const { lengthBytes, sizeBytes } = read.value;
  if (sizeBytes > workspace.limits.maxFileBytes) return failure("too_large");
  const bytes = buffer.head.subarray(0, lengthBytes);
  const isLast = lengthBytes >= sizeBytes;
  if (isLast && search.pattern.scan(bytes)) return nothingFound; // takes hardly longer than asking for a turn
  const searchOn = (): Eventually<Result<FileSearched, PassedOver>> => {
    if (isLast && holdsNothing(bytes, search.pattern)) return nothingFound;
    if (!isLast && bytes.includes(0) && wideEncoding(bytes) === null) return failure("binary");
    return searchPieces(workspace, path, buffer, search, isLast ? { bytes, isLast } : null);
  };
  const pause = search.nextTurn();
  return pause === undefined ? searchOn() : pause.then(searchOn);
}

/** Whether plain text has no match, though it has the bytes that were looked for first. */
function holdsNothing(bytes: Buffer, pattern: LinePattern): boolean {
  const characters = bytes.toString("latin1");
  if (bytes[0] === firstByteOfMark || characters.includes("\0") || !isUtf8(bytes)) return false;
  if (pattern.screens.some((screen) => !screen.test(characters))) return true; // also where lines end in CRLF
  return (pattern.seesReturns || !characters.includes("\r\n")) &&
    pattern.findCandidate(characters, 0, characters.length) === -1;
}

/** Whether the file surely has no match, as far as that is known at once. */
export function holdsNothingOf(
  workspace: Workspace,
  path: WorkspacePath,
  buffer: SearchBuffer,
  pattern: LinePattern,
): boolean {
  const read = readHead(workspace, path, buffer, pattern);
  if (read === null) return true;
  if (read instanceof Promise || !read.ok) return false;
  const { lengthBytes, sizeBytes } = read.value;
  const bytes = buffer.head.subarray(0, lengthBytes);
  return lengthBytes >= sizeBytes && (pattern.scan(bytes) || holdsNothing(bytes, pattern));
}

async function searchPieces(
  workspace: Workspace,
  path: WorkspacePath,
  buffer: SearchBuffer,
  search: FileSearch,
  whole: ReadBytes | null,
): Promise<Result<FileSearched, PassedOver>> {
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
