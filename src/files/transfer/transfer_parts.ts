/** What sending and receiving a file by a link share. */
import type { Clock } from "../../lib/clock.ts";
import type { Timers } from "../../lib/timers.ts";
import type { WorkspacePath } from "../workspace/path.ts";
import type { Workspace, WorkspaceRefusal } from "../workspace/port.ts";
import type { TransferLimits } from "./limits.ts";
import type { TransferStore } from "./link_store.ts";

export interface TransferParts {
  readonly links: TransferStore;
  readonly limits: TransferLimits;
  readonly timers: Timers;
  readonly clock: Clock;
  readonly refusalWords: (refusal: WorkspaceRefusal) => string;
}

/** The file that a link is about, in the workspace of its person. */
export interface LinkTarget {
  readonly id: string;
  readonly path: WorkspacePath;
  readonly workspace: Workspace;
}
