/** Several changes of one call: all are made, or none; a refusal names every obstacle, a preview what each would do. */
import type { ToolContext } from "../../mcp/mod.ts";
import { nextTurn } from "../../lib/turns.ts";
import { failure, type Result, success } from "../../lib/result.ts";
import { childPath, parseDirectoryPath, rootPath, showName, type WorkspacePath } from "../workspace/path.ts";
import type { FileContent, Outcome, Workspace, WorkspaceSource, WriteOptions, WrittenFile } from "../workspace/port.ts";
import { decodeText } from "../text/encoding.ts";
import { readWholeFile } from "../text/edit.ts";
import { undoChange } from "../text/undo.ts";
import { count, toVersion } from "./input.ts";
import { beginLook, inStoredForm, type Look, suggestNear } from "./near_names.ts";
import { type Failure, refuse, toFailure } from "./refusal.ts";
import { isPackedDocument } from "../documents/view.ts";

/** Paths of one call. */
export const maxPaths = 100;
/** Obstacles of one call up to which near names are looked for. */
export const maxNamed = 5;
/** Obstacles that one refusal names. */
const maxNamedObstacles = 20;

/** The refusal of a batch: its obstacles, and the names of what could not be put back as it was. */
export function batchFailure(obstacles: readonly Failure[], stay: readonly string[] = []): Failure {
  const [first, ...others] = obstacles;
  if (first === undefined) throw new TypeError("a batch that fails has an obstacle");
  const shown = others.slice(0, maxNamedObstacles - 1).map(({ message }) => `\n${message}`).join("");
  const rest = others.length < maxNamedObstacles ? "" : `\n(and ${others.length - maxNamedObstacles + 1} more)`;
  const saysWhat = obstacles.some(({ code }) => code.endsWith("_incomplete")); // it has left
  const state = stay.length === 0
    ? `nothing ${saysWhat ? "else " : ""}was changed`
    : `these stay changed, since they could not be put back: ${stay.join(", ")}`;
  return { ...first, message: `${first.message}${shown}${rest}${others.length === 0 ? "; " : "\n"}${state}` };
}

/** The refusal of one of several paths, which names it. */
export function ofPath(text: string, failure: Failure): Failure {
  if (text === "") return failure;
  return { ...failure, message: `${failure.message} (${showName(text.slice(0, maxShownPath))})` };
}

const maxShownPath = 200;

/** A workspace, and the change that is made through it. */
export interface Changing {
  readonly workspace: Workspace;
  /** `null` until something was changed, and where changes are not kept. */
  readonly change: string | null;
  /** Undoes what was changed so far; `false` where that cannot be, or not to its end. */
  takeBack(): Promise<boolean>;
}

/**
 * The workspace for a call that changes files: all that the call does through it is one change, which `file_undo` takes
 * back and the call's audit line names. Tools of any part that write call this first:
 *
 * ```ts
 * const { workspace } = beginChange(source, context, "servicenow_fetch_attachment");
 * const written = await workspace.receive(path, pieces);
 * ```
 */
export function beginChange(
  source: WorkspaceSource,
  context: Pick<ToolContext, "principal" | "noteChange">,
  tool: string,
): Changing {
  const { principal } = context;
  const { subject, clientId, grantId } = principal;
  let change: string | null = null;
  const workspace = source(principal).begin({ subject, clientId, grantId, tool }, (id) => {
    change = id;
    context.noteChange(id);
  });
  return {
    workspace,
    get change() {
      return change;
    },
    async takeBack() {
      const made = change === null ? null : await workspace.trash?.find(change);
      const undoing = beginChange(source, { principal, noteChange: () => {} }, "file_undo");
      const { workspace: { trash } } = undoing;
      if (!made || trash === null) return false;
      if (made.undoneBy !== null) return true;
      if (!(await undoChange({ ...undoing.workspace, trash }, made)).ok) return false;
      await trash.noteUndone(made.id, undoing.change ?? "");
      return true;
    },
  };
}

/**
 * Makes every change, so that a refusal names each that cannot be made; with `endsAtFirst` none after one that cannot.
 * Those that were made are undone then.
 */
export async function allOrNone<Item extends { readonly path: WorkspacePath }, Made>(
  { takeBack, workspace }: Changing,
  items: readonly Item[],
  { make, isOne, sha256Of, endsAtFirst = false }: {
    make(item: Item): Promise<Result<Made, readonly Failure[]>>;
    /** The refusal is then that of the one change. */
    readonly isOne: boolean;
    /** Of what writes files: of the new content. */
    sha256Of?(made: Made): string | null;
    readonly endsAtFirst?: boolean;
  },
): Promise<Result<readonly Made[], Failure>> {
  const made: Made[] = [];
  const written: WrittenOver[] = [];
  const obstacles: Failure[] = [];
  let heldBytes = 0;
  for (const item of items) {
    const { path } = item;
    const isHeld = sha256Of !== undefined && workspace.trash === null && !isOne;
    const before = isHeld ? await readWholeFile(workspace, path, maxHeldBytes - heldBytes) : null;
    if (before?.ok) heldBytes += before.value.sizeBytes;
    const missing = before?.ok === false ? await missingAbove(workspace, path) : [];
    const outcome = await make(item);
    if (!outcome.ok) {
      obstacles.push(...outcome.error);
      if (endsAtFirst) break;
      continue;
    }
    made.push(outcome.value);
    written.unshift({ path, before, missing, sha256: sha256Of?.(outcome.value) ?? "" });
  }
  const [first] = obstacles;
  if (first === undefined) return success(made);
  if (isOne) return failure(first);
  if (written.length === 0 || await takeBack()) return failure(batchFailure(obstacles));
  const stay = new Set<string>();
  for (const each of written) if (!await putBack(workspace, each)) stay.add(showName(each.path.text));
  return failure(batchFailure(obstacles, [...stay].reverse()));
}

/** What a call holds of its files, to put them back where nothing else keeps them. */
const maxHeldBytes = 16 * 1024 * 1024;

/** What was at a path, where it was held, and what is there now. */
interface WrittenOver {
  readonly path: WorkspacePath;
  readonly before: Outcome<FileContent> | null;
  readonly missing: readonly WorkspacePath[];
  readonly sha256: string;
}

/** Whether the file is as it was; one that another program changed meanwhile stays. */
async function putBack(workspace: Workspace, { path, before, missing, sha256 }: WrittenOver): Promise<boolean> {
  if (before?.ok) return (await putBytes(workspace, path, before.value.bytes, { ifMatch: sha256 })).ok;
  if (before?.error.reason !== "not_found") return false;
  const there = await workspace.read(path);
  if (!there.ok || there.value.sha256 !== sha256 || !(await workspace.remove(path)).ok) return false;
  for (const directory of missing) await workspace.remove(directory); // where nothing else is in it
  return true;
}

/** The directories above the path that are not there, the deepest first. */
export async function missingAbove(
  workspace: Workspace,
  { segments }: WorkspacePath,
): Promise<readonly WorkspacePath[]> {
  const missing: WorkspacePath[] = [];
  for (let depth = segments.length - 1; depth > 0; depth--) {
    const above = childPath(rootPath, segments.slice(0, depth));
    if ((await workspace.stat(above)).ok) break;
    missing.push(above);
  }
  return missing;
}

/** Where a path leads, with a link at its end followed or kept; `null` where that is outside, or cannot be known. */
export function endOf(workspace: Workspace, path: WorkspacePath, link: "followed" | "kept"): string | null {
  const names = workspace.trueNames(path);
  return names.ok ? names.value.at(link === "kept" ? -1 : 0) ?? null : null;
}

/** The refusal of a version beside several paths. */
export function onlyOneVersion(action: string): Failure {
  return refuse(action, "a version is that of one file; leave it out, or take one path a call");
}

/** The refusal of an empty version, which names the file's; `null` where none is empty. */
export async function refuseEmptyVersion(
  workspace: Workspace,
  action: string,
  given: readonly { readonly path: string | undefined; readonly version: string | undefined }[],
): Promise<Failure | null> {
  const empty = given.find(({ version }) => version === "");
  if (empty === undefined) return null;
  const parsed = parseDirectoryPath(empty.path ?? "");
  const read = parsed.ok ? await workspace.read(await inStoredForm(workspace, parsed.value)) : null;
  const version = read?.ok && read.value.sha256 !== null ? toVersion(read.value.sha256) : null;
  const remedy = version === null ? "leave it out" : `that of ${showName(empty.path ?? "")} is ${version}`;
  return refuse(action, `if_version is empty; ${remedy}`);
}

/** How the refusal of a version helps. */
interface VersionHelp {
  /** With it, near names are looked for where nothing is there. */
  readonly look?: Look | null;
  /** What to do where nothing is there and no name is near. */
  readonly whenNew?: string;
}

/** Why the version that the caller gave, if any, is not the file's: a version is that of one file. */
export async function versionFault(
  workspace: Workspace,
  action: string,
  path: WorkspacePath,
  version: string | undefined,
  help: VersionHelp = {},
): Promise<Failure | null> {
  if (version === undefined) return null;
  const read = await workspace.read(path);
  if (read.ok && read.value.sha256?.startsWith(version.toLowerCase())) return null;
  return await otherVersion(workspace, action, path, read, help);
}

/** The condition of a write for the version that the caller gave, if any. */
export async function conditionOf(
  workspace: Workspace,
  action: string,
  path: WorkspacePath,
  version: string | undefined,
  help: VersionHelp = {},
): Promise<Result<{ readonly ifMatch?: string }, Failure>> {
  if (version === undefined) return success({});
  if (version.length === 64) { // the write compares it
    const there = await workspace.stat(path);
    return there.ok ? success({ ifMatch: version }) : failure(await otherVersion(workspace, action, path, there, help));
  }
  const read = await workspace.read(path);
  const sha256 = read.ok ? read.value.sha256 : null;
  return sha256?.startsWith(version.toLowerCase())
    ? success({ ifMatch: sha256 })
    : failure(await otherVersion(workspace, action, path, read, help));
}

async function otherVersion(
  workspace: Workspace,
  action: string,
  path: WorkspacePath,
  read: Outcome<unknown>,
  { look = beginLook(), whenNew }: VersionHelp,
): Promise<Failure> {
  const failed = toFailure(action, path, read.ok ? { reason: "conflict" } : read.error);
  const near = look === null ? failed : await suggestNear(workspace, path, failed, { look });
  const remedy = failed.code === "is_directory"
    ? "a version is that of a file"
    : failed.code === "not_found" && near.message === failed.message
    ? whenNew
    : undefined;
  return remedy === undefined ? near : { ...near, message: `${near.message}; ${remedy}` };
}

const pieceBytes = 1024 * 1024;

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

/** What a preview tells the person who decides about a call: one effect, or several below a line that counts them. */
export async function effectsOf<Each>(
  all: readonly Each[],
  verb: string,
  effectOf: (each: Each, look: Look) => Promise<string | null>,
): Promise<string> {
  const effects: string[] = [];
  const look = beginLook();
  for (const each of all) {
    await nextTurn();
    const effect = await effectOf(each, look);
    if (effect !== null) effects.push(effect);
  }
  return [...effects.length > 1 ? [`${verb} ${effects.length} paths:`] : [], ...effects].join("\n");
}

/** The file as a preview has it. Its version is named, so that an approval is for this content, however long the difference. */
export async function presentState(
  workspace: Workspace,
  path: WorkspacePath,
): Promise<{ readonly text: string; readonly what: string }> {
  const read = await workspace.read(path);
  if (!read.ok) return { text: "", what: read.error.reason === "not_found" ? "a new file" : "it cannot be read" };
  const { bytes, sha256 } = read.value;
  const text = (await decodeText(bytes))?.text;
  const version = sha256 === null ? "" : `, version ${toVersion(sha256)}`;
  return {
    text: text ?? "",
    what: `${text === undefined ? "not a text, " : ""}${count(bytes.byteLength, "byte")} now${version}`,
  };
}

/** For tools that write text: no text is such a document. `null` for other names. */
export function refuseDocument(action: string, { text }: WorkspacePath): Failure | null {
  if (!isPackedDocument(text)) return null;
  const beside = showName(text.replace(/\.[^.]*$/, ".md"));
  return refuse(
    action,
    `documents of this kind are read, not written: write ${beside}, or upload the whole file by a link (${
      showName(text)
    })`,
    "document",
  );
}
