/** Withdraws the steps of a change that a kill has cut short right after their beginning. */
import type { Change } from "../workspace/change.ts";
import type { DiskAccess, DiskDirectory, DiskInfo } from "./directory.ts";
import { errorCode } from "./refusal.ts";
import { itemName, recordName, toRecordLine } from "./trash_directory.ts";

/** In a turn of the staging directory, so that no step is being made. */
export function settleChange(access: DiskAccess, trash: DiskDirectory, { id, steps }: Change): void {
  for (const { number, step } of steps) {
    if (step.op !== "put" && step.op !== "move") continue;
    const name = itemName(id, number);
    const item = trash.statusOf(name);
    if (item === null) continue;
    if (step.op === "put" && step.source !== undefined && step.node === `${item.ino}`) {
      // what was to be put back was not exchanged yet
      if (!trash.renameNew(name, trash, itemName(step.source.change, step.source.number))) continue;
    } else if (item.isFile && (item.nlink ?? 1) > 1 && entryAt(access, step.path)?.ino === item.ino) {
      trash.removeFile(name); // a second name of what still is in its place
    } else continue;
    trash.appendText(recordName(id), toRecordLine({ withdrawn: number }));
  }
}

function entryAt(access: DiskAccess, path: string): DiskInfo | null {
  const names = path.split("/");
  const last = names.pop();
  try {
    let directory = access.root();
    for (const name of names) directory = directory?.enter(name) ?? null;
    return last === undefined ? null : directory?.statusOf(last) ?? null;
  } catch (error) {
    if (errorCode(error) === undefined) throw error;
    return null; // a directory on the way is gone
  }
}
