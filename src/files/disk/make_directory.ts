/** Makes directories of the disk workspace. */
import { failure, success } from "../../lib/result.ts";
import { makeParents } from "./commit.ts";
import type { Disk } from "./context.ts";
import { toRefusal } from "./refusal.ts";
import { resolveInside } from "./resolve.ts";
import { makeStep } from "./keep.ts";
import { checkNewNames } from "../workspace/new_names.ts";
import type { WorkspacePath } from "../workspace/path.ts";
import type { Outcome } from "../workspace/port.ts";

/** Makes the directory at `path` and its missing parents; `isReturning`: again, whatever new names may not hold. */
export async function makeDiskDirectory(
  disk: Disk,
  path: WorkspacePath,
  isReturning = false,
): Promise<Outcome<{ readonly created: boolean }>> {
  await disk.quota.measure();
  try {
    return disk.change === null
      ? disk.access.step(() => makeNow(disk, path, isReturning))
      : await disk.staging.alone(() => makeNow(disk, path, isReturning));
  } catch (error) {
    return failure(toRefusal(error));
  }
}

function makeNow(disk: Disk, path: WorkspacePath, isReturning: boolean): Outcome<{ readonly created: boolean }> {
  const resolved = resolveInside(disk, path);
  if (!resolved.ok) return resolved;
  if (resolved.value.found) {
    return resolved.value.info.isDirectory ? success({ created: false }) : failure({ reason: "already_exists" });
  }
  const { directory, segments, missing } = resolved.value;
  const checked = checkNewNames(disk.rules, [...segments, ...missing], segments.length, isReturning);
  if (!checked.ok) return checked;
  const room = disk.quota.check(0, missing.length);
  if (!room.ok) return room;
  const number = disk.change?.next() ?? 0;
  const step = { op: "make", path: [...segments, ...missing].join("/"), made: missing.length } as const;
  let made: Outcome<unknown> = success(null);
  makeStep(disk.change, number, step, () => (made = makeParents(directory, missing)).ok);
  if (!made.ok) return made;
  disk.quota.add(0, missing.length);
  return success({ created: true });
}
