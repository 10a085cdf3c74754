/** One file of `file_read`, at a path that is parsed. */
import { sniffMedia } from "../workspace/media_type.ts";
import type { WorkspacePath } from "../workspace/path.ts";
import { detectEncoding } from "../text/detect.ts";
import type { FileContent, Outcome, Workspace } from "../workspace/port.ts";
import { inStoredForm } from "./near_names.ts";
import { problemRead, type ProblemRequest } from "./read_problem.ts";
import { type FileRead, mediaRead, textRead } from "./read_answer.ts";
import { readTextPart, selectText } from "./read_text.ts";
import type { KeptReads } from "./kept_reads.ts";

/** Bytes of UTF-8 for one of Latin-1; for one of UTF-16 they are fewer. */
const maxGrowth = 2;

/** What is asked for of one file. */
export interface ReadRequest extends ProblemRequest {
  readonly numbered: boolean;
  /** For reads of whole files as they are. */
  readonly kept: KeptReads | null;
}

/** Reads text from memory where one read holds it, else in parts; or a picture or sound. */
export function readPath(
  workspace: Workspace,
  given: WorkspacePath,
  request: ReadRequest,
): FileRead | Promise<FileRead> {
  const path = inStoredForm(workspace, given);
  return path instanceof Promise
    ? path.then((found) => readStored(workspace, found, request))
    : readStored(workspace, path, request);
}

function readStored(workspace: Workspace, path: WorkspacePath, request: ReadRequest): FileRead | Promise<FileRead> {
  const known = request.kept?.find(workspace, path);
  const read = workspace.read(path, undefined, known?.content);
  const answer = (whole: Outcome<FileContent>): FileRead | Promise<FileRead> => {
    const isKnown = known !== undefined && whole.ok && whole.value === known.content && isShort(known.content, request);
    return isKnown ? known.read : toRead(workspace, path, request, whole);
  };
  return read instanceof Promise ? read.then(answer) : answer(read);
}

/** Whether the bound leaves the text whole, however many bytes it becomes. */
function isShort({ sizeBytes }: FileContent, { maxBytes }: ReadRequest): boolean {
  return sizeBytes * maxGrowth <= maxBytes;
}

function toRead(
  workspace: Workspace,
  path: WorkspacePath,
  request: ReadRequest,
  read: Outcome<FileContent>,
): FileRead | Promise<FileRead> {
  if (!read.ok) {
    if (read.error.reason !== "too_large") return problemRead(workspace, path, request, read.error);
    return readTextPart(workspace, path, request).then((part) =>
      part.ok
        ? textRead(path, part.value, { ...part.value, sha256: null }, request.numbered)
        : problemRead(workspace, path, request, part.error)
    );
  }
  const { value } = read;
  const made = toContentRead(workspace, path, request, value);
  const { kept } = request;
  if (kept === null || made instanceof Promise || !isShort(value, request)) return made;
  return kept.keep(workspace, path, value, made);
}

function toContentRead(
  workspace: Workspace,
  path: WorkspacePath,
  request: ReadRequest,
  content: FileContent,
): FileRead | Promise<FileRead> {
  const { bytes, sizeBytes, modifiedAt, sha256 } = content;
  const media = request.encoding === undefined ? sniffMedia(bytes) : null;
  if (media !== null) {
    const data = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64");
    return mediaRead(path, { type: media.type, data, mimeType: media.mimeType }, { sizeBytes, modifiedAt, sha256 });
  }
  const part = selectText(content, request);
  if (part.ok) return textRead(path, part.value, { sizeBytes, modifiedAt, sha256 }, request.numbered);
  if (part.error.reason !== "not_text" || request.encoding !== undefined) {
    return problemRead(workspace, path, request, part.error);
  }
  return detectEncoding(bytes).then((encoding) =>
    encoding === null
      ? problemRead(workspace, path, request, part.error)
      : toContentRead(workspace, path, { ...request, encoding }, content)
  );
}
