/** The trash of a disk workspace: records of changes and what they replaced, for a bounded time and size. */
import { createChangeIds, keptBytes, maxChanges, roomShare, timeOfChange } from "../workspace/change.ts";
import type { Change, ChangeAuthor, ChangeStep } from "../workspace/change.ts";
import { type DiskAccess, type DiskDirectory, type DiskInfo, errorCode, identityOf, toRefusal } from "./directory.ts";
import { type Result, success } from "../../lib/result.ts";
import { itemName, placeOf, putBackMoved, readRecord, recordName, type Staging, toRecordLine } from "./staging.ts";
import type { Clock } from "../../lib/time.ts";
import { createKeyedMutex, nextTurn } from "../../lib/turns.ts";
import type { TrashLimits, WorkspaceRefusal } from "../workspace/port.ts";

export type DiskTrash = ReturnType<typeof createDiskTrash>;
/** A change that is being made. All but `next` happens in a turn of the staging directory. */
export type DiskChange = ReturnType<DiskTrash["begin"]>;

export function createDiskTrash(
  { access, staging, clock, randomId, ...limits }: TrashLimits & {
    readonly access: DiskAccess;
    readonly staging: Staging;
    readonly clock: Clock;
    readonly randomId: () => string;
  },
) {
  const { keepMs, maxBytes } = limits;
  const nextId = createChangeIds(clock, randomId);
  /** What each change keeps, of those examined so far. */
  const sizes = new Map<string, number>();
  let used = 0;
  let tidying: Promise<void> | null = null;
  const turns = createKeyedMutex();

  const namesByChange = (): Map<string, string[]> =>
    access.step(() => {
      using listing = staging.trash().list(".");
      const names = Array.from(listing.entries(), ({ name }) => name);
      const byChange = Map.groupBy(names, (name) => name.split(".", 1)[0] ?? "");
      return new Map([...byChange].sort(([a], [b]) => a < b ? -1 : 1));
    });
  const sizeOf = async (id: string): Promise<number> => {
    const known = sizes.get(id);
    if (known !== undefined) return known;
    const found = await staging.alone(() => {
      const change = readRecord(staging.trash(), id);
      if (change !== null) settleChange(access, staging.trash(), change);
      return success(change);
    });
    if (!found.ok) return 0;
    const size = found.value === null ? 0 : keptBytes(found.value.steps);
    sizes.set(id, size);
    return size;
  };
  /** `false` for what cannot be deleted, such as a read-only directory: it holds up no other change. */
  const drop = async (id: string, names: readonly string[]): Promise<boolean> => {
    using trash = access.hold(() => staging.trash());
    const items = names.filter((name) => name !== recordName(id));
    used -= sizes.get(id) ?? 0;
    sizes.delete(id);
    for (const name of [...items, recordName(id)]) { // in this order a kill leaves nothing without its record
      try {
        await trash.value.removeTreeInTurns(name);
      } catch (error) {
        if (errorCode(error) === "ENOENT") continue; // another process dropped it
        toRefusal(error);
        sizes.set(id, 0);
        return false;
      }
    }
    return true;
  };
  const tidyAt = async (now: number): Promise<void> => {
    const names = namesByChange();
    for (const id of sizes.keys()) if (!names.has(id)) sizes.delete(id);
    used = 0;
    for (const [id, those] of names) {
      await nextTurn();
      used += sizes.get(id) ?? 0;
      if (timeOfChange(id) + keepMs <= now) {
        await drop(id, those);
        names.delete(id);
      } else if (!sizes.has(id)) used += await sizeOf(id);
    }
    const isOver = used > maxBytes || names.size > maxChanges;
    let count = names.size;
    for (const [id, those] of names) {
      const fits = used <= maxBytes * (1 - roomShare) && count <= maxChanges * (1 - roomShare);
      if (!isOver || fits) break;
      await drop(id, those);
      count--;
    }
  };
  /** One at a time; a workspace that cannot be written, or is gone, keeps what it has. */
  const inTurn = <T>(task: () => Promise<T>, otherwise: T): Promise<T> =>
    turns.run("", task).catch((error: unknown) => {
      toRefusal(error);
      return otherwise;
    });
  return {
    ...limits,
    /** Begins a change, whose id `onChange` gets before its first step. */
    begin(by: ChangeAuthor | null, onChange?: (id: string) => void, newId = nextId) {
      let id: string | null = null;
      let last = 0;
      let isNoted = false;
      const ownId = (): string => id ??= newId();
      return {
        get id(): string {
          return ownId();
        },
        maxBytes,
        /** Counts what a step keeps. */
        keep: (bytes: number): void => void (used += bytes),
        /** The number of its next step. */
        next: (): number => ++last,
        /** Records a step, before it is made. */
        note(number: number, step: ChangeStep): void {
          const line = toRecordLine({ number, step });
          if (!isNoted) onChange?.(ownId());
          staging.trash().appendText(recordName(ownId()), isNoted ? line : toRecordLine({ at: clock(), by }) + line);
          isNoted = true;
        },
        /** A step that was recorded was not made. */
        withdraw: (number: number): void =>
          staging.trash().appendText(recordName(ownId()), toRecordLine({ withdrawn: number })),
        /** The version of the file that this change has left at a path. */
        leftAt: new Map<string, string>(),
      };
    },
    /** Drops what is too much: once for all changes that find it so at the same time. */
    async keepBound(): Promise<void> {
      if (used <= maxBytes) return;
      await (tidying ??= inTurn(() => tidyAt(-Infinity), undefined).finally(() => tidying = null));
    },
    /** Drops some of the oldest changes before `own`, for which room is short; `false`: there is nothing to drop. */
    makeRoom: (own: { readonly id: string } | null): Promise<boolean> =>
      inTurn(async () => {
        let isRoomMade = false;
        const wanted = used * (1 - roomShare);
        for (const [id, names] of namesByChange()) {
          if ((isRoomMade && used <= wanted) || (own !== null && id >= own.id)) break; // at least one change
          await sizeOf(id);
          await drop(id, names);
          isRoomMade = true; // a record takes some, too
        }
        return isRoomMade;
      }, false),
    /** Drops what at `now` is kept for too long, and what is too much. */
    tidy: (now: number): Promise<void> => inTurn(() => tidyAt(now), undefined),
    /** Ids, the oldest first. */
    ids: (): readonly string[] => [...namesByChange().keys()],
    find: (id: string): Change | null => access.step(() => readRecord(staging.trash(), id)),
    close: (): Promise<void> => turns.run("", () => Promise.resolve()),
  };
}

/** Makes a change again, as long as the disk is full and something can be dropped from the trash. */
export async function withRoom<T, R extends WorkspaceRefusal>(
  { trash, change }: { readonly trash: DiskTrash | null; readonly change: DiskChange | null },
  make: () => Promise<Result<T, R>>,
): Promise<Result<T, R>> {
  for (;;) {
    const made = await make();
    if (!isFull(made) || !await trash?.makeRoom(change)) return made;
  }
}

/** Whether there was no room for it. */
export function isFull(outcome: Result<unknown, WorkspaceRefusal>): boolean {
  return !outcome.ok && outcome.error.reason === "no_space";
}

/** In a turn of the staging directory, so that no step is being made. */
function settleChange(access: DiskAccess, trash: DiskDirectory, { id, steps }: Change): void {
  for (const { number, step } of steps) {
    if (step.op !== "put" && step.op !== "move") continue;
    const name = itemName(id, number);
    const item = trash.statusOf(name);
    if (item === null) continue;
    const isSecond = item.isFile && (item.nlink ?? 1) > 1 && entryAt(access, step.path)?.ino === item.ino;
    const { source } = step.op === "put" ? step : {};
    const waiting = step.op === "move"
      ? entryAt(access, step.from)
      : source && trash.statusOf(itemName(source.change, source.number));
    const isWaiting = waiting && step.left.identity === identityOf(waiting);
    if (isSecond) trash.removeFile(name); // what it is of was not replaced yet
    else if (!isWaiting || !putBackMoved(access, trash, name, step.path)) continue;
    trash.appendText(recordName(id), toRecordLine({ withdrawn: number }));
  }
}

function entryAt(access: DiskAccess, path: string): DiskInfo | null {
  const place = placeOf(access, path);
  return place?.parent.statusOf(place.name) ?? null;
}
