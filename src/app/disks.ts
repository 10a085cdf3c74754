/** How much room the disks of the workspace and of the data have. */
import type { Config } from "./config/config.ts";
import type { KernelAccess } from "../files/kernel/kernel.ts";
import type { FreeSpace } from "../files/kernel/free_space.ts";
import { type Check, checksOf } from "./check.ts";

/** Less deserves a look. */
const leastFreeBytes = 1_000_000_000;

/** One for the workspace and one for the data; one for both on the same file system. */
export function examineDisks(
  { workspace, storage: { database, dataDir } }: Config,
  kernel: KernelAccess | undefined,
): readonly Check[] {
  if (!kernel?.available) return [];
  const places = [
    ...workspace.store === "disk" ? [{ what: "workspace", path: workspace.dir }] : [],
    ...database === undefined ? [{ what: "data", path: dataDir }] : [],
  ];
  const checks = places.flatMap(({ what, path }) => {
    const space = kernel.freeSpace(path);
    return space === null ? [] : [examineSpace(`disk of the ${what}`, space)];
  });
  const [first, second] = checks;
  return first !== undefined && first.text === second?.text ? [{ ...first, name: "disk" }] : checks;
}

function examineSpace(name: string, { free, total }: FreeSpace): Check {
  const text = `${gigabytes(free)} of ${gigabytes(total)} GB free.`;
  return free < leastFreeBytes
    ? checksOf(name).warning(`${text} Writes fail once it is full: free some space.`)
    : checksOf(name).well(text);
}

function gigabytes(bytes: number): string {
  return (bytes / 1e9).toFixed(bytes < 1e10 ? 1 : 0);
}
