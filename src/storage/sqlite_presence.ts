/**
 * Whether the files of an open database are still where they were. SQLite writes on into files that have been deleted or
 * replaced, and all of it is gone at the stop.
 *
 * Two things are harmful here and so not done. To open and close the database again, as `Deno.watchFs` does for each
 * event: that drops SQLite's locks in this process (fcntl(2)). To look at the files by name with Deno: the server's thread
 * may not (app/sandbox/permissions.ts).
 */
import { nodeFs } from "../lib/program.ts";
import { parentOf } from "../lib/system_path.ts";
import { databaseFiles, presencePaths } from "./mod_settings.ts";

/** A handle that refers to a file without opening it: to close it drops no locks (open(2), O_PATH). Linux alone has it. */
const pathOnly = 0o10000000;

/**
 * `look` names what has gone, `null` while everything is in its place: three system calls. `watchPlace` is that of
 * files/kernel/kernel.ts; without it, a file that was moved and replaced by another goes unnoticed.
 */
export function watchPresence(
  databasePath: string,
  watchPlace?: (path: string) => () => boolean,
): { look(): string | null; close(): void } {
  if (watchPlace !== undefined) {
    const files = databaseFiles(Deno.realPathSync(databasePath)).map((path) => ({ path, isSame: watchPlace(path) }));
    return { look: () => files.find(({ isSame }) => !isSame())?.path ?? null, close() {} };
  }
  const paths = presencePaths(databasePath);
  const { closeSync, fstatSync } = nodeFs();
  const handle = openHandle(databasePath);
  return {
    look() {
      const missing = paths.find((path) => !isThere(path));
      if (missing !== undefined) return parentOf(missing);
      return handle !== null && fstatSync(handle).nlink === 0 ? databasePath : null;
    },
    close: () => handle === null ? undefined : closeSync(handle),
  };
}

/** `null` where the system, or this thread's permissions, give none. */
function openHandle(path: string): number | null {
  try {
    return Deno.build.os === "linux" ? nodeFs().openSync(path, pathOnly) : null;
  } catch {
    return null;
  }
}

function isThere(path: string): boolean {
  try {
    Deno.lstatSync(path);
  } catch (error) {
    return !(error instanceof Deno.errors.NotFound);
  }
  return true;
}
