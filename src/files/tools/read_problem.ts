/** Why a file is not read, and the call that would read something of it. */
import { showName, toPathText } from "../workspace/file_display.ts";
import { sniffMedia } from "../workspace/media_type.ts";
import type { WorkspacePath } from "../workspace/path.ts";
import type { Workspace } from "../workspace/port.ts";
import { type FileRead, refusedRead } from "./read_answer.ts";
import type { TextProblem, TextRequest } from "./read_text.ts";
import { toFailure } from "./refusal.ts";

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
    ? readFailure(
      path,
      "too_large",
      `it has ${problem.sizeBytes} bytes, of which lines are read in the first ${problem.limitBytes}; ` +
        `${showName(path.text)}:-50 gives its last lines`,
    )
    : toFailure("read file", path, problem);
  return refusedRead(toPathText(path.text), message, code);
}

function readFailure(path: WorkspacePath, code: string, words: string) {
  return { code, message: `Failed to read file: ${words} (${showName(path.text)})` };
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
  return readFailure(path, "not_text", what);
}
