/**
 * Takes entries of the disk workspace out of sight, into the trash or the staging directory. What was taken is looked at
 * there, so that a version that another process has put in its place meanwhile is found, and put back.
 */
import { failure, success } from "../../lib/result.ts";
import { numberedName } from "../workspace/numbered_name.ts";
import { stagingDirectoryName } from "../workspace/path.ts";
import type { Outcome } from "../workspace/port.ts";
import type { Disk } from "./context.ts";
import { type DiskDirectory, type DiskInfo, identityOf, isSame } from "./directory.ts";
import { findInside, type Found } from "./resolve.ts";
import { keptOf, makeStep } from "./keep.ts";
import { itemName, trashDirectoryName } from "./trash_directory.ts";

/** How many names are tried for a version whose own name is taken again. */
const maxNamesTried = 100;
const changedMeanwhile = failure({ reason: "denied", because: "changed_while_opening" } as const);

/** What was taken out of sight. */
export interface Taken {
  /** Where it lies now. */
  readonly at: readonly string[];
  status(): DiskInfo | null;
  placeNew(to: DiskDirectory, newName: string): boolean;
  /** Where it cannot be put back: moves it to where no start removes it. */
  keep(): void;
  /** It is still there, or there again, under some name. */
  withdraw?(): void;
  /** Deletes it, where it is not kept: a file at once. */
  discard?(): void;
  finish?(): Promise<void>;
}

/** Takes what was found out of sight; puts back what had taken its place. */
export function takeOut(disk: Disk, found: Found, size: TreeSize): Outcome<Taken> {
  const isKept = disk.change !== null && disk.trash !== null && size.sizeBytes <= disk.trash.maxBytes;
  const taken = isKept ? takeIntoTrash(disk, found, size) : takeIntoStaging(disk, found);
  if (!taken.ok) return taken;
  const info = taken.value.status();
  if (info !== null && identityOf(info) === identityOf(found.info)) return taken;
  putBack(disk, taken.value, found);
  return changedMeanwhile;
}

function takeIntoStaging({ staging, change }: Disk, { directory, name, info, segments }: Found): Outcome<Taken> {
  const number = change?.next() ?? 0;
  change?.note(number, { op: "remove", path: segments.join("/"), kind: keptOf(info).kind, kept: null });
  const taken = staging.takeIn(directory, name, info);
  if (!taken.ok) {
    change?.withdraw(number);
    return taken;
  }
  return success({
    withdraw: () => change?.withdraw(number),
    at: [stagingDirectoryName, taken.value],
    status: () => staging.statusOf(taken.value),
    placeNew: (to, newName) => staging.placeNew(taken.value, to, newName),
    keep: () => staging.keep(taken.value),
    discard: () => staging.discard(taken.value),
    finish: () => staging.discardTree(taken.value),
  });
}

function takeIntoTrash({ staging, change, trash }: Disk, found: Found, size: TreeSize): Outcome<Taken> {
  if (change === null || trash === null) throw new TypeError("a change that keeps nothing");
  const number = change.next();
  const item = itemName(change.id, number);
  const kept = { ...keptOf(found.info), ...size };
  makeStep(change, number, { op: "remove", path: found.segments.join("/"), kind: kept.kind, kept }, () => {
    found.directory.rename(found.name, staging.trash(), item);
    return true;
  });
  trash.add(size.sizeBytes);
  return success({
    at: [stagingDirectoryName, trashDirectoryName, item],
    status: () => staging.trash().statusOf(item),
    placeNew: (to, newName) => staging.trash().renameNew(item, to, newName),
    keep: () => {},
    withdraw: () => change.withdraw(number),
  });
}

/** Puts an entry back under its name, or a free one like it; keeps it where its directory was replaced. */
export function putBack(disk: Disk, taken: Taken, { segments, parent }: Pick<Found, "segments" | "parent">): void {
  const names = segments.slice(0, -1);
  const there = findInside(disk, { text: names.join("/"), segments: names });
  if (there.ok && isSame(there.value.info, parent) && there.value.info.isDirectory) {
    const { directory, name: ownName } = there.value;
    const place = ownName === "." ? directory : directory.enter(ownName);
    for (let number = 1; number <= maxNamesTried && place.isStillInside(); number++) {
      if (taken.placeNew(place, numberedName(segments.at(-1) ?? "", number))) return taken.withdraw?.();
    }
  }
  taken.keep();
}

export interface TreeSize {
  readonly entries: number;
  readonly sizeBytes: number;
}
