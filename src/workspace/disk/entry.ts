/** Single looks at the disk, which judge nothing. */
import { errorCode } from "./refusal.ts";

/** The workspace's directory as it was when it was opened. */
export interface DiskRoot {
  /** Its real path, without a slash at its end. */
  readonly path: string;
  readonly device: number;
  readonly inode: number | null;
}

/** The names joined below the root. */
export function absolutePath(root: DiskRoot, segments: readonly string[]): string {
  return segments.length === 0 ? root.path : `${root.path}/${segments.join("/")}`;
}

/** The real path, with slashes on Windows too. */
export function realPathOf(path: string): string {
  return withSlashes(Deno.realPathSync(path));
}

/** Whether `info` describes the entry with this device and inode. */
export function isSame(info: Deno.FileInfo, device: number, inode: number | null): boolean {
  return info.dev === device && info.ino === inode;
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

/** Makes a directory, unless another process was first. What is there then is the caller's to judge. */
export function makeDirectory(path: string, mode = 0o777): void {
  try {
    Deno.mkdirSync(path, { mode });
  } catch (error) {
    if (!(error instanceof Deno.errors.AlreadyExists)) throw error;
  }
}

/** On Windows a backslash separates names too: one left in a link's target could hide a `..`. */
export function withSlashes(path: string): string {
  return Deno.build.os === "windows" ? path.replaceAll("\\", "/") : path;
}
