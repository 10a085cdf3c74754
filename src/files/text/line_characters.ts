/** Finds characters of one line by their number, in bytes of UTF-8 or of one byte a character, which may come in pieces. */
import { success } from "../../lib/result.ts";
import type { WorkspacePath } from "../workspace/path.ts";
import type { Workspace } from "../workspace/port.ts";
import { cutAtBoundary, readLines } from "./lines.ts";

/** Some characters of a line. */
interface LineCharacters {
  readonly bytes: Uint8Array;
  /** How many there are: fewer than were asked for where the line ends, or no more may be given. */
  readonly count: number;
  /** How many characters the line has, where that is fewer than were asked for. */
  readonly lineEnd: number | null;
}

const newline = 10;
const carriageReturn = 13;

/** The characters from `first` to `last` of the line that the bytes start with, as many as `maxBytes` hold. */
export function charactersOf(
  bytes: Uint8Array,
  { first, last, maxBytes, isStart, isLatin1 = false }: {
    readonly first: number;
    readonly last: number;
    readonly maxBytes: number;
    /** Whether the file starts here: a byte order mark is no character of the line. */
    readonly isStart: boolean;
    readonly isLatin1?: boolean;
  },
): LineCharacters {
  const before = passOver(bytes, markBytes(bytes, isStart), first - 1, isLatin1);
  const wanted = passOver(bytes, before.offset, last - first + 1, isLatin1);
  const isCut = wanted.offset - before.offset > maxBytes;
  const end = isCut ? startOfCharacter(bytes, before.offset + maxBytes, isLatin1) : wanted.offset;
  const count = isCut ? passOver(bytes.subarray(0, end), before.offset, Infinity, isLatin1).count : wanted.count;
  const isEnd = before.count < first - 1 || wanted.count < last - first + 1;
  return {
    bytes: bytes.subarray(before.offset, end),
    count,
    lineEnd: isEnd && !isCut ? before.count + wanted.count : null,
  };
}

/** The same of a file that is too large to be read whole. Passing over characters stops at `maxFileBytes`. */
export async function readCharacters(
  workspace: Workspace,
  path: WorkspacePath,
  { line, first, last, maxBytes, isLatin1 }: {
    readonly line: number;
    readonly first: number;
    readonly last: number;
    readonly maxBytes: number;
    /** Whether each byte is a character. */
    readonly isLatin1: boolean;
  },
) {
  const start = await readLines(workspace, path, { startLine: line, endLine: line, maxBytes: 1 });
  if (!start.ok) return start;
  const { version, sizeBytes, modifiedAt } = start.value;
  const isThere = start.value.from.line === line && start.value.from.offsetBytes < sizeBytes;
  const facts = { version, sizeBytes, modifiedAt, isThere };
  const { maxReadBytes, maxFileBytes } = workspace.limits;
  let passed = 0;
  for (let offsetBytes = start.value.from.offsetBytes;;) {
    const read = await workspace.read(path, { offsetBytes, lengthBytes: maxReadBytes });
    if (!read.ok) return read;
    if (read.value.version !== version) return { ok: false, error: { reason: "conflict" } } as const;
    if (offsetBytes > maxFileBytes) {
      return { ok: false, error: { reason: "too_large", sizeBytes, limitBytes: maxFileBytes } } as const;
    }
    const { bytes } = read.value;
    const lineEnd = bytes.indexOf(newline);
    const isLast = lineEnd !== -1 || offsetBytes + bytes.byteLength >= sizeBytes;
    const piece = bytes.subarray(0, lineEnd !== -1 ? lineEnd + 1 : isLast ? undefined : cutInLine(bytes));
    const isStart = offsetBytes === 0;
    const here = passOver(piece, markBytes(piece, isStart), first - 1 - passed, isLatin1);
    // what is asked for deserves a read of its own
    if (!isLast && here.offset > 0) {
      passed += here.count;
      offsetBytes += here.offset;
      continue;
    }
    const found = charactersOf(piece, { first: first - passed, last: last - passed, maxBytes, isStart, isLatin1 });
    return success({ ...facts, ...found, lineEnd: found.lineEnd === null ? null : passed + found.lineEnd });
  }
}

/** Before a character, or a line's end, that the bytes may not hold whole. */
function cutInLine(bytes: Uint8Array): number {
  const end = cutAtBoundary(bytes);
  return end > 1 && bytes[end - 1] === carriageReturn ? end - 1 : end;
}

function markBytes(bytes: Uint8Array, isStart: boolean): number {
  return isStart && bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0;
}

/** Passes over at most `count` characters, none of them in the line's end. */
function passOver(
  bytes: Uint8Array,
  from: number,
  count: number,
  isLatin1: boolean,
): { readonly offset: number; readonly count: number } {
  let offset = from;
  let passed = 0;
  while (passed < count && offset < bytes.length && !isLineEnd(bytes, offset)) {
    offset = startOfCharacter(bytes, offset + 1, isLatin1);
    passed++;
  }
  return { offset, count: passed };
}

function startOfCharacter(bytes: Uint8Array, from: number, isLatin1: boolean): number {
  let at = from;
  while (!isLatin1 && at < bytes.length && ((bytes[at] ?? 0) & 0xc0) === 0x80) at++;
  return at;
}

function isLineEnd(bytes: Uint8Array, at: number): boolean {
  return bytes[at] === newline || (bytes[at] === carriageReturn && bytes[at + 1] === newline);
}
