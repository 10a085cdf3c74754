/**
 * The directories of the workspace: those that WORKSPACE_DIR names, as `notes=~/notes,code="/srv/a,b":ro`, and those
 * that `portcullis workspace add` added; and whether a path leads into one.
 */
import type { ConfigProblem } from "./settings.ts";
import { failure, type Result, success } from "../../lib/result.ts";
import { faultWords } from "../../lib/system_fault.ts";
import { pathBelow, rootOf } from "../../lib/system_path.ts";

/** A directory of the workspace, as it is written. */
export interface NamedDirectory {
  /** Its folder at the top of the workspace; empty where it is the whole of it. */
  readonly name: string;
  readonly path: string;
  readonly isReadOnly: boolean;
}

/** One that is in force. */
export interface WorkspaceDirectory extends NamedDirectory {
  /** By `portcullis workspace add`, not by WORKSPACE_DIR. */
  readonly isAdded: boolean;
}

/** Each is open, watched, and looked at by every undo. */
const maxDirectories = 32;

const namePattern = /[\p{L}\p{N}](?:[\p{L}\p{M}\p{N} ._-]{0,62}[\p{L}\p{M}\p{N}_-])?/u.source;

/** `null` for a text that names no directory: it is the path of the only one. */
export function parseNamedDirectories(text: string): Result<readonly NamedDirectory[], string> | null {
  // made when there is a name: V8 takes 7 ms for them
  if (!text.includes("=") || !new RegExp(`^\\s*(?:${namePattern})\\s*=`, "u").test(text)) return null;
  // a comma ends a path where another name follows it
  const entry = new RegExp(
    `\\s*(${namePattern})\\s*=\\s*(?:"((?:[^"]|"")*)"|([^",](?:(?!,\\s*${namePattern}\\s*=)[^])*?))(:ro|:rw)?\\s*(?:,(?=\\s*${namePattern}\\s*=)|$)`,
    "uy",
  );
  const found: NamedDirectory[] = [];
  for (let at = 0; at < text.length; at = entry.lastIndex) {
    entry.lastIndex = at;
    const [, name, quoted, plain = "", suffix] = entry.exec(text) ?? [];
    if (name === undefined) {
      return failure('must be NAME=PATH, or NAME=PATH:ro, with commas between; quote a path with "');
    }
    const path = quoted?.replaceAll('""', '"') ?? plain;
    found.push({ name, path, isReadOnly: suffix === ":ro" });
  }
  const names = new Set(found.map(({ name }) => folded(name)));
  if (names.size < found.length) return failure("has a name twice");
  if (found.length > maxDirectories) return failure(`has more than ${maxDirectories} directories`);
  return success(found);
}

/** The text that {@link parseNamedDirectories} takes, on one line; without a name the path alone. */
export function formatDirectory({ name, path, isReadOnly }: NamedDirectory): string {
  if (name === "") return path;
  const written = /^[^"]*$/.test(path) && !/,|:r[ow]$|\s$/.test(path) ? path : `"${path.replaceAll('"', '""')}"`;
  return `${name}=${written}${isReadOnly ? ":ro" : ""}`;
}

/** A name for a directory that has none, made of the last one of its path. */
export function nameOfPath(path: string): string {
  const last = path.split(/[\\/]/).at(-1) ?? "";
  return new RegExp(`^(?:${namePattern})$`, "u").test(last) ? last : "workspace";
}

function folded(name: string): string {
  return name.normalize("NFKC").toLowerCase();
}

/** Whether the workspace is made of named directories, which can change while the server runs. */
export function hasNames(
  { store, directories }: { readonly store: string; readonly directories: readonly NamedDirectory[] },
): boolean {
  return store === "disk" && directories[0]?.name !== "";
}

/** What no directory may hold, by the names of its settings, and how paths are compared. */
interface Apart {
  readonly paths: Readonly<Record<string, string>>;
  readonly lookAt: LookAt;
}

/** The setting's directories with those that were added: one without a name then needs one. */
export function withAdded(
  own: readonly NamedDirectory[],
  added: readonly NamedDirectory[],
  apart: Apart,
): Result<readonly WorkspaceDirectory[], ConfigProblem> {
  const known: WorkspaceDirectory[] = [];
  for (const [index, each] of [...own, ...added].entries()) {
    const name = each.name === "" && added.length > 0 ? nameOfPath(each.path) : each.name;
    const directory = { ...each, name, isAdded: index >= own.length };
    const hint = name === "" ? null : problemOf(directory, known, apart);
    if (hint !== null) return failure({ field: "WORKSPACE_DIR", value: each.path, hint });
    known.push(directory);
  }
  return success(known);
}

/** Below these lies what the system is made of; agents would read or change it. */
const systemPlaces = [
  ...["/bin", "/boot", "/dev", "/etc", "/lib", "/lib64", "/proc", "/sbin", "/sys", "/usr", "/System", "/Library"],
  ...["C:\\Windows", "C:\\Program Files", "C:\\Program Files (x86)", "C:\\ProgramData"],
];
/** These hold what belongs to several people or services: a directory in one of them may be chosen. */
const sharedPlaces = [
  ...["/", "/home", "/media", "/mnt", "/opt", "/root", "/run", "/srv", "/tmp", "/var", "/Users", "C:\\"],
];

function problemOf({ name, path }: NamedDirectory, others: readonly NamedDirectory[], { paths, lookAt }: Apart) {
  const isIn = (inner: string, outer: string): boolean => leadsInto(inner, outer, lookAt);
  if (others.some((other) => folded(other.name) === folded(name))) return `has the name of another directory, ${name}`;
  const { DATA_DIR: dataDir = "" } = paths;
  if (isIn(path, dataDir)) return `lies in the data directory ${dataDir}: choose a directory of its own`;
  const held = Object.entries(paths).find(([, each]) => isIn(each, path));
  if (held !== undefined) return `holds ${held[1]} (${held[0]}), which agents could read and replace`;
  const system = systemPlaces.find((place) => isIn(path, place) || isIn(place, path));
  if (system !== undefined || sharedPlaces.some((place) => isIn(place, path))) {
    return "belongs to the system: choose a directory of your own files";
  }
  const other = others.find((each) => isIn(path, each.path) || isIn(each.path, path));
  return other ? `overlaps the directory ${other.name} (${other.path}): one must not lie in the other` : null;
}

/** In the data directory: what {@link writeAdded} wrote, one directory a line. */
const addedName = "directories";

/** The directories that `portcullis workspace add` added. */
export function readAdded(dataDir: string): Result<readonly NamedDirectory[], ConfigProblem> {
  const refuse = (hint: string) => failure({ field: "DATA_DIR", value: dataDir, hint });
  let text: string;
  try {
    text = Deno.readTextFileSync(pathBelow(dataDir, addedName)).trim();
  } catch (error) {
    const { NotFound, NotADirectory, NotCapable } = Deno.errors; // a directory that cannot be one is reported later
    const isAbsent = [NotFound, NotADirectory, NotCapable].some((each) => error instanceof each);
    return isAbsent ? success([]) : refuse(`has a list of directories that cannot be read: ${faultWords(error)}`);
  }
  const parsed = text === "" ? success([]) : parseNamedDirectories(text.replaceAll("\n", ","));
  return parsed?.ok
    ? parsed
    : refuse(`has a file "${addedName}" in which a line ${parsed?.error ?? "is no directory"}`);
}

/** Replaces the list, in one step. Makes the data directory before the first start. */
export function writeAdded(dataDir: string, added: readonly NamedDirectory[]): void {
  const path = pathBelow(dataDir, addedName);
  Deno.mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  const text = added.map((each) => `${formatDirectory(each)}\n`).join("");
  Deno.writeTextFileSync(`${path}.new`, text, { mode: 0o600 });
  Deno.renameSync(`${path}.new`, path);
}

/** Looks at a path; `null` when nothing is there, or nothing that may be looked at. */
type LookAt = typeof lookAtPath;

const maxSteps = 1_000; // names and links; systems stop at 40 links

/**
 * Whether `path` is `directory` or leads into it, by whatever way: links, other spellings, mounts. Both are absolute;
 * neither need be there yet. Directories are compared by what they are (device and inode), and every directory that the
 * path leads through counts, since a user who may change one of them decides where the path ends.
 */
export function leadsInto(path: string, directory: string, lookAt: LookAt): boolean {
  const end = stationsOf(directory, lookAt).at(-1);
  if (end === undefined) return false;
  const missing = end.rest.map(foldedPart);
  return stationsOf(path, lookAt).some(({ id, rest }) =>
    id === end.id && missing.every((name, index) => foldedPart(rest[index] ?? "") === name)
  );
}

/**
 * The directories from the root on, each with the names that are still to go from there; the last one holds the first
 * name that is missing, if any is.
 */
function stationsOf(path: string, lookAt: LookAt) {
  let root = rootOf(path);
  let at: readonly string[] = [];
  let rest = namesOf(path, root);
  const pathOf = (names: readonly string[]): string => root + names.join("/");
  const station = () => ({ id: lookAt(pathOf(at))?.id ?? foldedPart(pathOf(at)), rest });
  const stations = [station()];
  for (let step = 0; step < maxSteps; step++) {
    const [name, ...others] = rest;
    if (name === undefined) break;
    if (name === "..") at = at.slice(0, -1);
    else {
      const entry = lookAt(pathOf([...at, name]));
      if (entry === null) break;
      if (entry.target !== null) {
        const targetRoot = rootOf(entry.target);
        if (targetRoot !== "") {
          root = targetRoot;
          at = [];
        }
        rest = [...namesOf(entry.target, targetRoot), ...others];
        stations.push(station());
        continue;
      }
      at = [...at, name];
    }
    rest = others;
    stations.push(station());
  }
  return stations;
}

function namesOf(path: string, root: string): readonly string[] {
  const separator = Deno.build.os === "windows" ? /[\\/]/ : "/";
  return path.slice(root.length).split(separator).filter((name) => name !== "" && name !== ".");
}

/** For names of what is not there yet: whether its file system will tell case apart is not known. */
function foldedPart(name: string): string {
  return name.normalize("NFC").toLowerCase();
}

/** What is at the path, by an id that is the same for every path that leads to it, and where it leads if it is a link. */
export function lookAtPath(path: string) {
  try {
    const { dev, ino, isSymlink } = Deno.lstatSync(path);
    const id = ino === null ? Deno.realPathSync(path).toLowerCase() : `${dev}:${ino}`;
    return { id, target: isSymlink ? Deno.readLinkSync(path) : null };
  } catch {
    return null; // not there, or out of reach: its name has to do
  }
}
