/** Workspace files for a model: texts go into the prompt under their names, images beside it. */
import { counted } from "../lib/counted.ts";
import type { Principal } from "../lib/principal.ts";
import { failure, type Result, success } from "../lib/result.ts";
import {
  type FileContent,
  isPattern,
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
  type WorkspacePath,
  type WorkspaceSource,
} from "../files/mod.ts";
import type { OllamaFailure } from "./port.ts";

/** Files of one question, those of all its messages together. */
export const maxFiles = 16;
/** Images of one call. */
const maxImages = 8;
/** The tag around a text, twice, beside its name. */
const tagBytes = 64;
/** What Ollama's models look at. */
const imageTypes: ReadonlySet<string> = new Set(["image/png", "image/jpeg", "image/webp", "image/gif"]);

/** A text of the workspace. */
export interface NamedText {
  /** As the caller wrote it. */
  readonly name: string;
  readonly text: string;
  readonly file: string;
  /** `null` where it is not known. */
  readonly startLine: number | null;
  /** Whether the last lines were asked for. */
  readonly isTail: boolean;
}

const contentsForName =
  "files takes names of workspace files, not what they hold: put the file into the workspace first.";

const wholeFile: LineRequest = {};

/** For one call: what it may read is counted over all that it loads, with the tags and names around it. */
export function fileLoader(source: WorkspaceSource, principal: Principal, maxTextBytes: number) {
  let files = 0;
  let images = 0;
  let usedBytes = 0;

  const textOf = async (
    workspace: Workspace,
    path: WorkspacePath,
    whole: Outcome<FileContent>,
    lines: LineRequest,
  ): Promise<Result<Omit<NamedText, "name">, ToolFailure>> => {
    const file = showName(path.text);
    const notText = invalid(`${JSON.stringify(file)} is neither text nor a PNG, JPEG, WebP or GIF image.`);
    if (whole.ok && sniffMedia(whole.value.bytes) !== null) return failure(notText);
    const roomBytes = Math.max(0, maxTextBytes - usedBytes - tagBytes - Buffer.byteLength(file));
    const request = { lines, cursor: undefined, encoding: undefined, maxBytes: roomBytes + 1 };
    const read = whole.ok
      ? await selectText(whole.value, request)
      : whole.error.reason === "too_large"
      ? await readTextPart(workspace, path, request)
      : whole;
    if (!read.ok) {
      if (read.error.reason !== "not_text") return failure(toFailure("read file", path, read.error));
      return failure(whole.ok ? notText : toFailure("read file", path, whole.error)); // an image may be too large
    }
    const { content: text, next, isShort, totalLines, isWhole, startLine } = read.value;
    const part = { text, file, startLine, isTail: lines.tail !== undefined };
    // A text that was cut must not pass for the whole: the model would answer about a part of it.
    if (Buffer.byteLength(text) > roomBytes || next !== null || isShort) {
      const isCut = next !== null && !text.endsWith("\n"); // within a line
      const fitting = linesThatFit(part, roomBytes, isCut);
      const remedy = fitting === null
        ? `there is no room for ${file}: leave some out, or name lines of them; file_search shows parts of long lines`
        : `name lines that fit, such as ${fitting}`;
      return failure(invalid(`The files have more than ${Math.max(0, maxTextBytes)} bytes of text: ${remedy}.`));
    }
    if (text === "" && !isWhole) {
      const end = totalLines === null ? "" : `: it has ${counted(totalLines, "line")}`;
      return failure(invalid(`${file} has nothing at the lines that are asked for${end}.`));
    }
    usedBytes = maxTextBytes - roomBytes + Buffer.byteLength(text);
    return success(part);
  };

  /** The end of the name asks for a part only if no file has the whole name. */
  const load = async (workspace: Workspace, name: string): Promise<Result<NamedText | Uint8Array, ToolFailure>> => {
    let refusal = invalid("files must be names of files");
    if (/^data:|^[\w+/]{200,}=*$/.test(name)) return failure(invalid(contentsForName));
    for (const { filename, lines } of [{ filename: name, lines: wholeFile }, ...parseNamedParts(name)]) {
      const path = parseFilePath(filename);
      if (!path.ok) {
        refusal = toPathFailure("files", path.error);
        continue;
      }
      const whole = await workspace.read(path.value);
      const isImage = whole.ok && imageTypes.has(sniffMedia(whole.value.bytes)?.mimeType ?? "");
      if (isImage && lines === wholeFile) return success(whole.value.bytes);
      const text = await textOf(workspace, path.value, whole, lines);
      if (text.ok) return success({ name: showName(name), ...text.value });
      refusal = isPattern(name) && text.error.code === "not_found"
        ? invalid(`No file is named ${showName(name)}: set each to true for an answer to each file that it matches.`)
        : await suggestNear(workspace, path.value, text.error, { isFile: true });
      if (text.error.code !== "not_found") break;
    }
    return failure(refusal);
  };

  /** Files as a model gets them: images in Base64. */
  return async (names: readonly string[] = []) => {
    const loaded = { texts: [] as NamedText[], images: [] as string[] };
    if (names.length === 0) return success(loaded);
    if (!principal.scopes.has("files:read")) return failure(withoutScope);
    files += names.length;
    if (files > maxFiles) {
      return failure(
        invalid(`A call may name ${maxFiles} files; leave some out, or set each to true for an answer to each.`),
      );
    }
    const workspace = source(principal);
    for (const name of names) {
      const file = await load(workspace, name);
      if (!file.ok) return file;
      if ("name" in file.value) loaded.texts.push(file.value);
      else loaded.images.push(file.value.toBase64());
    }
    images += loaded.images.length;
    return images > maxImages
      ? failure(invalid(`A call may hold ${maxImages} images; leave some out.`))
      : success(loaded);
  };
}

/** A name for the lines of a text that fit, at its beginning or, of the last lines, at its end; `null` for none. */
function linesThatFit({ text, file, startLine, isTail }: Omit<NamedText, "name">, roomBytes: number, isCut = false) {
  const lines = text.split(/(?<=\n)/);
  if (!isTail && isCut) lines.pop();
  let sizeBytes = lines.reduce((sum, line) => sum + Buffer.byteLength(line), 0);
  while (sizeBytes > roomBytes) sizeBytes -= Buffer.byteLength((isTail ? lines.shift() : lines.pop()) ?? "");
  if (sizeBytes === 0) return null;
  return isTail || startLine === null
    ? `${file}:-${lines.length}`
    : `${file}:${startLine}-${startLine + lines.length - 1}`;
}

/** Lines of the first text that does not fit whole into a share of all their bytes; `undefined` where there are none. */
export function exampleThatFits(texts: readonly NamedText[], share: number): string | undefined {
  let roomBytes = share * texts.reduce((sum, { text }) => sum + Buffer.byteLength(text), 0);
  for (const text of texts) {
    const sizeBytes = Buffer.byteLength(text.text);
    if (sizeBytes > roomBytes) return linesThatFit(text, roomBytes) ?? undefined;
    roomBytes -= sizeBytes;
  }
  return undefined;
}

/** Why no file can be read. */
export const withoutScope: ToolFailure = {
  code: "insufficient_scope",
  message: "Reading workspace files needs the scope files:read: connect again and allow it, or leave out files.",
};

/** A refusal or a failure, in words for the caller. */
export interface ToolFailure extends Pick<OllamaFailure, "tooLong"> {
  readonly code: string;
  readonly message: string;
}

/** The refusal of what a call asks. */
export function invalid(message: string): ToolFailure {
  return { code: "invalid_request", message };
}
