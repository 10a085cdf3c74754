/** Workspace files for a model: texts go into the prompt under their names, images beside it. */
import * as z from "zod";
import type { Principal } from "../lib/principal.ts";
import { failure, type Result, success } from "../lib/result.ts";
import {
  decodeText,
  type FileContent,
  type LineRequest,
  type Outcome,
  parseFilePath,
  parseNamedParts,
  readTextPart,
  selectText,
  showName,
  sniffMedia,
  suggestNear,
  toFailure,
  toPathFailure,
  type Workspace,
  workspaceOf,
  type WorkspacePath,
  type WorkspaceSource,
} from "../files/mod.ts";
import type { ToolFailure } from "./answer.ts";

/** Files of one question, those of all its messages together. */
export const maxFiles = 16;
/** Names and patterns of a call with an answer for each file. */
const maxEachNames = 100;
/** Images of one call. */
const maxImages = 8;
/** The tag around a text, twice, beside its name. */
const tagBytes = 64;
/** What Ollama's models look at. */
const imageTypes: ReadonlySet<string> = new Set(["image/png", "image/jpeg", "image/webp", "image/gif"]);

/** Names of files; a single one may come without its list. */
export const filesParameter = z.lazy(() =>
  z.preprocess(
    (value) => typeof value === "string" ? [value] : value,
    z.array(z.string().min(1)).max(maxEachNames).optional(),
  )
);

/** A text of the workspace. */
export interface NamedText {
  /** As the caller wrote it. */
  readonly name: string;
  readonly text: string;
  readonly lines: LinesOfFile;
}

/** Which lines a text is. */
interface LinesOfFile {
  readonly file: string;
  /** `null` where it is not known. */
  readonly startLine: number | null;
  readonly isTail: boolean;
}

/** Files as a model gets them. */
interface LoadedFiles {
  readonly texts: readonly NamedText[];
  /** Base64. */
  readonly images: readonly string[];
}

/** Reads files, within the bounds of one call. */
export type LoadFiles = (names: readonly string[] | undefined) => Promise<Result<LoadedFiles, ToolFailure>>;

/** For one call: what it may read is counted over all that it loads, with the tags and names around it. */
export function fileLoader(source: WorkspaceSource, principal: Principal, maxTextBytes: number): LoadFiles {
  let files = 0;
  let images = 0;
  let usedBytes = 0;

  const textOf = async (
    workspace: Workspace,
    path: WorkspacePath,
    whole: Outcome<FileContent>,
    lines: LineRequest,
  ): Promise<Result<Pick<NamedText, "text" | "lines">, ToolFailure>> => {
    if (whole.ok && sniffMedia(whole.value.bytes) !== null) return failure(notText(path));
    const file = showName(path.text);
    const roomBytes = Math.max(0, maxTextBytes - usedBytes - tagBytes - Buffer.byteLength(file));
    const request = { lines, cursor: undefined, encoding: undefined, maxBytes: roomBytes + 1 };
    let read = whole.ok
      ? selectText(whole.value, request)
      : whole.error.reason === "too_large"
      ? await readTextPart(workspace, path, request)
      : whole;
    if (whole.ok && !read.ok && read.error.reason === "not_text") {
      const encoding = (await decodeText(whole.value.bytes))?.encoding;
      if (encoding !== undefined) read = selectText(whole.value, { ...request, encoding });
    }
    if (!read.ok) {
      if (read.error.reason !== "not_text") return failure(refused(path, read.error));
      return failure(whole.ok ? notText(path) : refused(path, whole.error)); // an image may be too large
    }
    const textBytes = Buffer.byteLength(read.value.content);
    // A text that was cut must not pass for the whole: the model would answer about a part of it.
    if (textBytes > roomBytes || read.value.next !== null || read.value.isShort) {
      const { content, next, startLine } = read.value;
      const isCut = next !== null && !content.endsWith("\n"); // within a line
      const part = { file, startLine, isTail: lines.tail !== undefined };
      const fitting = linesThatFit(content, part, roomBytes, isCut);
      return failure(tooMuchText({ file, maxTextBytes, isFirst: usedBytes === 0, fitting }));
    }
    usedBytes = maxTextBytes - roomBytes + textBytes;
    const { content: text, totalLines, isWhole, startLine } = read.value;
    if (text === "" && !isWhole) {
      const end = totalLines === null ? "" : `: it has ${totalLines} line${totalLines === 1 ? "" : "s"}`;
      return failure(invalid(`${file} has nothing at the lines that are asked for${end}.`));
    }
    return success({ text, lines: { file, startLine, isTail: lines.tail !== undefined } });
  };

  const load = async (workspace: Workspace, name: string): Promise<Result<NamedText | Uint8Array, ToolFailure>> => {
    const parsed = parseFilePath(name);
    const whole = parsed.ok ? await workspace.read(parsed.value) : null;
    if (whole?.ok && imageTypes.has(sniffMedia(whole.value.bytes)?.mimeType ?? "")) return success(whole.value.bytes);
    let path = parsed;
    let found = whole;
    let lines: LineRequest = {};
    // the end of the name asks for a part only if no file has the whole name
    for (const part of parseNamedParts(name)) {
      const named = parseFilePath(part.filename);
      if (!named.ok || (found !== null && (found.ok || found.error.reason !== "not_found"))) continue;
      [path, lines] = [named, part.lines];
      found = await workspace.read(named.value);
    }
    if (!path.ok) return failure(toPathFailure("files", path.error));
    if (found === null) throw new TypeError("a path that is right was not read");
    const text = await textOf(workspace, path.value, found, lines);
    if (!text.ok) return failure(await suggestNear(workspace, path.value, text.error));
    return success({ name: showName(name), ...text.value });
  };

  return async (names = []) => {
    if (names.length === 0) return success({ texts: [], images: [] });
    if (!principal.scopes.has("files:read")) return failure(withoutScope);
    files += names.length;
    if (files > maxFiles) {
      return failure(
        invalid(`A call may name ${maxFiles} files; leave some out, or set each to true for an answer to each.`),
      );
    }
    const workspace = workspaceOf(source, principal);
    const loaded = { texts: [] as NamedText[], images: [] as string[] };
    for (const name of names) {
      const file = await load(workspace, name);
      if (!file.ok) return file;
      if ("name" in file.value) loaded.texts.push(file.value);
      else loaded.images.push(file.value.toBase64());
    }
    images += loaded.images.length;
    if (images > maxImages) return failure(invalid(`A call may hold ${maxImages} images; leave some out.`));
    return success(loaded);
  };
}

/** A name for the lines of a text that fit, at its beginning or, of the last lines, at its end; `null` for none. */
function linesThatFit(
  text: string,
  { file, startLine, isTail }: LinesOfFile,
  roomBytes: number,
  isCut = false,
): string | null {
  const lines = text.split(/(?<=\n)/);
  if (!isTail && isCut) lines.pop();
  let sizeBytes = lines.reduce((sum, line) => sum + Buffer.byteLength(line), 0);
  while (sizeBytes > roomBytes) sizeBytes -= Buffer.byteLength((isTail ? lines.shift() : lines.pop()) ?? "");
  if (lines.length === 0 || sizeBytes === 0) return null;
  return isTail || startLine === null
    ? `${file}:-${lines.length}`
    : `${file}:${startLine}-${startLine + lines.length - 1}`;
}

/** Lines of the first text that does not fit whole into a share of all their bytes; `undefined` where there are none. */
export function exampleThatFits(texts: readonly NamedText[], share: number): string | undefined {
  let roomBytes = share * texts.reduce((sum, { text }) => sum + Buffer.byteLength(text), 0);
  for (const { text, lines } of texts) {
    const sizeBytes = Buffer.byteLength(text);
    if (sizeBytes > roomBytes) return linesThatFit(text, lines, roomBytes) ?? undefined;
    roomBytes -= sizeBytes;
  }
  return undefined;
}

/** The prompt after the texts, each in a tag that none of them closes. */
export function withTexts(texts: readonly NamedText[], prompt: string): string {
  if (texts.length === 0) return prompt;
  let tag = "file";
  for (const { text } of texts) {
    for (const [, name = ""] of text.matchAll(/<\/(file_*)/g)) if (name.length >= tag.length) tag = `${name}_`;
  }
  const blocks = texts.map(({ name, text }) => {
    const end = text.endsWith("\n") ? "" : "\n";
    return `<${tag} name=${JSON.stringify(name)}>\n${text}${end}</${tag}>\n`;
  });
  return `${blocks.join("\n")}\n${prompt}`;
}

/** Why no file can be read. */
export const withoutScope: ToolFailure = {
  code: "insufficient_scope",
  message: "Reading workspace files needs the scope files:read: connect again and allow it, or leave out files.",
};

function invalid(message: string): ToolFailure {
  return { code: "invalid_request", message };
}

function notText(path: WorkspacePath): ToolFailure {
  return invalid(`${JSON.stringify(showName(path.text))} is neither text nor a PNG, JPEG, WebP or GIF image.`);
}

function tooMuchText({ file, maxTextBytes, isFirst, fitting }: {
  readonly file: string;
  readonly maxTextBytes: number;
  /** Of the texts of the call. */
  readonly isFirst: boolean;
  readonly fitting: string | null;
}): ToolFailure {
  const remedy = fitting !== null
    ? `name lines that fit, such as ${fitting}`
    : isFirst
    ? `the first line that is asked for of ${file} is longer; file_search shows parts of a line`
    : `the files before ${file} leave it no room: leave some out, or name lines of them`;
  return invalid(`The files have more than ${Math.max(0, maxTextBytes)} bytes of text: ${remedy}.`);
}

function refused(path: WorkspacePath, refusal: Parameters<typeof toFailure>[2]): ToolFailure {
  return toFailure("read file", path, refusal);
}
