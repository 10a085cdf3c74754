/** What every operation of a disk workspace works with. */
import type { AccessRules } from "../workspace/access_rules.ts";
import type { DiskAccess } from "./directory.ts";
import type { createDirectoryNames, createDirectoryScans } from "./scan.ts";
import type { createDiskQuota, createInnerLinks } from "./tree.ts";
import type { Staging } from "./staging.ts";
import type { DiskChange, DiskTrash } from "./disk_trash.ts";
import type { KeyedMutex } from "../workspace/change.ts";
import type { WorkspaceLimits } from "../workspace/port.ts";

export interface Disk {
  /** The real path of the workspace's directory, without a slash at its end. */
  readonly path: string;
  readonly access: DiskAccess;
  readonly rules: AccessRules;
  readonly limits: WorkspaceLimits;
  readonly innerLinks: ReturnType<typeof createInnerLinks>;
  readonly scans: ReturnType<typeof createDirectoryScans>;
  readonly names: ReturnType<typeof createDirectoryNames>;
  readonly staging: Staging;
  readonly quota: ReturnType<typeof createDiskQuota>;
  /** What keeps what is replaced; `null`: nothing does. */
  readonly trash: DiskTrash | null;
  /** The current change; `null`: each operation is a separate change. */
  readonly change: DiskChange | null;
  /** One writer at a time for each file, by its resolved path. */
  readonly writers: KeyedMutex;
}
