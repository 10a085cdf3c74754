/** How a file writes its text: what a new text in its place, or behind it, is compared with. */
import type { WorkspacePath } from "../path.ts";
import type { Workspace } from "../port.ts";
import { asciiText, decodeBytes, looksLikeLatin1, markedEncoding, type TextEncoding, utf8Text } from "./encoding.ts";
import { type LineEnds, lineEndsOf } from "./line_ends.ts";

/** The encoding, the line ends where the beginning of the file has one, and whether a byte order mark is before it, and the size. */
export interface StoredForm {
  readonly encoding: TextEncoding;
  readonly lineEnds: LineEnds | null;
  readonly hasMark: boolean;
  readonly sizeBytes: number;
}

const utf8Mark = [0xef, 0xbb, 0xbf];
/** Of the beginning, from which the line ends are told. */
const headBytes = 16_384;
const newline = 0x0a;
const pieceBytes = 262_144;
/** Of one character in UTF-8, at most. */
const maxCharacterBytes = 4;

/**
 * The form of the file at `path`; `null` where there is none that can be read. Latin-1 is looked for in all of the file,
 * up to its first bytes that are not ASCII, and only `ifForeign`.
 */
export async function storedFormOf(
  workspace: Workspace,
  path: WorkspacePath,
  ifForeign: boolean,
): Promise<StoredForm | null> {
  const buffer = new Uint8Array(headBytes);
  const read = await workspace.readInto(path, buffer, 0);
  if (!read.ok) return null;
  const { lengthBytes, sizeBytes } = read.value;
  const head = buffer.subarray(0, lengthBytes);
  const marked = markedEncoding(head);
  if (marked !== null) {
    const text = decodeBytes(head.subarray(0, head.length & ~1), marked)?.text ?? "";
    return { encoding: marked, lineEnds: lineEndsOf(text), hasMark: true, sizeBytes };
  }
  const lineEnds = lineEndsOf(Buffer.from(head).toString("latin1"));
  const hasMark = utf8Mark.every((byte, index) => head[index] === byte);
  return { encoding: ifForeign ? await encodingFrom(workspace, path, head) : "utf-8", lineEnds, hasMark, sizeBytes };
}

/** Whether the last line of a file has no end: what is added goes on in it. */
export async function hasOpenLine(
  workspace: Workspace,
  path: WorkspacePath,
  { encoding, sizeBytes }: StoredForm,
): Promise<boolean> {
  const end = new Uint8Array(2);
  const read = await workspace.readInto(path, end, Math.max(0, sizeBytes - end.byteLength));
  if (!read.ok || read.value.lengthBytes === 0) return false;
  return end[encoding === "utf-16le" ? 0 : read.value.lengthBytes - 1] !== newline;
}

/** By the first piece that is not ASCII. */
async function encodingFrom(workspace: Workspace, path: WorkspacePath, head: Uint8Array): Promise<TextEncoding> {
  let piece = head;
  for (let offset = 0;;) {
    if (asciiText(piece) === null) {
      return utf8Text(wholeCharacters(piece)) !== null || !looksLikeLatin1(piece) ? "utf-8" : "latin1";
    }
    offset += piece.byteLength;
    if (piece.byteLength === 0) return "utf-8";
    const buffer = new Uint8Array(pieceBytes);
    const read = await workspace.readInto(path, buffer, offset);
    if (!read.ok) return "utf-8";
    piece = buffer.subarray(0, read.value.lengthBytes);
  }
}

/** Without a character of UTF-8 that is cut at the end. */
function wholeCharacters(bytes: Uint8Array): Uint8Array {
  for (let back = 1; back < maxCharacterBytes && back < bytes.length; back++) {
    const byte = bytes.at(-back) ?? 0;
    if (byte >= 0xc0) return bytes.subarray(0, -back);
    if (byte < 0x80) return bytes;
  }
  return bytes;
}
