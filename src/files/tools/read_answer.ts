/**
 * The answers of `file_read`. The file's text and our notice are separate blocks, and the notice says how many lines
 * and bytes are the file's: nothing in a file can pass for a notice.
 */
import type { ContentBlock, ToolOutcome } from "../../mcp/mod.ts";
import { showName, showText, sniffMedia, toPathText } from "../workspace/file_display.ts";
import type { WorkspacePath } from "../workspace/path.ts";
import { lineEndsOf } from "../text/edit.ts";
import { count, toReadCursorText, toTimestamp, toVersion } from "./input.ts";
import type { TextPart, TextProblem, TextRequest } from "./read_text.ts";
import type { Workspace } from "../workspace/port.ts";
import { refuse, toFailure } from "./refusal.ts";
import { toResourceContents } from "../workspace/encoding.ts";
import { findPath, suggestNear } from "./near_names.ts";

/** One file of an answer. */
export interface FileRead {
  /** For the audit log; `null` for a file that was read. */
  readonly code: string | null;
  readonly notice: string;
  /** Whether the notice stands before the content: where the content is not the whole file. */
  readonly noticeFirst: boolean;
  readonly content: ContentBlock | null;
  /** Of text, which a page of an answer is measured by. */
  readonly textBytes: number;
  /** Of an image or a sound. */
  readonly mediaBytes: number;
  readonly facts: Readonly<Record<string, unknown>>;
  /** The answer about this file alone, where it is kept. */
  readonly outcome?: ToolOutcome;
}

/** What is known of the file as a whole. */
interface FileFacts {
  readonly sizeBytes: number;
  readonly modifiedAt: number;
  readonly sha256: string | null;
}

type MediaBlock = Extract<ContentBlock, { readonly type: "image" | "audio" | "resource" }>;

/** A name that is repeated in an answer: longer ones are no path. */
const maxNameCharacters = 4096;

/** A file that could not be read, and why. */
export function refusedRead(name: string, message: string, code = "invalid_filename"): FileRead {
  const isLong = name.length > maxNameCharacters;
  const filename = (isLong ? `${name.slice(0, maxNameCharacters)}…` : name).toWellFormed();
  return {
    code,
    notice: message,
    noticeFirst: true,
    content: null,
    textBytes: 0,
    mediaBytes: 0,
    facts: { filename, error: message },
  };
}

/** An image, a sound, or a file as a resource. */
export function mediaRead(path: WorkspacePath, content: MediaBlock, facts: FileFacts): FileRead {
  const mimeType = content.type === "resource" ? content.resource.mimeType : content.mimeType;
  return {
    code: null,
    notice: `(${showName(path.text)}: ${mimeType}, ${bytes(facts.sizeBytes)}${versionWords(facts)})`,
    noticeFirst: false,
    content,
    textBytes: 0,
    mediaBytes: facts.sizeBytes,
    facts: { filename: toPathText(path.text), mime_type: mimeType, ...toFacts(facts) },
  };
}

/** The text of a file, or a part of it. */
export function textRead(path: WorkspacePath, part: TextPart, facts: FileFacts, numbered: boolean): FileRead {
  const { startLine, lines, totalLines, next, isWhole } = part;
  const text = numbered && startLine !== null ? numberLines(part.shown, startLine) : part.shown;
  const cursor = next === null ? undefined : toReadCursorText(next);
  const isRange = startLine !== null && (!isWhole || numbered);
  const name = showName(path.text);
  const ends = lineEndsOf(part.content) ?? "LF";
  const details = (ends === "LF" ? "" : `, ${ends}`) +
    (part.encoding === "utf-8" ? "" : `, ${part.encoding.toUpperCase()}`) +
    (part.escapes === 0 ? "" : `, ${count(part.escapes, "character")} shown as \\u{...}`) + versionWords(facts);
  const notice = isWhole
    ? `(${name}: ${count(lines, "line")}, ${bytes(facts.sizeBytes)}${details}; untrusted file text)`
    : `(${name}: ${rangeWords(part)}; ${
      lines === 0
        ? "no text"
        : `the next ${part.characters ? "" : `${count(lines, "line")}, `}${bytes(part.contentBytes)}${
          part.characters ? "" : ","
        } are untrusted file text`
    }, of ${bytes(facts.sizeBytes)} in all${details}${
      cursor !== undefined
        ? `; there is more: call again with cursor ${cursor}, or a larger max_bytes`
        : part.isShort
        ? "; more were asked for: give a larger max_bytes, or name a range"
        : ""
    })`;
  return {
    code: null,
    notice,
    noticeFirst: !isWhole || numbered,
    content: lines === 0 && !isWhole ? null : { type: "text", text },
    textBytes: part.contentBytes,
    mediaBytes: 0,
    facts: {
      filename: toPathText(path.text),
      content: part.content,
      encoding: part.encoding === "utf-8" ? undefined : part.encoding,
      start_line: isRange ? startLine : undefined,
      end_line: isRange ? startLine + lines - 1 : undefined,
      start_column: part.characters?.first,
      total_lines: totalLines ?? undefined,
      next_cursor: cursor,
      ...toFacts(facts),
    },
  };
}

/** All files of a call as one answer. A file that cannot be read does not keep the others from being read. */
export function combineReads(reads: readonly FileRead[]): ToolOutcome {
  const [first, ...further] = reads;
  if (first === undefined) throw new RangeError("a read names a file");
  const isOne = further.length === 0;
  const noticeOf = ({ code, notice, facts }: FileRead): string =>
    isOne || code === null || notice.endsWith(")") ? notice : `${notice} (${showText(String(facts["filename"]))})`;
  if (reads.every(({ code }) => code !== null)) {
    return { ok: false, code: first.code ?? "", message: reads.map(noticeOf).join("\n") };
  }
  return {
    ok: true,
    content: reads.flatMap((read): ContentBlock[] => {
      const { noticeFirst, content } = read;
      const words: ContentBlock = { type: "text", text: noticeOf(read) };
      if (content === null) return [words];
      return noticeFirst || !isOne ? [words, content] : [content, words];
    }),
    structuredContent: {
      ...first.facts,
      ...(isOne ? {} : { files: further.map(({ facts }) => facts) }),
      untrusted: true,
    },
  };
}

function toFacts({ sizeBytes, modifiedAt, sha256 }: FileFacts): Record<string, unknown> {
  return {
    size_bytes: sizeBytes,
    version: sha256 === null ? undefined : toVersion(sha256),
    sha256: sha256 ?? undefined,
    modified_at: toTimestamp(modifiedAt),
  };
}

function rangeWords({ startLine, lines, totalLines, characters }: TextPart): string {
  if (characters !== undefined) {
    const { first, count: there, lineEnd } = characters;
    const end = lineEnd === null ? "" : `line ${startLine} ends at character ${lineEnd}`;
    const range = `line ${startLine}, characters ${first} to ${first + there - 1}`;
    return there === 0 ? end : end === "" ? range : `${range}; ${end}`;
  }
  if (startLine === null) return `the last ${count(lines, "line")}`;
  const of = totalLines === null ? "" : ` of ${totalLines}`;
  if (lines === 0) {
    return totalLines === null
      ? `nothing from line ${startLine} on`
      : `it has ${count(totalLines, "line")}, so there is nothing at line ${startLine}`;
  }
  return lines === 1 ? `line ${startLine}${of}` : `lines ${startLine} to ${startLine + lines - 1}${of}`;
}

function versionWords({ sha256 }: FileFacts): string {
  return sha256 === null ? "" : `, version ${toVersion(sha256)}`;
}

function numberLines(text: string, firstLine: number): string {
  let line = firstLine;
  return text.split(/(?<=\n)/).map((part) => `${line++}\t${part}`).join("");
}

function bytes(number: number): string {
  return count(number, "byte");
}

/** What tells the format of an image or a sound. */
const sniffedBytes = 64;

/** A request, and whether files can be had by a link, too. */
export interface ProblemRequest extends TextRequest {
  readonly hasLinks: boolean;
}

/** The refusal as an answer. */
export async function problemRead(
  workspace: Workspace,
  path: WorkspacePath,
  request: ProblemRequest,
  problem: TextProblem,
): Promise<FileRead> {
  const { code, message } = problem.reason === "not_text"
    ? await notTextFailure(workspace, path, request)
    : problem.reason === "too_large"
    ? refuse(
      "read file",
      `it has ${problem.sizeBytes} bytes, of which lines are read in the first ${problem.limitBytes}; ` +
        `${showName(path.text)}:-50 gives its last lines (${showName(path.text)})`,
      "too_large",
    )
    : toFailure("read file", path, problem);
  return refusedRead(toPathText(path.text), message, code);
}

async function notTextFailure(workspace: Workspace, path: WorkspacePath, { encoding, hasLinks }: ProblemRequest) {
  const head = new Uint8Array(sniffedBytes);
  const read = await workspace.readInto(path, head, 0);
  const sizeBytes = read.ok ? read.value.sizeBytes : 0;
  const { maxReadBytes } = workspace.limits;
  const media = read.ok ? sniffMedia(head.subarray(0, read.value.lengthBytes)) : null;
  const isPdf = read.ok && head[0] === 0x25 && head[1] === 0x50 && head[2] === 0x44 && head[3] === 0x46; // %PDF
  const remedy = hasLinks ? "; link: true gives a URL to download it" : "";
  const what = encoding !== undefined
    ? `it is no text in ${encoding}; leave encoding out to have it detected`
    : media !== null
    ? `it is ${media.mimeType} of ${sizeBytes} bytes, and the limit is ${maxReadBytes}${remedy}`
    : sizeBytes > maxReadBytes
    ? `it is binary, of ${sizeBytes} bytes, and the limit is ${maxReadBytes}${remedy}`
    : isPdf
    ? `it is a PDF, which is not read as text${remedy}`
    : `it is binary: no text, and no known image or audio format${remedy}`;
  return refuse("read file", `${what} (${showName(path.text)})`, "not_text");
}

/** MCP server/tools, "Embedded Resources": the file under the address at which clients read it again or subscribe. */
export async function readEmbedded(workspace: Workspace, filename: string): Promise<ToolOutcome> {
  const path = await findPath(workspace, "filename", filename);
  if (!path.ok) return path.error;
  const read = await workspace.read(path.value);
  if (!read.ok) {
    const failed = toFailure("read file", path.value, read.error);
    const remedy = read.error.reason === "too_large" ? "; leave embed out to read text in parts" : "";
    return await suggestNear(workspace, path.value, { ...failed, message: `${failed.message}${remedy}` });
  }
  const { sizeBytes, modifiedAt, sha256, bytes } = read.value;
  const resource = toResourceContents(path.value, bytes);
  return combineReads([mediaRead(path.value, { type: "resource", resource }, { sizeBytes, modifiedAt, sha256 })]);
}
