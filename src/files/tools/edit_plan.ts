/** What edits make of one file, before anything is written. */
import { failure, type Result, success } from "../../lib/result.ts";
import { showName, showText } from "../workspace/file_display.ts";
import type { WorkspacePath } from "../workspace/path.ts";
import type { Outcome, Workspace, WorkspaceRefusal, WriteOptions, WrittenFile } from "../workspace/port.ts";
import { nextTurn } from "../../lib/turns.ts";
import { type Alike, type EditRefusal, readWholeFile, replaceText } from "../text/edit.ts";
import { createTextFinder } from "../text/finder.ts";
import { decodeText } from "../text/detect.ts";
import { encodeEdited, lackingIn } from "../workspace/encoding.ts";
import { passagesOf } from "../text/undo.ts";

/** One edit of a call. */
export interface WantedEdit {
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
export interface FileEdits {
  readonly path: WorkspacePath;
  readonly edits: readonly WantedEdit[];
}

/** A file with its edits made. */
export interface PlannedFile extends FileEdits {
  readonly before: Uint8Array;
  readonly beforeText: string;
  readonly beforeSha256: string;
  readonly after: Uint8Array;
  readonly afterText: string;
  /** `null` until it is written. */
  readonly afterSha256: string | null;
  readonly replacements: number;
  /** See `WrittenFile`. */
  readonly otherNames?: number | undefined;
}

/** Why one of a file's edits cannot be made. */
interface EditProblem {
  readonly edit: WantedEdit;
  readonly code: string;
  readonly words: string;
}

/** Why a file cannot be edited so: its access, or its edits, each that cannot be made. */
export type PlanProblem = WorkspaceRefusal | { readonly edits: readonly EditProblem[] };

/** How large a file may be; `takesLarge`: also larger than one read. */
interface EditBounds {
  readonly maxBytes: number;
  readonly takesLarge: boolean;
}

/** Reads the file and makes the edits in memory, each in the text that the one before it left. */
export async function planFile(
  workspace: Workspace,
  { path, edits }: FileEdits,
  { maxBytes, takesLarge }: EditBounds,
): Promise<Result<PlannedFile, PlanProblem>> {
  let read = await workspace.read(path);
  if (!read.ok && read.error.reason === "too_large" && takesLarge) {
    read = await readWholeFile(workspace, path, maxBytes);
  }
  if (!read.ok) return read;
  const { sizeBytes } = read.value;
  if (sizeBytes > maxBytes) return failure({ reason: "too_large", sizeBytes, limitBytes: maxBytes });
  const { bytes, sha256 } = read.value;
  const [first] = edits;
  if (sha256 === null || first === undefined) return failure({ reason: "conflict" });
  const decoded = await decodeText(bytes);
  if (decoded === null) {
    const words = `its content is no text in a known encoding (${showName(path.text)})`;
    return failure({ edits: [{ edit: first, code: "not_text", words }] });
  }
  const { maxWriteBytes } = workspace.limits;
  const isLarge = sizeBytes > maxWriteBytes; // such a file was not written in one call
  const maxResultBytes = isLarge ? Math.min(maxBytes, sizeBytes + maxWriteBytes) : maxWriteBytes;
  let { text } = decoded;
  let replacements = 0;
  const problems: EditProblem[] = [];
  const versions = edits.flatMap(({ ifVersions }) => ifVersions);
  if (versions.some((version) => !sha256.startsWith(version.toLowerCase()))) return failure({ reason: "conflict" });
  for (const edit of edits) {
    await nextTurn();
    const find = createTextFinder(edit.oldText);
    if (problems.some(({ edit: { newText } }) => find(newText, 0) !== -1)) continue; // it waits for that one
    const edited = replaceText(text, edit, maxResultBytes);
    if (!edited.ok) {
      const wasThere = edited.error.reason === "not_there" && text !== decoded.text && isThere(decoded.text, edit);
      problems.push({
        edit,
        ...wasThere ? replacedBefore : { code: edited.error.reason, words: wordsOf(edited.error) },
      });
      continue;
    }
    const { expected = edited.value.count } = edit;
    if (expected !== edited.value.count) {
      const words =
        `old_text is there ${edited.value.count} times; with expected_replacements ${edited.value.count} all are replaced`;
      problems.push({ edit, code: "other_count", words });
      continue;
    }
    text = edited.value.text;
    replacements += edited.value.count;
  }
  if (problems.length > 0) return failure({ edits: problems });
  const after = encodeEdited({ ...decoded, bytes }, text);
  if (after === null) {
    const { encoding } = decoded;
    const edit = edits.find(({ newText }) => lackingIn(newText, encoding) !== undefined) ?? first;
    const lacking = showText(lackingIn(edit.newText, encoding) ?? "");
    const words = `the file's encoding (${encoding}) has no "${lacking}", which new_text holds`;
    return failure({ edits: [{ edit, code: "not_encodable", words }] });
  }
  return success({
    path,
    edits,
    before: bytes,
    beforeText: decoded.text,
    beforeSha256: sha256,
    after,
    afterText: text,
    afterSha256: null,
    replacements,
  });
}

const replacedBefore = {
  code: "not_there",
  words: "old_text is no longer in the file after the edits before this one; give what they leave",
};

function isThere(text: string, edit: WantedEdit): boolean {
  const found = replaceText(text, edit, Infinity);
  return found.ok || found.error.reason === "not_unique";
}

/** How a passage that is almost there differs, and what to do. */
const alikeWords: Readonly<Record<Alike["but"], (line: number) => string>> = {
  words: (line) => `but within a longer word it is at line ${line}; leave whole_word out`,
  numbers: (line) => `but without the line numbers it is at line ${line}; leave them out`,
  escapes: (line) =>
    `but with line ends, tabs and quotes in place of \\n, \\t and \\" it is at line ${line}; send the characters, not the escapes`,
  blanks: (line) => `but for blanks it is at line ${line}; copy the passage from there`,
  signs: (line) => `but for case, quotes or dashes it is at line ${line}; copy the passage from there`,
  rest: (line) => `but its first line is line ${line}; copy what follows from there`,
  beginning: (line) => `but line ${line} begins like it; copy the passage from there`,
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

const pieceBytes = 1024 * 1024;
/** Others may write between our reading and writing; the edit is then repeated. */
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
    if (result.ok) {
      const { sha256, otherNames } = result.value;
      return { planned: { ...current, afterSha256: sha256, otherNames } };
    }
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
