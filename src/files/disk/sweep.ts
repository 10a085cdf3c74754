/** Cleans up in the staging directory after processes that are gone. */
import { type DiskAccess, type DiskDirectory, type DiskLock, identityOf } from "./directory.ts";
import { restoreDraft } from "./drafts.ts";
import { existingDirectory } from "./staging_directory.ts";
import { saveOldVersion } from "./trash_directory.ts";

/** An unfinished write, or a lock: its owner, and an id. */
const stagedName = /^([0-9A-Za-z-]+)\.([0-9A-Za-z-]+)$/;
/** An entry to be deleted: its owner, an id, and the identity of what the deletion is about. */
const takenName = /^([0-9A-Za-z-]+)\.[0-9A-Za-z-]+\.([0-9-]+)$/;
/** A draft on its way to its place: its owner, an id, and the draft's name. */
const stagedDraftName = /^([0-9A-Za-z-]+)\.[0-9A-Za-z-]+\.([0-9a-f]{64})$/;
const keptDirectoryName = "kept";

/** Removes what processes that are gone have left in the staging directory; files of living processes stay. */
export function sweepStaging(access: DiskAccess): void {
  access.step(() => {
    const directory = existingDirectory(access);
    if (directory === null) return;
    const filesOf = new Map<string, string[]>();
    using listing = directory.list(".");
    for (const { name } of listing.entries()) {
      const owner = (stagedName.exec(name) ?? stagedDraftName.exec(name) ?? takenName.exec(name))?.[1];
      if (owner !== undefined) filesOf.set(owner, [...filesOf.get(owner) ?? [], name]);
    }
    for (const [owner, names] of filesOf) {
      const lock = tryTakeLock(directory, `${owner}.lock`);
      if (lock === "held") continue;
      try {
        for (const name of names) removeLeftover(directory, name);
      } finally {
        lock?.close();
      }
    }
  });
}

function removeLeftover(directory: DiskDirectory, name: string): void {
  if (saveOldVersion(directory, name)) return;
  const draft = stagedDraftName.exec(name)?.[2];
  if (draft !== undefined) return restoreDraft(directory, name, draft);
  const identity = takenName.exec(name)?.[2];
  const info = identity === undefined ? null : directory.statusOf(name);
  if (info !== null && identityOf(info) !== identity) keep(directory, name, name);
  else directory.removeTree(name);
}

/** Moves an entry to where no start removes it. */
export function keep(directory: DiskDirectory, name: string, newName: string): void {
  directory.makeDirectory(keptDirectoryName, 0o700);
  directory.rename(name, directory.enter(keptDirectoryName), newName);
}

/** The lock of a dead owner; `null` when it has none, which means that it ended before it wrote or after it closed. */
function tryTakeLock(directory: DiskDirectory, name: string): DiskLock | "held" | null {
  const file = directory.openLock(name, false);
  if (file === null) return null;
  let isOurs = false;
  try {
    isOurs = file.tryLock();
    return isOurs ? file : "held";
  } finally {
    if (!isOurs) file.close();
  }
}
