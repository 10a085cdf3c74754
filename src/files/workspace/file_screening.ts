/** Files that another thread looks through ahead of a search: most hold nothing of what is searched for. */
import type { WorkspacePath } from "./path.ts";

/** The files of one search, which it gets in order. */
export interface FileScreening {
  /** Hands the regular file at `path` over; `false` where there is no place for it, or it is to be searched as usual. */
  hand(path: WorkspacePath): boolean;
  /** What is known of the oldest file of which it was not told yet; `look`: only a search can tell. */
  next(): "waiting" | "nothing" | "look";
  /** Has it begin with the last few files. */
  rouse(): void;
  /** Leaves what was not looked through. */
  end(): void;
  /** The same, where the oldest file takes too long: it counts as unreadable until its read ends. */
  abandon(path: WorkspacePath): void;
}

/** Begins with a search; every match has all `screens`, over bytes (../text/screen/byte_screen.ts). `null` while there is no thread. */
export type BeginFileScreening = (screens: readonly RegExp[]) => FileScreening | null;
