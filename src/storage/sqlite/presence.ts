/**
 * Whether the files of an open database are still where they were. SQLite writes on into files that have been deleted or
 * replaced, and all of it is gone at the stop.
 *
 * Three things are harmful here and so not done. To open and close the database again, as `Deno.watchFs` does for each
 * event: that drops SQLite's locks in this process (fcntl(2)). To look at the files by name: the server's thread may not
 * (sandbox/permissions.ts). To trust a change of the directory alone: others may put files there.
 */
import { closeSync, fstatSync, openSync } from "node:fs";
import { dirname } from "node:path";
import { systemTimers, type Timers } from "../../lib/time/timers.ts";
import { presencePaths } from "../data_directory/data_files.ts";

const lookEveryMs = 250;
/** After so many looks at an unchanged directory, what was in it is there still. Some file systems count whole seconds. */
const settledLooks = 12;
/** A handle that refers to a file without opening it: to close it drops no locks (open(2), O_PATH). Linux alone has it. */
const pathOnly = 0o10000000;

/** Calls `onGone`, once, with what was deleted, moved or replaced; until the returned function is called. */
export function watchPresence(
  databasePath: string,
  onGone: (path: string) => void,
  timers: Timers = systemTimers,
): () => void {
  const paths = presencePaths(databasePath);
  const handles = Deno.build.os === "linux"
    ? { file: openSync(databasePath, pathOnly), directory: openSync(dirname(databasePath), pathOnly) }
    : null;
  let seen = handles === null ? null : stampsOf(handles);
  let unchangedLooks = 0;
  let isOver = false;
  const stop = (): void => {
    if (isOver) return;
    isOver = true;
    stopTimer();
    for (const handle of Object.values(handles ?? {})) closeSync(handle);
  };
  const isReplaced = (): boolean => {
    if (handles === null || seen === null) return false;
    const before = seen;
    seen = stampsOf(handles);
    unchangedLooks = seen.directory === before.directory ? unchangedLooks + 1 : 0;
    if (seen.names === 0) return true;
    // Its name was changed, not its content or its mode: those leave the directory as it was.
    return seen.changed !== before.changed && seen.written === before.written && seen.directory !== before.directory;
  };
  const stopTimer = timers.every(lookEveryMs, () => {
    const replaced = isReplaced();
    // The directory itself may have been moved: then the first name is missing, too.
    const looked = unchangedLooks < settledLooks ? paths : paths.slice(0, 1);
    const missing = looked.find((path) => !isThere(path));
    if (missing === undefined && !replaced) return;
    stop();
    onGone(missing === undefined ? databasePath : dirname(missing));
  });
  return stop;
}

interface Stamps {
  readonly names: number;
  readonly changed: number;
  readonly written: number;
  readonly directory: number;
}

function stampsOf({ file, directory }: { readonly file: number; readonly directory: number }): Stamps {
  const { nlink: names, ctimeMs: changed, mtimeMs: written } = fstatSync(file);
  return { names, changed, written, directory: fstatSync(directory).mtimeMs };
}

function isThere(path: string): boolean {
  try {
    Deno.lstatSync(path);
  } catch (error) {
    return !(error instanceof Deno.errors.NotFound);
  }
  return true;
}
