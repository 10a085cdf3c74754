/**
 * Whether the files of an open database are still where they were. SQLite writes on into files that have been deleted or
 * replaced, and all of it is gone at the stop.
 *
 * Three things are harmful here and so not done. To open and close the database again, as `Deno.watchFs` does for each
 * event: that drops SQLite's locks in this process (fcntl(2)). To look at the files by name with Deno: the server's thread
 * may not (app/sandbox/permissions.ts). To trust a change of the directory alone: others may put files there.
 */
import { nodeFs } from "../lib/program.ts";
import { parentOf } from "../lib/system_path.ts";
import { systemTimers, type Timers } from "../lib/time.ts";
import { databaseFiles, presencePaths } from "./mod_settings.ts";

const lookEveryMs = 250;
/** After so many looks at an unchanged directory, what was in it is there still. Some file systems count whole seconds. */
const settledLooks = 12;
/** A handle that refers to a file without opening it: to close it drops no locks (open(2), O_PATH). Linux alone has it. */
const pathOnly = 0o10000000;

export interface WatchPresenceOptions {
  /** Says whether the file at a path is the one that was there: `WatchPlace` of files/kernel/kernel.ts. */
  readonly watchPlace?: ((path: string) => () => boolean) | undefined;
  readonly timers?: Timers;
}

interface PresenceWatch {
  /** What has gone; `null` while everything is in its place. */
  look(): string | null;
  close(): void;
}

/** Calls `onGone`, once, with what was deleted, moved or replaced; until the returned function is called. */
export function watchPresence(
  databasePath: string,
  onGone: (path: string) => void,
  { watchPlace, timers = systemTimers }: WatchPresenceOptions = {},
): () => void {
  const watch = watchPlace === undefined ? watchByHandles(databasePath) : watchByNames(databasePath, watchPlace);
  let isOver = false;
  const stop = (): void => {
    if (isOver) return;
    isOver = true;
    stopTimer();
    watch.close();
  };
  const stopTimer = timers.every(lookEveryMs, () => {
    const gone = watch.look();
    if (gone === null) return;
    stop();
    onGone(gone);
  });
  return stop;
}

function watchByNames(databasePath: string, watchPlace: (path: string) => () => boolean): PresenceWatch {
  const files = databaseFiles(Deno.realPathSync(databasePath)).map((path) => ({ path, isSame: watchPlace(path) }));
  return { look: () => files.find(({ isSame }) => !isSame())?.path ?? null, close() {} };
}

/** Where the kernel's port is not at hand. */
function watchByHandles(databasePath: string): PresenceWatch {
  const paths = presencePaths(databasePath);
  const { openSync, closeSync } = nodeFs();
  const handles = Deno.build.os === "linux"
    ? { file: openSync(databasePath, pathOnly), directory: openSync(parentOf(databasePath), pathOnly) }
    : null;
  let seen = handles === null ? null : stampsOf(handles);
  let unchangedLooks = 0;
  const isReplaced = (): boolean => {
    if (handles === null || seen === null) return false;
    const before = seen;
    seen = stampsOf(handles);
    unchangedLooks = seen.directory === before.directory ? unchangedLooks + 1 : 0;
    if (seen.names === 0) return true;
    // Its name was changed, not its content or its mode: those leave the directory as it was.
    return seen.changed !== before.changed && seen.written === before.written && seen.directory !== before.directory;
  };
  return {
    look() {
      const replaced = isReplaced();
      // The directory itself may have been moved: then the first name is missing, too.
      const looked = unchangedLooks < settledLooks ? paths : paths.slice(0, 1);
      const missing = looked.find((path) => !isThere(path));
      return missing !== undefined ? parentOf(missing) : replaced ? databasePath : null;
    },
    close: () => Object.values(handles ?? {}).forEach((handle) => closeSync(handle)),
  };
}

interface Stamps {
  readonly names: number;
  readonly changed: number;
  readonly written: number;
  readonly directory: number;
}

function stampsOf({ file, directory }: { readonly file: number; readonly directory: number }): Stamps {
  const { fstatSync } = nodeFs();
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
