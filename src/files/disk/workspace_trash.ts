/** The trash of a disk workspace as its port has it. */
import { failure, success } from "../../lib/result.ts";
import { isChangeId, type KeptItem } from "../workspace/change.ts";
import type { ByteRange, Outcome, Trash } from "../workspace/port.ts";
import type { Disk } from "./context.ts";
import { makeDiskDirectory } from "./make_directory.ts";
import { moveDiskEntry } from "./move.ts";
import { hasHiddenName } from "./open.ts";
import { toRefusal } from "./refusal.ts";
import { removeDiskEntry } from "./remove.ts";
import { cutDiskFile } from "./cut.ts";
import type { DiskTrash } from "./disk_trash.ts";
import { expectationOf, isAsLeft, restoreItem } from "./restore.ts";
import { itemName, recordName, toRecordLine } from "./trash_directory.ts";

/** The operations, of which those that change something are steps of the change that `changing` gives. */
export function createWorkspaceTrash(disk: Disk, trash: DiskTrash, changing: () => Disk): Trash {
  const itemStatus = ({ change, number }: KeptItem) =>
    isChangeId(change) ? disk.access.step(() => disk.staging.trash().statusOf(itemName(change, number))) : null;
  const find: Trash["find"] = (id) => Promise.resolve(isChangeId(id) ? trash.find(id) : null);
  return {
    keepMs: trash.keepMs,
    async *changes() {
      for (const id of trash.ids().toReversed()) {
        const change = await find(id);
        if (change !== null) yield change;
      }
    },
    find,
    holds: (item) => Promise.resolve(itemStatus(item) !== null),
    read: (item, range) => readItem(disk, item, range),
    isAsLeft: (path, left) => isAsLeft(disk, path, left),
    restore: (item, path, expecting) => restoreItem(changing(), item, path, expecting?.left ?? null),
    async takeAway(path, { left }) {
      const expects = await expectationOf(disk, path, left);
      if (!expects.ok) return expects;
      const removed = await removeDiskEntry(changing(), path, { recursive: true, expects: expects.value });
      return removed.ok ? success(null) : removed;
    },
    async moveBack(from, to, { left }) {
      const expects = await expectationOf(disk, from, left);
      if (!expects.ok) return expects;
      return await moveDiskEntry(changing(), from, to, { expects: expects.value, isReturning: true });
    },
    makeAgain: (path) => makeDiskDirectory(changing(), path, true),
    async cutBack(path, sizeBytes, { left }) {
      const cut = await cutDiskFile(changing(), path, sizeBytes, left);
      return cut.ok ? success(null) : cut;
    },
    async noteUndone(id, by) {
      try {
        await disk.staging.alone(() => {
          if (trash.find(id) !== null) disk.staging.trash().appendText(recordName(id), toRecordLine({ undoneBy: by }));
          return success(null);
        });
      } catch (error) {
        toRefusal(error); // it is undone all the same
      }
    },
    tidy: (now) => trash.tidy(now),
  };
}

async function readItem(disk: Disk, { change, number }: KeptItem, range: ByteRange): Promise<Outcome<Uint8Array>> {
  if (!isChangeId(change)) return failure({ reason: "not_found" });
  const name = itemName(change, number);
  try {
    const file = disk.access.step(() => disk.staging.trash().openOwn(name));
    if (file === null) return failure({ reason: "not_found" });
    try {
      if (hasHiddenName(disk, file)) return failure({ reason: "denied", because: "hard_link" });
      const bytes = new Uint8Array(Math.min(range.lengthBytes, disk.limits.maxReadBytes));
      let filled = 0;
      while (filled < bytes.byteLength) {
        const count = await file.readLater(bytes.subarray(filled), range.offsetBytes + filled);
        if (count === 0) break;
        filled += count;
      }
      return success(bytes.subarray(0, filled));
    } finally {
      file.close();
    }
  } catch (error) {
    return failure(toRefusal(error));
  }
}
