/** Vectors of passages as a workspace file of JSON Lines. */
import { failure, type Result, success } from "../lib/result.ts";
import type { WorkspacePath } from "../files/workspace/path.ts";
import type { Workspace } from "../files/workspace/port.ts";
import { toFailure } from "../files/tools/refusal.ts";
import type { ToolFailure } from "./model_call.ts";
import type { TextPassage } from "./passages.ts";

/** Models compute with 32 bits, of which the later digits are noise. */
const vectorDigits = 6;

/** Creates the file; what is larger than one write comes in several. */
export async function writeVectors(
  workspace: Workspace,
  path: WorkspacePath,
  passages: readonly TextPassage[],
  vectors: readonly (readonly number[])[],
): Promise<Result<void, ToolFailure>> {
  const { maxWriteBytes } = workspace.limits;
  let mode: "create" | "append" = "create";
  let lines: Buffer[] = [];
  let bytes = 0;
  const flush = async (): Promise<ToolFailure | null> => {
    const written = await workspace.write(path, Buffer.concat(lines), { mode });
    [mode, lines, bytes] = ["append", [], 0];
    return written.ok ? null : toFailure("write file", path, written.error);
  };
  for (const [index, { file, lines: range, text }] of passages.entries()) {
    const embedding = vectors[index]?.map((value) => Number(value.toPrecision(vectorDigits)));
    const where = range === undefined ? { file } : { file, start_line: range.first, end_line: range.last };
    const line = Buffer.from(`${JSON.stringify({ ...where, text, embedding })}\n`);
    const refused = bytes > 0 && bytes + line.byteLength > maxWriteBytes ? await flush() : null;
    if (refused !== null) return failure(refused);
    lines.push(line);
    bytes += line.byteLength;
  }
  const refused = await flush();
  return refused === null ? success(undefined) : failure(refused);
}
