/** The directories of the workspace: those that WORKSPACE_DIR names, and those that `portcullis workspace add` added. */
import { leadsInto, type LookAt } from "./overlap.ts";
import { formatDirectory, type NamedDirectory, nameOfPath, parseNamedDirectories } from "./named_directories.ts";
import { failure, type Result, success } from "../../lib/result.ts";
import { faultWords } from "../../lib/system_fault.ts";
import { pathBelow } from "../../lib/system_path.ts";

/** In the data directory: what {@link writeAdded} wrote. */
const addedName = "directories";

/** A directory of the workspace; without a name it is the whole of it, and the only one. */
export interface WorkspaceDirectory extends NamedDirectory {
  /** By `portcullis workspace add`, not by WORKSPACE_DIR. */
  readonly isAdded: boolean;
}

/** What WORKSPACE_DIR says, in the order in which it does; `place` gives a path as an absolute one. */
export function directoriesOfSetting(
  text: string,
  place: (path: string) => string,
): Result<readonly WorkspaceDirectory[], string> {
  const named = parseNamedDirectories(text);
  if (named?.ok === false) return named;
  const found = named?.value ?? [{ name: "", path: text, isReadOnly: false }];
  return success(found.map((each) => ({ ...each, path: place(each.path), isAdded: false })));
}

/** What no directory may hold, by the names of its settings, and how paths are compared. */
interface Apart {
  readonly paths: Readonly<Record<string, string>>;
  readonly lookAt: LookAt;
}

/** With those that were added: one without a name then needs one. The failure says what cannot be, of which path. */
export function withAdded(
  own: readonly WorkspaceDirectory[],
  added: readonly NamedDirectory[],
  apart: Apart,
): Result<readonly WorkspaceDirectory[], { readonly path: string; readonly hint: string }> {
  const isNamed = added.length > 0;
  const all = [
    ...own.map((each) => isNamed && each.name === "" ? { ...each, name: nameOfPath(each.path) } : each),
    ...added.map((each) => ({ ...each, isAdded: true })),
  ];
  const known: WorkspaceDirectory[] = [];
  for (const each of all) {
    const hint = each.name === "" ? null : problemOf(each, known, apart);
    if (hint !== null) return failure({ path: each.path, hint });
    known.push(each);
  }
  return success(all);
}

/** Below these lies what the system is made of; agents would read or change it. */
const systemPlaces = [
  ...["/bin", "/boot", "/dev", "/etc", "/lib", "/lib64", "/proc", "/sbin", "/sys", "/usr", "/System", "/Library"],
  ...["C:\\Windows", "C:\\Program Files", "C:\\Program Files (x86)", "C:\\ProgramData"],
];
/** These hold what belongs to several people or services: a directory in one of them may be chosen. */
const sharedPlaces = [
  "/",
  "/home",
  "/media",
  "/mnt",
  "/opt",
  "/root",
  "/run",
  "/srv",
  "/tmp",
  "/Users",
  "/var",
  "C:\\",
];

function problemOf(
  { name, path }: NamedDirectory,
  others: readonly NamedDirectory[],
  { paths, lookAt }: Apart,
): string | null {
  const fold = (text: string): string => text.normalize("NFKC").toLowerCase();
  const isIn = (inner: string, outer: string): boolean => leadsInto(inner, outer, lookAt);
  if (others.some((other) => fold(other.name) === fold(name))) return `has the name of another directory, ${name}`;
  const { DATA_DIR: dataDir = "" } = paths;
  if (isIn(path, dataDir)) return `lies in the data directory ${dataDir}: choose a directory of its own`;
  const held = Object.entries(paths).find(([, each]) => isIn(each, path));
  if (held !== undefined) return `holds ${held[1]} (${held[0]}), which agents could read and replace`;
  const system = systemPlaces.find((place) => isIn(path, place) || isIn(place, path));
  if (system !== undefined || sharedPlaces.some((place) => isIn(place, path))) {
    return "belongs to the system: choose a directory of your own files";
  }
  const other = others.find((each) => isIn(path, each.path) || isIn(each.path, path));
  return other === undefined
    ? null
    : `overlaps the directory ${other.name} (${other.path}): one must not lie in the other`;
}

/** The directories that `portcullis workspace add` added, one a line. */
export function readAdded(dataDir: string): Result<readonly NamedDirectory[], string> {
  let text: string;
  try {
    text = Deno.readTextFileSync(pathBelow(dataDir, addedName)).trim();
  } catch (error) {
    const { NotFound, NotADirectory, NotCapable } = Deno.errors; // a directory that cannot be one is reported later
    const isAbsent = [NotFound, NotADirectory, NotCapable].some((each) => error instanceof each);
    return isAbsent ? success([]) : failure(`has a list of directories that cannot be read: ${faultWords(error)}`);
  }
  const parsed = text === "" ? success([]) : parseNamedDirectories(text.replaceAll("\n", ","));
  return parsed?.ok
    ? parsed
    : failure(`has a file "${addedName}" in which a line ${parsed?.error ?? "is no directory"}`);
}

/** Replaces the list, in one step. Makes the data directory before the first start. */
export function writeAdded(dataDir: string, added: readonly NamedDirectory[]): void {
  const path = pathBelow(dataDir, addedName);
  Deno.mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  const text = added.map((each) => `${formatDirectory(each)}\n`).join("");
  Deno.writeTextFileSync(`${path}.new`, text, { mode: 0o600 });
  Deno.renameSync(`${path}.new`, path);
}
