/** What Deno says of paths and names, made plain: names that are not UTF-8, what is not there, Windows' backslashes. */
import { firstUnknown } from "../workspace/file_display.ts";
import type { EntryKind } from "../workspace/listing.ts";
import { errorCode } from "./refusal.ts";

/** More of them in one directory look alike: the halves that come first in a pair. */
const maxUnknownNames = 999;

/**
 * Tells names that hold U+FFFD from those of which Deno says it in place of bytes that are not UTF-8: these get a half
 * of a surrogate pair, which reaches nothing, and another one for each.
 */
export function createNameOf(directory: string): (name: string) => string {
  const real = new Set<string>();
  let unknown = 0;
  return (name) => {
    if (!name.includes("\ufffd")) return name;
    if (!real.has(name) && lstatOrNull(`${directory}/${name}`) !== null) {
      real.add(name);
      return name;
    }
    return name.replaceAll("\ufffd", String.fromCharCode(firstUnknown + Math.min(unknown++, maxUnknownNames)));
  };
}

export function listedEntry(
  { name, isFile, isDirectory, isSymlink }: Deno.DirEntry,
  nameOf: (name: string) => string,
): { name: string; kind: EntryKind } {
  return { name: nameOf(name), kind: isSymlink ? "link" : isDirectory ? "directory" : isFile ? "file" : "other" };
}

/** What is at `path`, or `null` when there is nothing. Throws every other error. */
export function lstatOrNull(path: string): Deno.FileInfo | null {
  try {
    return Deno.lstatSync(path);
  } catch (error) {
    if (errorCode(error) === "ENOENT") return null;
    throw error;
  }
}

/** The real path, with slashes on Windows too. */
export function realPathOf(path: string): string {
  return withSlashes(Deno.realPathSync(path));
}

/** On Windows a backslash separates names too: one left in a link's target could hide a `..`. */
export function withSlashes(path: string): string {
  return Deno.build.os === "windows" ? path.replaceAll("\\", "/") : path;
}
