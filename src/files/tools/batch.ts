/** Several changes of one call: all of them are made, or none, and a refusal names every obstacle. */
import { type Failure, refuse } from "./refusal.ts";
import { showName } from "../workspace/file_display.ts";
import { childPath, parseDirectoryPath, rootPath, type WorkspacePath } from "../workspace/path.ts";
import type { Outcome, Workspace, WriteOptions, WrittenFile } from "../workspace/port.ts";
import { toVersion } from "./input.ts";
import { inStoredForm } from "./near_names.ts";

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
  const state = stay.length === 0
    ? "nothing was changed"
    : `these stay changed, since they could not be put back: ${stay.join(", ")}`;
  return { ...first, message: `${first.message}${shown}${rest}${others.length === 0 ? "; " : "\n"}${state}` };
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

/** Whether a file still has the version that the caller gave, if any; a version is for one file. */
export async function hasVersion(
  workspace: Workspace,
  path: WorkspacePath,
  version: string | undefined,
): Promise<boolean> {
  return version === undefined || await hashOfVersion(workspace, path, version) !== null;
}

/** The condition of a write for the version that the caller gave, if any; `null` where the file has another. */
export async function conditionOf(
  workspace: Workspace,
  path: WorkspacePath,
  version: string | undefined,
): Promise<{ readonly ifMatch?: string } | null> {
  if (version === undefined) return {};
  const ifMatch = version.length === 64 ? version : await hashOfVersion(workspace, path, version);
  return ifMatch === null ? null : { ifMatch };
}

/** The whole SHA-256 that the version begins; `null` where the file has another, or cannot be read. */
async function hashOfVersion(workspace: Workspace, path: WorkspacePath, version: string): Promise<string | null> {
  const read = await workspace.read(path);
  if (!read.ok || read.value.sha256 === null) return null;
  return read.value.sha256.startsWith(version.toLowerCase()) ? read.value.sha256 : null;
}

/** How many of the path's directories are missing: a write makes them. */
export async function countMissing(workspace: Workspace, { segments }: WorkspacePath): Promise<number> {
  let missing = 0;
  while (missing < segments.length - 1) {
    if ((await workspace.stat(childPath(rootPath, segments.slice(0, -1 - missing)))).ok) break;
    missing++;
  }
  return missing;
}

/** The notice about a file's other names, which keep the old content: a write makes a new file. */
export function otherNamesWords(count = 0): string {
  return count === 0
    ? ""
    : `${count === 1 ? "its other name (hard link) keeps" : `its ${count} other names (hard links) keep`} the old text`;
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
