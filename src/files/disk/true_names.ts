/** What a path stands for on the disk once its links are followed. */
import { failure, success } from "../../lib/result.ts";
import type { Disk } from "./context.ts";
import { openPlain } from "./open.ts";
import { toRefusal } from "./refusal.ts";
import { resolveInside } from "./resolve.ts";
import type { WorkspacePath } from "../workspace/path.ts";
import type { Outcome } from "../workspace/port.ts";

/** Where a path leads with a link at its end followed, and kept. */
export function trueNamesOf(disk: Disk, path: WorkspacePath): Outcome<readonly string[]> {
  try {
    const plain = openPlain(disk, path, "status");
    plain?.close();
    if (plain?.info.isSymlink === false) return success([path.text]); // no link is on the way
  } catch (error) {
    return failure(toRefusal(error)); // it is gone since
  }
  return disk.access.step(() => {
    const names: string[] = [];
    for (const lastLink of ["follow", "keep"] as const) {
      const resolved = resolveInside(disk, path, lastLink);
      if (!resolved.ok) return resolved;
      const { segments } = resolved.value;
      const name = [...segments, ...resolved.value.found ? [] : resolved.value.missing].join("/");
      if (name === path.text) return success([...names, name]);
      names.push(name);
    }
    return success(names);
  });
}
