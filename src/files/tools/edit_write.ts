/** Writes the files of an edit: all of them, or none unless others write meanwhile. */
import { showName } from "../workspace/file_display.ts";
import type { WorkspacePath } from "../workspace/path.ts";
import type { Outcome, Workspace, WriteOptions, WrittenFile } from "../workspace/port.ts";
import { passagesOf } from "../text/passages.ts";
import { type EditBounds, planFile, type PlannedFile, type PlanProblem } from "./edit_plan.ts";

const pieceBytes = 1024 * 1024;
/** Others may write between our reading and writing; the edit is then made anew. */
const maxAttempts = 20;

/** The files that could not be written, and the names of the others that could not be put back. */
interface WriteFailure {
  readonly failures: readonly { readonly path: WorkspacePath; readonly problem: PlanProblem }[];
  readonly kept: readonly string[];
}

/** `bounds`: of a file that must be read again. */
export async function writeAll(
  workspace: Workspace,
  planned: readonly PlannedFile[],
  bounds: EditBounds,
): Promise<{ readonly written: readonly PlannedFile[] } | WriteFailure> {
  const written: PlannedFile[] = [];
  const failures: { readonly path: WorkspacePath; readonly problem: PlanProblem }[] = [];
  for (const plan of planned) { // all of them, so that the refusal names each that cannot be written
    const outcome = await writePlan(workspace, plan, bounds);
    if ("problem" in outcome) failures.push({ path: plan.path, problem: outcome.problem });
    else written.push(outcome.planned);
  }
  return failures.length === 0 ? { written } : { failures, kept: await restore(workspace, written) };
}

/** Writes one file; when another wrote in between, the edits are made in the new text. */
async function writePlan(
  workspace: Workspace,
  plan: PlannedFile,
  bounds: EditBounds,
): Promise<{ readonly planned: PlannedFile } | { readonly problem: PlanProblem }> {
  let current = plan;
  for (let attempt = 1;; attempt++) {
    const passages = workspace.trash === null ? undefined : await passagesOf(current.beforeText, current.afterText);
    const options = { ifMatch: current.beforeSha256, ...passages === undefined ? {} : { passages } };
    const result = await putBytes(workspace, current.path, current.after, options);
    if (result.ok) return { planned: { ...current, afterSha256: result.value.sha256 } };
    if (result.error.reason !== "conflict" || attempt === maxAttempts) return { problem: result.error };
    const again = await planFile(workspace, current, bounds);
    if (!again.ok) return { problem: again.error };
    current = again.value;
  }
}

/** Puts back what was there; the names of files that others changed since. */
async function restore(workspace: Workspace, written: readonly PlannedFile[]): Promise<readonly string[]> {
  const kept: string[] = [];
  for (const { path, before, afterSha256 } of written) {
    const restored = await putBytes(workspace, path, before, afterSha256 === null ? {} : { ifMatch: afterSha256 });
    if (!restored.ok) kept.push(showName(path.text));
  }
  return kept;
}

/** What is larger than one write may bring arrives in pieces, and takes effect at once. */
export function putBytes(
  workspace: Workspace,
  path: WorkspacePath,
  bytes: Uint8Array,
  options: WriteOptions,
): Promise<Outcome<WrittenFile>> {
  if (bytes.byteLength <= workspace.limits.maxWriteBytes) return workspace.write(path, bytes, options);
  const { ifMatch } = options;
  return workspace.receive(path, piecesOf(bytes), ifMatch === undefined ? {} : { ifMatch });
}

async function* piecesOf(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.byteLength; at += pieceBytes) yield bytes.subarray(at, at + pieceBytes);
}
