/** Looks at paths on the disk of this machine. */
import type { PathEntry } from "./overlap.ts";

/** What is at the path, by device and inode. */
export function lookAtPath(path: string): PathEntry | null {
  try {
    const { dev, ino, isSymlink } = Deno.lstatSync(path);
    const id = ino === null ? Deno.realPathSync(path).toLowerCase() : `${dev}:${ino}`;
    return { id, target: isSymlink ? Deno.readLinkSync(path) : null };
  } catch {
    return null; // not there, or out of reach: its name has to do
  }
}
