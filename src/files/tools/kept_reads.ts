/**
 * What small files were answered as when they were last read. A file is still opened and read for each call; where its
 * bytes and its time are the same, it is not hashed, decoded and put into words again.
 */
import { boundedMap } from "../../lib/bounded_map.ts";
import type { WorkspacePath } from "../workspace/path.ts";
import type { FileContent, Outcome, Workspace } from "../workspace/port.ts";
import { combineReads, type FileRead, mediaRead, problemRead, type ProblemRequest, textRead } from "./read_answer.ts";
import { nextTurn } from "../../lib/turns.ts";
import { sniffMedia } from "../workspace/file_display.ts";
import { detectEncoding } from "../text/detect.ts";
import { inStoredForm } from "./near_names.ts";
import { readTextPart, selectText } from "./read_text.ts";

/** The text is kept about ten times: in the answer, and in its JSON for each kind of caller. */
const maxKeptBytes = 16_384;
/** Of the files of all workspaces together, with what an answer takes beside its text: 64 large ones, 1,000 small ones. */
const maxKeptBytesInAll = 64 * maxKeptBytes;
const bytesBesideText = 1_024;
/** So many contents that were read lately are known by the beginning of their SHA-256. */
const maxSeen = 1_024;

interface KeptRead {
  readonly workspace: Workspace;
  readonly content: FileContent;
  readonly read: FileRead;
}

export interface KeptReads {
  /** What the file was when it was last read, and what was answered. */
  find(workspace: Workspace, path: WorkspacePath): Pick<KeptRead, "content" | "read"> | undefined;
  /** Keeps an answer about a whole file where that was read a while ago, too. */
  keep(workspace: Workspace, path: WorkspacePath, content: FileContent, read: FileRead): FileRead;
}

export function createKeptReads(): KeptReads {
  const kept = boundedMap<string, KeptRead>({
    maxWeight: maxKeptBytesInAll,
    weigh: ({ content: { bytes } }) => bytes.byteLength + bytesBesideText,
  });
  // Answers that are kept and not asked for again would cost the collector of garbage as much as making them does.
  const seen = new Uint32Array(2 * maxSeen);
  const wasSeen = (sha256: string): boolean => {
    const mark = Number.parseInt(sha256.slice(0, 8), 16);
    const places = [mark % maxSeen, maxSeen + (mark >>> 16) % maxSeen] as const; // two: another file may have one of them
    const wasThere = seen[places[0]] === mark || seen[places[1]] === mark;
    seen[places[0]] = seen[places[1]] = mark;
    return wasThere;
  };
  return {
    find(workspace, path) {
      const known = kept.get(path.text);
      return known?.workspace === workspace ? known : undefined;
    },
    keep(workspace, path, content, read) {
      const { bytes, sha256 } = content;
      if (bytes.byteLength > maxKeptBytes || sha256 === null || !wasSeen(sha256)) return read;
      const answer = { ...read, outcome: { ...combineReads([read]), encoded: new Map<string, string>() } };
      kept.set(path.text, { workspace, content, read: answer });
      return answer;
    },
  };
}

// One file of `file_read`, at a path that is parsed.

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
  return read instanceof Promise ? inNextTurn(read).then(answer) : answer(read);
}

/** A large read, once it is its caller's turn to use it. */
async function inNextTurn<T>(read: Promise<T>): Promise<T> {
  const done = await read;
  await nextTurn();
  return done;
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
