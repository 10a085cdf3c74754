/** The staging directory in the workspace's root. */
import { stagingDirectoryName } from "../workspace/path.ts";
import { type DiskAccess, type DiskDirectory, isForeign } from "./directory.ts";

/** The staging directory; `null` where something else has its name, such as a link that would take writes outside. */
export function existingDirectory(access: DiskAccess): DiskDirectory | null {
  const root = access.root();
  const info = root?.statusOf(stagingDirectoryName);
  if (!root || !info?.isDirectory || isForeign(root.status(), info)) return null;
  return root.enter(stagingDirectoryName);
}

/** The same, made when there is none. */
export function ensureDirectory(access: DiskAccess): DiskDirectory | null {
  const existing = existingDirectory(access);
  if (existing !== null) return existing;
  access.root()?.makeDirectory(stagingDirectoryName, 0o700);
  return existingDirectory(access);
}
