/** Has the files of a search looked through by another thread, which gets them opened and judged. */
import { memoryLayout } from "../kernel/screener_memory.ts";
import type { Disk } from "./context.ts";
import { openInside } from "./open.ts";
import type { FileScreening } from "../workspace/file_screening.ts";

export function screenDiskFiles(disk: Disk, screens: readonly RegExp[]): FileScreening | null {
  const screening = disk.access.screen?.(screens) ?? null;
  if (screening === null) return null;
  const maxBytes = Math.min(memoryLayout.maxFileBytes, disk.limits.maxFileBytes); // larger ones: piece by piece
  return {
    next: screening.next,
    rouse: screening.rouse,
    end: screening.end,
    abandon: ({ text }) => disk.hanging.note(text, screening.abandon()),
    hand(path) {
      if (screening.isFull()) return false;
      const opened = openInside(disk, path, maxBytes, true);
      if (opened.ok) screening.hand(opened.value);
      return opened.ok;
    },
  };
}
