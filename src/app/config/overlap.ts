/**
 * Whether a path leads into a directory, by whatever way: links, other spellings, mounts. Directories are compared by
 * what they are (device and inode), and every directory that the path leads through counts, since a user who may change
 * one of them decides where the path ends.
 */
import { rootOf } from "../../lib/system_path.ts";

/** Looks at a path; `null` when nothing is there, or nothing that may be looked at. */
export type LookAt = typeof lookAtPath;

const maxSteps = 1_000; // names and links; systems stop at 40 links

/** Whether `path` is `directory` or leads into it. Both are absolute; neither need be there yet. */
export function leadsInto(path: string, directory: string, lookAt: LookAt): boolean {
  const end = stationsOf(directory, lookAt).at(-1);
  if (end === undefined) return false;
  const missing = end.rest.map(fold);
  return stationsOf(path, lookAt).some(({ id, rest }) =>
    id === end.id && missing.every((name, index) => fold(rest[index] ?? "") === name)
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
  const station = () => ({ id: lookAt(pathOf(at))?.id ?? fold(pathOf(at)), rest });
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
function fold(name: string): string {
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
