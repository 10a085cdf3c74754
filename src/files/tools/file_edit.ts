/** The tool `file_edit`: exact replacements in one or several text files, all of them or none. */
import * as z from "zod";
import { defineTool, emptyIsAbsent, type Tool, type ToolOutcome } from "../../mcp/mod.ts";
import { showName, showText, toPathText } from "../workspace/file_display.ts";
import { differenceOf } from "../text/diff.ts";
import {
  type FileEdits,
  planFile,
  type PlannedFile,
  type PlanProblem,
  type WantedEdit,
  writeAll,
} from "./edit_plan.ts";
import { otherNamesWords } from "./file_write.ts";
import { count, ifVersionInput, pageBytes, sha256Output, textAnswer, toVersion, versionOutput } from "./input.ts";
import type { WorkspacePath } from "../workspace/path.ts";
import { createKeyedMutex } from "../workspace/change.ts";
import type { Workspace, WorkspaceSource } from "../workspace/port.ts";
import { toolFrames } from "./argument_names.ts";
import { batchFailure, maxNamed, refuseEmptyVersion } from "./batch.ts";
import { findPath, suggestNear } from "./near_names.ts";
import { type Failure, refuse, toFailure } from "./refusal.ts";
import { beginChange } from "./file_delete.ts";

/** The answer for files as they were written, or for a dry run, which wrote none. */
async function editAnswer(
  planned: readonly PlannedFile[],
  written: readonly PlannedFile[] | null,
): Promise<ToolOutcome> {
  const blocks: string[] = [];
  const facts: Record<string, unknown>[] = [];
  let room = pageBytes;
  for (const { path, beforeText, afterText, after, afterSha256, replacements, otherNames } of written ?? planned) {
    const whole = await differenceOf(beforeText, afterText);
    const diff = whole.length <= room ? whole : "(there is no room for this difference)";
    room -= diff.length;
    const size = `${after.byteLength} bytes${afterSha256 === null ? "" : `, version ${toVersion(afterSha256)}`}`;
    const others = otherNames === undefined ? "" : `; ${otherNamesWords(otherNames)}`;
    blocks.push(`${showName(path.text)}: ${count(replacements, "replacement")}, ${size}${others}\n${showText(diff)}`);
    facts.push({
      path: toPathText(path.text),
      replacements,
      changed: written !== null,
      diff,
      size_bytes: after.byteLength,
      ...(afterSha256 === null ? {} : { version: toVersion(afterSha256), sha256: afterSha256 }),
    });
  }
  const [first, ...further] = facts;
  if (written === null) blocks.push("(dry run: nothing was changed)");
  return textAnswer(blocks.join("\n"), { ...first, ...(further.length === 0 ? {} : { files: further }) });
}

const action = "edit file";
const maxEdits = 100;
const maxEditedFiles = 50;
/** Files of one call together: they are held until all are written, in some eight times as much memory. */
const maxEditedBytes = 16 * 1024 * 1024;

const unlisted = { unlisted: true }; // the list of tools has them beside `edits`
const edit = z.lazy(() =>
  z.strictObject({
    path: z.string().optional().meta(emptyIsAbsent),
    old_text: z.string().optional(),
    new_text: z.string().optional(),
    replace_all: z.boolean().optional().meta(unlisted),
    expected_replacements: z.int().min(1).optional().meta(unlisted),
    whole_word: z.boolean().optional().meta(unlisted),
    if_version: ifVersionInput(),
  })
);
const input = z.lazy(() =>
  z.object({
    path: z.string().optional().describe("File").meta(emptyIsAbsent),
    old_text: z.string().optional().describe("Exact text, any line ends"),
    new_text: z.string().optional().describe("Empty to delete"),
    replace_all: z.boolean().optional().describe("Else old_text must be there once"),
    expected_replacements: z.int().min(1).optional().describe("Replace as many, or none").meta(unlisted),
    whole_word: z.boolean().optional().describe("Not in longer words"),
    if_version: ifVersionInput(),
    edits: z.array(z.preprocess((value) => typeof value === "string" ? { path: value } : value, edit)).max(maxEdits)
      .optional().describe(
        "In order; path and texts given beside edits are defaults for edits without them",
      ),
    dry_run: z.boolean().default(false).describe("Only show"),
  })
);
type EditInput = z.output<typeof edit>;
type Input = z.output<typeof input>;

const oneFile = () => ({
  path: z.string(),
  replacements: z.int().describe("How many were made, or would be"),
  changed: z.boolean().describe("false for a dry run"),
  diff: z.string(),
  size_bytes: z.int(),
  version: versionOutput().optional(),
  sha256: sha256Output().optional(),
});

/** The tool that `app` registers to replace exact text: all edits of a call are made, or none. */
export function fileEditTool(source: WorkspaceSource): Tool {
  const large = createKeyedMutex(); // one call with large files at a time
  return defineTool({
    ...toolFrames.edit,
    description:
      "Replaces exact text (sed, patch), with edits in many places or files: all of them or none. Keeps encoding and " +
      "line ends. Answers with the difference.",
    input,
    output: z.lazy(() => z.object({ ...oneFile(), files: z.array(z.object(oneFile())).optional() })),
    async run(request, context) {
      const edits = wantedEdits(request);
      if (typeof edits === "string") return refuse(action, edits);
      const workspace = beginChange(source, context, "file_edit").workspace;
      const versions = edits.flatMap(({ path, ifVersions }) => ifVersions.map((version) => ({ path, version })));
      const empty = await refuseEmptyVersion(workspace, action, versions);
      if (empty !== null) return empty;
      if (new Set(edits.map(({ path }) => path)).size > maxEditedFiles) {
        return refuse(action, `one call edits at most ${maxEditedFiles} files`);
      }
      const byFile = new Map<string, FileEdits & { readonly edits: WantedEdit[] }>();
      const obstacles: Failure[] = [];
      for (const each of edits) {
        const path = await findPath(workspace, "path", each.path, { searches: obstacles.length < maxNamed });
        if (!path.ok) {
          obstacles.push(path.error);
          continue;
        }
        const file = byFile.get(path.value.text) ?? { path: path.value, edits: [] };
        file.edits.push(each);
        byFile.set(path.value.text, file);
      }
      if (request.if_version !== undefined && byFile.size > 1) {
        return refuse(action, "a version belongs to one file; give it in each edit");
      }
      const files = [...byFile.values()];
      const edit = () => editFiles(workspace, files, { dryRun: request.dry_run, obstacles, isOne: edits.length === 1 });
      return await hasLarge(workspace, files) ? await large.run("", edit) : await edit();
    },
  });
}

async function hasLarge(workspace: Workspace, files: readonly FileEdits[]): Promise<boolean> {
  for (const { path } of files) {
    const there = await workspace.stat(path);
    if (there.ok && there.value.sizeBytes > workspace.limits.maxReadBytes) return true;
  }
  return false;
}

/** The edits in their order, or what is wrong with the request. What an edit leaves out is as it is beside `edits`. */
function wantedEdits(request: Input): readonly WantedEdit[] | string {
  const { path, old_text: oldText, new_text: newText, edits = [] } = request;
  const texts = [oldText, newText].filter((text) => text !== undefined).length;
  const isEdit = path !== undefined && texts > (edits.length === 0 ? 0 : 1); // one alone is for those in `edits`
  const wanted: WantedEdit[] = [];
  for (const each of [...(isEdit ? [{}] : []), ...edits]) {
    const edit: EditInput = { ...request, ...each };
    if (edit.path === undefined) return "give path, or a path in each of edits";
    if (edit.old_text === undefined || edit.new_text === undefined) return "give old_text and new_text together";
    wanted.push({
      number: wanted.length + 1,
      path: edit.path,
      oldText: edit.old_text,
      newText: edit.new_text,
      all: edit.replace_all ?? (edit.expected_replacements ?? 1) > 1,
      expected: edit.expected_replacements,
      wholeWord: edit.whole_word ?? false,
      ifVersions: [request.if_version, each.if_version].filter((version) => version !== undefined),
    });
  }
  if (wanted.length === 0) return "give path, old_text and new_text, or edits";
  const isText = wanted.every((each) => each.oldText.isWellFormed() && each.newText.isWellFormed());
  return isText ? wanted : "old_text and new_text must be valid Unicode (unpaired surrogate)";
}

/** `obstacles`: what is known to be in the way before any file is read; `isOne`: the call has one edit. */
async function editFiles(
  workspace: Workspace,
  files: readonly FileEdits[],
  { dryRun, obstacles, isOne }: {
    readonly dryRun: boolean;
    readonly obstacles: Failure[];
    readonly isOne: boolean;
  },
): Promise<ToolOutcome> {
  const planned: PlannedFile[] = [];
  let left = maxEditedBytes;
  for (const file of files) {
    const plan = await planFile(workspace, file, left);
    if (plan.ok) {
      planned.push(plan.value);
      left -= plan.value.before.byteLength;
    } else {
      const manner = { isOne, isNamed: obstacles.length < maxNamed };
      obstacles.push(...await toRefusals(workspace, file.path, plan.error, manner));
    }
  }
  const [first] = obstacles;
  if (first !== undefined) return isOne ? first : batchFailure(obstacles);
  if (dryRun) return await editAnswer(planned, null);
  const { written, failures, kept } = await writeAll(workspace, planned, maxEditedBytes);
  if (failures.length === 0) return await editAnswer(written, written);
  const problems = failures.flatMap(({ path, problem }) => toProblems(path, problem, isOne));
  const [alone] = problems;
  return isOne && problems.length === 1 && kept.length === 0 && alone !== undefined
    ? alone
    : batchFailure(problems, kept);
}

/** The refusals; `isNamed`: with the nearest names of a file that is not there. */
async function toRefusals(
  workspace: Workspace,
  path: WorkspacePath,
  problem: PlanProblem,
  { isOne, isNamed }: { readonly isOne: boolean; readonly isNamed: boolean },
): Promise<readonly Failure[]> {
  const problems = toProblems(path, problem, isOne);
  const [failed] = problems;
  if ("edits" in problem || !isNamed || failed === undefined) return problems;
  const named = await suggestNear(workspace, path, failed);
  const isNew = isOne && failed.code === "not_found" && named.message === failed.message;
  return [isNew ? { ...failed, message: `${failed.message}; file_write creates files` } : named];
}

function toProblems(path: WorkspacePath, problem: PlanProblem, isOne: boolean): readonly Failure[] {
  if (!("edits" in problem)) return [toFailure(action, path, problem)];
  return problem.edits.map(({ edit, code, words }) =>
    refuse(action, `${words}${isOne ? "" : ` (edit ${edit.number}, ${showName(path.text)})`}`, code)
  );
}
