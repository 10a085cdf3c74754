/** How a file writes its text: what a new text in its place, or behind it, is compared with. */
import type { WorkspacePath } from "../workspace/path.ts";
import type { Workspace } from "../workspace/port.ts";
import { encodingOfFile } from "./detect.ts";
import type { TextEncoding } from "../workspace/encoding.ts";
import { type LineEnds, lineEndsOf } from "./line_ends.ts";
import { decodeWide, markedEncoding, wideEncoding } from "./wide_encoding.ts";

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
const carriageReturn = 0x0d;

/**
 * The form of the file at `path`; `null` where there is none that can be read. Another encoding than UTF-8 and UTF-16 is
 * looked for in all of the file, up to its first bytes that are not ASCII, and only `ifForeign`.
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
  const wide = wideEncoding(head);
  if (wide !== null) {
    const text = decodeWide(head.subarray(0, head.length & ~1), wide);
    return { encoding: wide, lineEnds: lineEndsOf(text), hasMark: markedEncoding(head) !== null, sizeBytes };
  }
  const lineEnds = lineEndsOf(Buffer.from(head).toString("latin1"));
  const hasMark = utf8Mark.every((byte, index) => head[index] === byte);
  return { encoding: ifForeign ? await encodingOfFile(workspace, path) : "utf-8", lineEnds, hasMark, sizeBytes };
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
