/** Has the files of a search looked through by another thread, which gets them opened and judged. */
import type { Disk } from "./context.ts";
import { openInside } from "./open.ts";
import type { FileScreening } from "../screening/file_screening.ts";

/** Larger files are searched piece by piece. */
const maxScreenedBytes = 1_048_576;

export function screenDiskFiles(disk: Disk, screens: readonly RegExp[]): FileScreening | null {
  const screening = disk.access.screen?.(screens) ?? null;
  if (screening === null) return null;
  const maxBytes = Math.min(maxScreenedBytes, disk.limits.maxFileBytes);
  return {
    next: screening.next,
    rouse: screening.rouse,
    end: screening.end,
    hand(path) {
      if (screening.isFull()) return false;
      const opened = openInside(disk, path, maxBytes, true);
      if (opened.ok) screening.hand(opened.value);
      return opened.ok;
    },
  };
}
