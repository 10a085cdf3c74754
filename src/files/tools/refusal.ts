/** Refusals of the workspace in words: what is wrong and what to do, never a path outside or an error code. */
import type { ToolOutcome } from "../../mcp/mod.ts";
import { parseDirectoryPath, showName } from "../workspace/path.ts";
import type { NewNameRule, PathRule, WorkspacePath } from "../workspace/path.ts";
import type { DenialCause, PairRefusal, WorkspaceRefusal } from "../workspace/port.ts";
import { fileSystemFaultWords } from "../../lib/system_fault.ts";

export type Failure = Extract<ToolOutcome, { readonly ok: false }>;

/** A refusal in words for the model, which say what is wrong and what to do. */
export function refuse(action: string, words: string, code = "invalid_arguments"): Failure {
  return { ok: false, code, message: `Failed to ${action}: ${words}` };
}

/** The failure of a parameter that names a file or directory and breaks a rule of the path grammar. */
export function toPathFailure(parameter: string, rule: PathRule, given = ""): Failure {
  if (rule === "empty") return { ok: false, code: "path_empty", message: `${parameter} parameter is required` };
  const remedy = rule === "leaves_workspace"
    ? relativeRemedy(given)
    : rule === "control_character"
    ? trimmedRemedy(given)
    : "";
  return { ok: false, code: `path_${rule}`, message: `Invalid ${parameter} - ${pathRuleWords[rule]}${remedy}` };
}

const maxRemedyCharacters = 200;

/** What would work in place of an absolute path, or one with backslashes. */
function relativeRemedy(given: string): string {
  if (/^\/+$/.test(given)) return "; the workspace itself is .";
  if (given.length > maxRemedyCharacters) return "";
  const text = withoutDots(given.replace(/^[A-Za-z]:/, "").replaceAll("\\", "/").replaceAll(/^\/+|\/+$/g, ""));
  if (text === null || text === given || text === "" || !parseDirectoryPath(text).ok) return "";
  return /(?:^|\/)\.\.(?:\/|$)/.test(given)
    ? `; write it without ..: ${showName(text)}`
    : `; paths are relative to the workspace: ${showName(text)}`;
}

/** What would work in place of a path with a line end behind it, or of several. */
function trimmedRemedy(given: string): string {
  const text = given.length > maxRemedyCharacters ? "" : given.trim();
  if (text.includes("\n")) return "; give several paths as a list";
  return text === "" || !parseDirectoryPath(text).ok ? "" : `; did you mean ${showName(text)}?`;
}

/** Without `..`, where the path stays below its start; links are not looked at. */
function withoutDots(path: string): string | null {
  const names: string[] = [];
  for (const name of path.split("/")) {
    if (name !== "..") names.push(name);
    else if (names.pop() === undefined) return null;
  }
  return names.join("/");
}

/**
 * A refusal of the workspace as the outcome of a tool: `Failed to read file: it is a directory (notes)`, with the
 * reason as its code. `action` is a verb with its object.
 */
export function toFailure(action: string, path: WorkspacePath, refusal: WorkspaceRefusal): Failure {
  const where = path.text === "" ? "" : ` (${showName(path.text)})`;
  const isByRule = refusal.reason === "denied" && /^(?:denied|protected)_name$/.test(refusal.because);
  const orBelow = isByRule && /^(?:delete|move)$/.test(action) ? ", or one in it" : ""; // which one is not for the caller
  const words = refusalWords(refusal) + orBelow + (remedies[action]?.[refusal.reason] ?? "");
  return refuse(action, `${words}${where}`, codeOf(refusal));
}

const behindFile = "; leave out what follows the file's name";

/** The call that would work, where the reason alone does not say it. */
const remedies: Readonly<Record<string, Partial<Record<WorkspaceRefusal["reason"], string>>>> = {
  "read file": { is_directory: "; file_list lists it", not_a_directory: behindFile },
  "list directory": { not_a_directory: behindFile },
  search: { not_a_directory: behindFile },
  "write file": {
    already_exists: "; leave mode out to replace it, or use file_edit",
    is_directory: "; name a file in it",
    too_large: "; write the rest with mode append",
  },
  "save file": { is_directory: "; name a file in it" },
  "edit file": {
    is_directory: "; name a file in it",
    too_large: "; file_write with mode append adds at its end",
  },
  "create directory": { already_exists: "; choose another name" },
};

/** The failure of an action such as `copy file` from one path to another: it names the one that is in the way, or both. */
export function toPairFailure(
  action: string,
  { from, to }: { readonly from: WorkspacePath; readonly to: WorkspacePath },
  refusal: PairRefusal,
): Failure {
  if (refusal.about === "from") return toFailure(action, from, refusal);
  if (refusal.about === "to" && refusal.reason !== "already_exists") return toFailure(action, to, refusal);
  const taken = refusal.reason === "already_exists" ? "; choose another, or set overwrite if both are files" : "";
  const where = refusal.about === "to" ? shown(to) : `${shown(from)} to ${shown(to)}`;
  return refuse(action, `${refusalWords(refusal)}${taken} (${where})`, codeOf(refusal));
}

function codeOf(refusal: WorkspaceRefusal): string {
  return refusal.reason === "denied" ? `denied_${refusal.because}` : refusal.reason;
}

function shown(path: WorkspacePath): string {
  return path.text === "" ? "." : showName(path.text);
}

const pathRuleWords: Readonly<Record<Exclude<PathRule, "empty">, string>> = {
  leaves_workspace: "path traversal not allowed",
  not_unicode: "it is not valid Unicode (unpaired surrogate)",
  control_character: "control characters and line separators are not allowed",
  name_too_long: "a name in it is longer than 255 bytes",
  path_too_long: "it is longer than 4096 bytes or 512 names",
  trailing_slash: "a file name does not end in a slash",
  reserved: "the directory .portcullis is reserved for the server",
};

/** Why the workspace refused, where the reason alone says it. */
const plainWords = {
  not_found: "no such file or directory",
  is_root: "it is the workspace itself",
  away: "its directory is away, such as a disk that is not mounted; try again later, or ask the server's operator",
  across: "a directory or link cannot be moved into another of the workspace's directories; copy it, then delete it",
  already_exists: "there is something of this name already",
  not_empty: "the directory is not empty; set recursive to delete it with all that is in it",
  into_itself: "a directory cannot be moved into itself",
  is_directory: "it is a directory",
  not_a_directory: "it, or a part of its path, is a file and not a directory",
  not_a_file: "it is a pipe, socket or device and not a regular file",
  no_space: fileSystemFaultWords("ENOSPC"),
  conflict: "the file is not as expected: it was changed, moved or deleted in the meantime; read it again first",
};

/** Why the workspace refused, as the end of a sentence: what is wrong and what to do, without a path or an error code. */
export function refusalWords(refusal: WorkspaceRefusal): string {
  switch (refusal.reason) {
    case "document":
      return refusal.words;
    case "denied":
      return denialWords[refusal.because];
    case "bad_name":
      return newNameWords[refusal.rule];
    case "too_deep":
      return `the path has more than ${refusal.limit} levels`;
    case "too_many_entries":
      return `there are more than ${refusal.limit} entries in it; take its directories one at a time`;
    case "too_large":
      return `it has ${refusal.sizeBytes} bytes and the limit is ${refusal.limitBytes}`;
    case "quota":
      return `the workspace may hold at most ${refusal.limit} bytes`;
    case "io":
      return fileSystemFaultWords(refusal.code);
    default:
      return plainWords[refusal.reason];
  }
}

const denialWords: Readonly<Record<DenialCause, string>> = {
  outside_link: "access denied - a link in the path leads outside the workspace",
  link_loop: "access denied - too many links in the path",
  unreadable_link: "access denied - a link in the path has a target that is not valid Unicode",
  other_file_system: "access denied - it is on another file system than the workspace",
  hard_link: "access denied - another name of it (a hard link) is outside the workspace, or kept by a rule",
  reserved: "access denied - the directory .portcullis is reserved for the server",
  other_name: "access denied - its directory lists it under another name; use that one",
  name_not_unicode:
    "access denied - its name is not UTF-8, and this server's system cannot reach such names; rename it there",
  denied_name: "access denied - the server's settings deny this name",
  protected_name: "access denied - the server's settings protect this name from changes",
  top_level: "access denied - the directories at the top level are the operator's to change; work in one of them",
  permission: "access denied - the server lacks permission for it",
  read_only: "access denied - it is read-only, or something in it is; ask the server's operator",
  changed_while_opening: "access denied - the path was changed during the access; try again",
  workspace_replaced: "access denied - the workspace directory was replaced; restart the server",
};

const newNameWords: Readonly<Record<NewNameRule | "name_too_long", string>> = {
  control_character: "a new name may not hold control characters or line separators",
  backslash: "a new name may not hold a backslash; / separates names",
  not_unicode: "a new name must be UTF-8",
  invisible_character: "a new name may not hold invisible or direction-changing characters",
  colon: "a new name may not hold a colon",
  trailing_dot_or_blank: "a new name may not end in a dot or a blank",
  device_name: "a new name may not be a Windows device name",
  name_too_long: "the name is too long for the file system",
};
