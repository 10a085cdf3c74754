/** The tool `file_edit`: exact replacements in one or several text files, all of them or none. */
import * as z from "zod";
import { lazyObject } from "../../lib/lazy_object.ts";
import { failure, type Result, success } from "../../lib/result.ts";
import { showName, showText, toPathText, type WorkspacePath } from "../workspace/path.ts";
import type { FileContent, Outcome, Workspace, WorkspaceRefusal, WorkspaceSource } from "../workspace/port.ts";
import { otherNamesWords } from "../workspace/change.ts";
import { releaseBytes } from "../../lib/release_bytes.ts";
import { createKeyedMutex, type KeyedMutex, nextTurn, type Working } from "../../lib/turns.ts";
import { type Alike, type EditRefusal, readWholeFile, replaceText } from "../text/edit.ts";
import { createTextFinder } from "../text/finder.ts";
import { decodeText, encodeEdited, lackingIn, noTextWords, undetectedWords, whyNoText } from "../text/encoding.ts";
import { passagesOf } from "../text/undo.ts";
import { defineTool, emptyIsAbsent, type Tool, type ToolOutcome } from "../../mcp/mod.ts";
import { differenceOf } from "../text/diff.ts";
import { count, ifVersionInput, pageBytes, sha256Output, textAnswer, toVersion, versionOutput } from "./input.ts";
import { toolFrames } from "./argument_names.ts";
import { type Failure, refuse, toFailure } from "./refusal.ts";
import {
  allOrNone,
  batchFailure,
  beginChange,
  type Changing,
  endOf,
  maxNamed,
  ofPath,
  putBytes,
  refuseDocument,
  refuseEmptyVersion,
} from "./batch.ts";
import { beginLook, findPath, type Look, suggestNear } from "./near_names.ts";

/** The answer for files as they were written, or for a dry run, which wrote none. */
async function editAnswer(
  planned: readonly PlannedFile[],
  written: readonly PlannedFile[] | null,
  work: Working,
): Promise<ToolOutcome> {
  const blocks: string[] = [];
  const facts: Record<string, unknown>[] = [];
  let room = pageBytes;
  for (const plan of written ?? planned) {
    const { path, beforeText, afterText, after, afterSha256, replacements, otherNames, unclear } = plan;
    const whole = await differenceOf(beforeText, afterText, work);
    const diff = whole.length <= room ? whole : "(there is no room for this difference)";
    room -= diff.length;
    const version = afterSha256 === null ? "" : `, version ${toVersion(afterSha256)}`;
    const size = `${count(after.byteLength, "byte")}${version}`;
    const others = [otherNamesWords(otherNames), unclear].map((words) => words && `; ${words}`).join("");
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
const asLines = { written: "exact" };
const edit = z.lazy(() =>
  z.strictObject({
    path: z.string().optional().meta(emptyIsAbsent),
    old_text: z.string().optional().meta(asLines),
    new_text: z.string().optional().meta(asLines),
    replace_all: z.boolean().optional().meta(unlisted),
    expected_replacements: z.int().min(1).optional().meta(unlisted),
    whole_word: z.boolean().optional().meta(unlisted),
    if_version: ifVersionInput(),
  })
);
const input = lazyObject(() => ({
  path: z.string().optional().describe("File").meta(emptyIsAbsent),
  old_text: z.string().optional().describe("Exact text, any line ends").meta(asLines),
  new_text: z.string().optional().describe("Empty to delete").meta(asLines),
  replace_all: z.boolean().optional().describe("Else old_text must be there once"),
  expected_replacements: z.int().min(1).optional().describe("Replace as many, or none").meta(unlisted),
  whole_word: z.boolean().optional().describe("Not in longer words"),
  if_version: ifVersionInput(),
  edits: z.array(z.preprocess((value) => typeof value === "string" ? { path: value } : value, edit)).max(maxEdits)
    .optional().describe(
      "In order; path and texts given beside edits are defaults for edits without them",
    ),
  dry_run: z.boolean().default(false).describe("Only show"),
}));
type EditInput = z.output<typeof edit>;

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
    output: lazyObject(() => ({ ...oneFile(), files: z.array(z.object(oneFile())).optional() })),
    async run(request, context) {
      const edits = wantedEdits(request);
      if (typeof edits === "string") return refuse(action, edits);
      const changing = beginChange(source, context, "file_edit");
      const { workspace } = changing;
      const versions = edits.flatMap(({ path, ifVersions }) => ifVersions.map((version) => ({ path, version })));
      const empty = await refuseEmptyVersion(workspace, action, versions);
      if (empty !== null) return empty;
      if (new Set(edits.map(({ path }) => path)).size > maxEditedFiles) {
        return refuse(action, `one call edits at most ${maxEditedFiles} files`);
      }
      const byFile = new Map<string, FileEdits & { readonly edits: WantedEdit[] }>();
      const obstacles: Failure[] = [];
      const look = beginLook();
      for (const each of edits) {
        const ownLook = obstacles.length < maxNamed ? look : null;
        const path = await findPath(workspace, "path", each.path, { look: ownLook });
        const refused = path.ok
          ? refuseDocument(action, path.value)
          : edits.length > 1
          ? ofPath(each.path, path.error)
          : path.error;
        if (!path.ok || refused !== null) {
          if (refused !== null) obstacles.push(refused);
          continue;
        }
        const name = endOf(workspace, path.value, "followed") ?? path.value.text; // that of another edit may be a link
        const file = byFile.get(name) ?? { path: path.value, edits: [] };
        file.edits.push(each);
        byFile.set(name, file);
      }
      if (request.if_version !== undefined && byFile.size > 1) {
        return refuse(action, "a version belongs to one file; give it in each edit");
      }
      const files = [...byFile.values()];
      const turns = overtaken.getOrInsertComputed(source(context.principal), createKeyedMutex);
      const manner = { dryRun: request.dry_run, obstacles, look, isOne: edits.length === 1, work: context, turns };
      const edit = () => editFiles(changing, files, manner);
      return await hasLarge(workspace, files) ? await large.run("", edit, context) : await edit();
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
function wantedEdits(request: z.output<typeof input>): readonly WantedEdit[] | string {
  const { path, old_text: oldText, new_text: newText, edits = [] } = request;
  const texts = [oldText, newText].filter((text) => text !== undefined).length;
  const isEdit = path !== undefined && texts > (edits.length === 0 ? 0 : 1); // one alone is for those in `edits`
  const wanted: WantedEdit[] = [];
  const own = edits.filter((each) => !isEdit || Object.keys(each).length > 0); // one that says nothing is the one beside
  for (const each of [...(isEdit ? [{}] : []), ...own]) {
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

async function editFiles(
  changing: Changing,
  files: readonly FileEdits[],
  { dryRun, obstacles, look, isOne, work, turns }: {
    readonly dryRun: boolean;
    /** What is known to be in the way before any file is read. */
    readonly obstacles: Failure[];
    readonly look: Look;
    /** Whether the call has one edit. */
    readonly isOne: boolean;
    readonly work: Working;
    readonly turns: KeyedMutex;
  },
): Promise<ToolOutcome> {
  const { workspace } = changing;
  const planned: PlannedFile[] = [];
  try {
    for (const file of files) {
      const left = maxEditedBytes - planned.reduce((sum, { beforeBytes }) => sum + beforeBytes, 0);
      const plan = await planFile(workspace, file, left, work);
      if (plan.ok) planned.push(plan.value);
      else {
        const manner = { isOne, look: obstacles.length < maxNamed ? look : null };
        obstacles.push(...await toRefusals(workspace, file.path, plan.error, manner));
      }
    }
    const [first] = obstacles;
    if (first !== undefined) return isOne ? first : batchFailure(obstacles);
    if (dryRun) return await editAnswer(planned, null, work);
    const written = await allOrNone(changing, planned, {
      isOne,
      async make(plan) {
        const outcome = await writePlan(workspace, plan, { maxBytes: maxEditedBytes, turns });
        if (outcome.ok) return outcome;
        return failure(await toRefusals(workspace, plan.path, outcome.error, { isOne, look: null }));
      },
      sha256Of: ({ afterSha256 }) => afterSha256,
    });
    return written.ok ? await editAnswer(written.value, written.value, work) : written.error;
  } finally {
    for (const { after } of planned) releaseBytes(after);
  }
}

/** The refusals; with a `look`: with the nearest names of a file that is not there. */
async function toRefusals(
  workspace: Workspace,
  path: WorkspacePath,
  problem: PlanProblem,
  { isOne, look }: { readonly isOne: boolean; readonly look: Look | null },
): Promise<readonly Failure[]> {
  if ("edits" in problem) {
    return problem.edits.map(({ edit, code, words }) =>
      refuse(action, `${words}${isOne ? "" : ` (edit ${edit.number}, ${showName(path.text)})`}`, code)
    );
  }
  const failed = toFailure(action, path, problem);
  const named = look === null ? failed : await suggestNear(workspace, path, failed, { isFile: true, look });
  const isNew = look !== null && isOne && failed.code === "not_found" && named.message === failed.message;
  return [isNew ? { ...failed, message: `${failed.message}; file_write creates files` } : named];
}

/** One edit of a call. */
interface WantedEdit {
  /** From 1, as the caller counts. */
  readonly number: number;
  readonly path: string;
  readonly oldText: string;
  readonly newText: string;
  readonly all: boolean;
  /** Any other number of replacements is refused. */
  readonly expected: number | undefined;
  readonly wholeWord: boolean;
  /** All of them hold. */
  readonly ifVersions: readonly string[];
}

/** A file, and what to change in it, in this order. */
interface FileEdits {
  readonly path: WorkspacePath;
  readonly edits: readonly WantedEdit[];
}

/** A file with its edits made. */
interface PlannedFile extends FileEdits {
  readonly beforeBytes: number;
  readonly beforeText: string;
  readonly beforeSha256: string;
  readonly after: Uint8Array;
  readonly afterText: string;
  /** `null` until it is written. */
  readonly afterSha256: string | null;
  readonly replacements: number;
  /** See `WrittenFile`. */
  readonly otherNames?: number | undefined;
  /** See `undetectedWords`. */
  readonly unclear: string;
}

/** Why one of a file's edits cannot be made. */
interface EditProblem {
  readonly edit: WantedEdit;
  readonly code: string;
  readonly words: string;
}

/** Why a file cannot be edited so: its access, or its edits, each that cannot be made. */
type PlanProblem = WorkspaceRefusal | { readonly edits: readonly EditProblem[] };

/** Reads the file, of at most `maxBytes`, and makes the edits in memory, each in the text that the one before it left. */
async function planFile(
  workspace: Workspace,
  file: FileEdits,
  maxBytes: number,
  work?: Working,
): Promise<Result<PlannedFile, PlanProblem>> {
  const read = await readWholeFile(workspace, file.path, maxBytes);
  if (!read.ok) return read;
  try {
    return await planContent(file, read.value, { maxBytes, maxWriteBytes: workspace.limits.maxWriteBytes }, work);
  } finally {
    releaseBytes(read.value.bytes);
  }
}

async function planContent(
  { path, edits }: FileEdits,
  { bytes, sizeBytes, sha256 }: FileContent,
  { maxBytes, maxWriteBytes }: { readonly maxBytes: number; readonly maxWriteBytes: number },
  work?: Working,
): Promise<Result<PlannedFile, PlanProblem>> {
  const [first] = edits;
  if (sha256 === null || first === undefined) return failure({ reason: "conflict" });
  const decoded = await decodeText(bytes);
  const refused = (edit: WantedEdit, code: string, words: string) => failure({ edits: [{ edit, code, words }] });
  if (decoded === null) {
    return refused(first, "not_text", `${whyNoText(bytes) ?? noTextWords} (${showName(path.text)})`);
  }
  const isLarge = sizeBytes > maxWriteBytes; // such a file was not written in one call
  const maxResultBytes = isLarge ? Math.min(maxBytes, sizeBytes + maxWriteBytes) : maxWriteBytes;
  let { text } = decoded;
  let replacements = 0;
  const problems: EditProblem[] = [];
  const versions = edits.flatMap(({ ifVersions }) => ifVersions);
  if (versions.some((version) => !sha256.startsWith(version.toLowerCase()))) return failure({ reason: "conflict" });
  for (const edit of edits) {
    await nextTurn(work);
    const find = createTextFinder(edit.oldText);
    if (problems.some(({ edit: { newText } }) => find(newText, 0) !== -1)) continue; // it waits for that one
    const edited = await replaceText(text, edit, maxResultBytes, work);
    if (!edited.ok) {
      const { reason: code } = edited.error;
      const wasThere = code === "not_there" && text !== decoded.text && await isThere(decoded.text, edit, work);
      problems.push({ edit, code, words: wasThere ? replacedBefore : wordsOf(edited.error) });
      continue;
    }
    const { count } = edited.value;
    if (count !== (edit.expected ?? count)) {
      const times = count === 1 ? "once" : `${count} times`;
      const words = `old_text is there ${times}; with expected_replacements ${count} all are replaced`;
      problems.push({ edit, code: "other_count", words });
      continue;
    }
    text = edited.value.text;
    replacements += count;
  }
  if (problems.length > 0) return failure({ edits: problems });
  const after = encodeEdited({ ...decoded, bytes }, text);
  if (after === null) {
    const { encoding } = decoded;
    const edit = edits.find(({ newText }) => lackingIn(newText, encoding) !== undefined) ?? first;
    const lacking = showText(lackingIn(edit.newText, encoding) ?? "");
    const words = `the file's encoding (${encoding}) has no "${lacking}", which new_text holds`;
    return refused(edit, "not_encodable", words);
  }
  const before = { beforeBytes: sizeBytes, beforeText: decoded.text, beforeSha256: sha256 };
  const unclear = await undetectedWords(after, { ...decoded, text });
  return success({ path, edits, ...before, after, afterText: text, afterSha256: null, replacements, unclear });
}

const replacedBefore = "old_text is no longer in the file after the edits before this one; give what they leave";

async function isThere(text: string, edit: WantedEdit, work?: Working): Promise<boolean> {
  const found = await replaceText(text, edit, 0, work); // too large is there: nothing is made of it
  return found.ok || found.error.reason !== "not_there";
}

/** How a passage that is almost there differs, and what to do. */
const alikeWords: Readonly<Record<Alike["but"], (line: number) => string>> = {
  words: (line) => `but within a longer word it is at line ${line}; leave whole_word out`,
  numbers: (line) => `but without the line numbers it is at line ${line}; leave them out`,
  escapes: (line) =>
    `but with line ends, tabs and quotes in place of \\n, \\t and \\" it is at line ${line}; send the characters, not the escapes`,
  form: (line) => `but for blanks, case or signs it is at line ${line}; copy the passage from there`,
  rest: (line) => `but its first line is line ${line}; copy what follows from there`,
};

function wordsOf(refusal: EditRefusal): string {
  switch (refusal.reason) {
    case "empty_old_text":
      return "old_text is empty; to add text, give a line that is there and new_text with it, or append with file_write";
    case "same_text":
      return "old_text and new_text are the same";
    case "same_line_ends":
      return "old_text and new_text are the same but for line ends, which an edit keeps; file_write changes them";
    case "not_unique": {
      const named = [...new Set(refusal.lines)];
      const more = refusal.count > refusal.lines.length ? ", ..." : "";
      const lines = `${named.length === 1 ? "line" : "lines"} ${named.join(", ")}${more}`;
      return `old_text is there ${refusal.count} times (${lines}); ` +
        "add text around it, or set replace_all to replace all of them";
    }
    case "too_large":
      return `the file would have ${refusal.sizeBytes} bytes and the limit is ${refusal.limitBytes}; replace less at a time`;
    case "not_there": {
      const { alike } = refusal;
      return `old_text is not in the file${
        alike === null ? "; it must match exactly, with blanks" : `, ${alikeWords[alike.but](alike.line)}`
      }`;
    }
  }
}

/** Others may write between our reading and writing; the edit is then repeated. */
const maxAttempts = 20;
/** By workspace, edits that were overtaken: one after the other, since all at once would overtake each other again. */
const overtaken = new WeakMap<Workspace, KeyedMutex>();

/** Writes one file; when another wrote in between, the edits are made in the new text. */
async function writePlan(
  workspace: Workspace,
  plan: PlannedFile,
  { maxBytes, turns }: { readonly maxBytes: number; readonly turns: KeyedMutex },
): Promise<Result<PlannedFile, PlanProblem>> {
  const first = await writeOnce(workspace, plan);
  if (first.ok || first.error.reason !== "conflict") return first;
  return await turns.run(plan.path.text, async () => {
    let current = plan;
    for (let attempt = 2;; attempt++) {
      const again = await planFile(workspace, current, maxBytes);
      if (!again.ok) return again;
      current = again.value;
      const result = await writeOnce(workspace, current);
      if (result.ok || result.error.reason !== "conflict" || attempt === maxAttempts) return result;
    }
  });
}

async function writeOnce(workspace: Workspace, plan: PlannedFile): Promise<Outcome<PlannedFile>> {
  const passages = workspace.trash === null ? undefined : await passagesOf(plan.beforeText, plan.afterText);
  const options = { ifMatch: plan.beforeSha256, ...passages === undefined ? {} : { passages } };
  const result = await putBytes(workspace, plan.path, plan.after, options);
  return result.ok
    ? success({ ...plan, afterSha256: result.value.sha256, otherNames: result.value.otherNames })
    : result;
}
