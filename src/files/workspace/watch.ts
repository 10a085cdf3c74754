/** The port for notices of changes: what watches a workspace tells which paths changed, some time after they did. */
import type { WorkspacePath } from "./path.ts";

/** Changes within a short time, by any process. */
export interface WorkspaceChange {
  /** Entries that appeared, changed or disappeared, each once; a directory that disappeared stands for all in it. */
  readonly paths: readonly WorkspacePath[];
  /** Whether there may be changes besides: too many at once, or in places that are not watched. */
  readonly isPartial: boolean;
  /** Whether files may have appeared or disappeared. */
  readonly isListChanged: boolean;
}

export interface WorkspaceWatch {
  /** Ends the watch; nothing is told afterwards. */
  close(): Promise<void>;
}

/** Starts to watch a workspace. */
export type WatchWorkspace = (onChange: (change: WorkspaceChange) => void) => WorkspaceWatch;
