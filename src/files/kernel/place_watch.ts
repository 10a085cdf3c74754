/** Notices that a file was deleted, moved or replaced, by its name: whatever Deno lets this isolate look at. */
import { createPathStatus } from "./entry_status.ts";
import { KernelError, type Libc } from "./libc.ts";

/**
 * Returns a function that says whether the file at `path`, no link, is the one that was there. Code that gets it learns
 * of a file only that it has gone from its place.
 */
export type WatchPlace = (path: string) => () => boolean;

export function createPlaceWatch(libc: Libc): WatchPlace {
  return (path) => {
    const statusOf = createPathStatus(libc);
    /** `null`: it cannot be seen now. */
    const look = (): string | null => {
      try {
        const status = statusOf(path);
        return status === null ? "gone" : `${status.dev} ${status.ino}`;
      } catch (error) {
        return error instanceof KernelError && error.code === "ENOTDIR" ? "gone" : null;
      }
    };
    const before = look();
    return () => {
      const now = look();
      return before === null || before === "gone" || now === null || now === before;
    };
  };
}
