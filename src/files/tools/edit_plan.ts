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

/** Reads the file, of at most `maxBytes`, and makes the edits in memory, each in the text that the one before it left. */
export async function planFile(
  workspace: Workspace,
  { path, edits }: FileEdits,
  maxBytes: number,
): Promise<Result<PlannedFile, PlanProblem>> {
  const read = await readWholeFile(workspace, path, maxBytes);
  if (!read.ok) return read;
  const { bytes, sizeBytes, sha256 } = read.value;
  const [first] = edits;
  if (sha256 === null || first === undefined) return failure({ reason: "conflict" });
  const decoded = await decodeText(bytes);
  const refused = (edit: WantedEdit, code: string, words: string) => failure({ edits: [{ edit, code, words }] });
  if (decoded === null) {
    return refused(first, "not_text", `its content is no text in a known encoding (${showName(path.text)})`);
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
      const { reason: code } = edited.error;
      const wasThere = code === "not_there" && text !== decoded.text && isThere(decoded.text, edit);
      problems.push({ edit, code, words: wasThere ? replacedBefore : wordsOf(edited.error) });
      continue;
    }
    const { count } = edited.value;
    if (count !== (edit.expected ?? count)) {
      const words = `old_text is there ${count} times; with expected_replacements ${count} all are replaced`;
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
  const before = { before: bytes, beforeText: decoded.text, beforeSha256: sha256 };
  return success({ path, edits, ...before, after, afterText: text, afterSha256: null, replacements });
}

const replacedBefore = "old_text is no longer in the file after the edits before this one; give what they leave";

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

/** Writes all files, or says which could not be written, and which of the others could not be put back. */
export async function writeAll(
  workspace: Workspace,
  planned: readonly PlannedFile[],
  /** Of a file that must be read again. */
  maxBytes: number,
) {
  const written: PlannedFile[] = [];
  const failures: { readonly path: WorkspacePath; readonly problem: PlanProblem }[] = [];
  const kept: string[] = [];
  for (const plan of planned) { // all of them, so that the refusal names each that cannot be written
    const outcome = await writePlan(workspace, plan, maxBytes);
    if (outcome.ok) written.push(outcome.value);
    else failures.push({ path: plan.path, problem: outcome.error });
  }
  for (const { path, before, afterSha256 } of failures.length === 0 ? [] : written) {
    const restored = await putBytes(workspace, path, before, afterSha256 === null ? {} : { ifMatch: afterSha256 });
    if (!restored.ok) kept.push(showName(path.text)); // another changed it since
  }
  return { written, failures, kept };
}

/** Writes one file; when another wrote in between, the edits are made in the new text. */
async function writePlan(
  workspace: Workspace,
  plan: PlannedFile,
  maxBytes: number,
): Promise<Result<PlannedFile, PlanProblem>> {
  let current = plan;
  for (let attempt = 1;; attempt++) {
    const passages = workspace.trash === null ? undefined : await passagesOf(current.beforeText, current.afterText);
    const options = { ifMatch: current.beforeSha256, ...passages === undefined ? {} : { passages } };
    const result = await putBytes(workspace, current.path, current.after, options);
    if (result.ok) {
      const { sha256, otherNames } = result.value;
      return success({ ...current, afterSha256: sha256, otherNames });
    }
    if (result.error.reason !== "conflict" || attempt === maxAttempts) return result;
    const again = await planFile(workspace, current, maxBytes);
    if (!again.ok) return again;
    current = again.value;
  }
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
