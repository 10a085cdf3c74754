/** What every operation of a disk workspace works with. */
import type { Clock } from "../../lib/time.ts";
import type { AccessRules } from "../workspace/name_folding.ts";
import type { DiskAccess } from "./directory.ts";
import type { InnerLinks } from "./inner_links.ts";
import type { DirectoryNames, DirectoryScans } from "./scan.ts";
import type { DiskQuota } from "./quota.ts";
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
  readonly clock: Clock;
  readonly innerLinks: InnerLinks;
  readonly scans: DirectoryScans;
  readonly names: DirectoryNames;
  readonly staging: Staging;
  readonly quota: DiskQuota;
  /** What keeps what is replaced; `null`: nothing does. */
  readonly trash: DiskTrash | null;
  /** The change that is being made; `null`: each operation is one of its own. */
  readonly change: DiskChange | null;
  /** One writer at a time for each file, by its resolved path. */
  readonly writers: KeyedMutex;
}
