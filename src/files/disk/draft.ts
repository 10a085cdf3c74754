/**
 * Contents of the disk workspace that arrive in pieces: they are staged as they come, while others read and write the
 * file, and take its place in one step at the end. A draft waits in between for the requests that bring it.
 */
import { createDigest } from "../../lib/secrets.ts";
import { failure, success } from "../../lib/result.ts";
import { type ArrivingContent, maxArriving, placeContent, type ReceiveOptions } from "../workspace/change.ts";
import type { WorkspacePath } from "../workspace/path.ts";
import type { Draft, DraftOptions, Outcome, WorkspaceRefusal, WrittenFile } from "../workspace/port.ts";
import { commitFile } from "./commit.ts";
import type { Disk } from "./context.ts";
import { type DiskFile, type DiskInfo, toRefusal } from "./directory.ts";
import { matchContent, readPieces } from "./read.ts";
import { draftName, sweepDraftFiles } from "./drafts.ts";
import type { StagedFile } from "./staging.ts";
import { keepMode, keepOwner, lookForTarget, withoutSpecial, withTarget } from "./write.ts";

/** Changes or creates the file at `path` once all of `content` is there. */
export async function receiveDiskFile(
  disk: Disk,
  path: WorkspacePath,
  content: ArrivingContent,
  options: ReceiveOptions = {},
): Promise<Outcome<WrittenFile>> {
  const opened = await openDraft(disk, path, options, () => stageAtOnce(disk));
  if (!opened.ok) return opened;
  const draft = opened.value;
  if (draft === null) throw new Error("A new content is open already");
  return await placeContent(draft, content);
}

/** Opens the draft of a new content; `null` while another has it open. */
export function openDiskDraft(
  disk: Disk,
  path: WorkspacePath,
  { id, isNew, ...options }: DraftOptions,
): Promise<Outcome<Draft | null>> {
  return openDraft(disk, path, options, () => openKept(disk, draftName(id), isNew));
}

/** Removes what no request has come for, and counts the others. */
export function sweepDiskDrafts({ access, limits, quota }: Disk, now: number, opened?: string): void {
  try {
    const sizes = new Map(sweepDraftFiles(access, limits, now));
    if (opened !== undefined) sizes.delete(opened);
    quota.holdIdle(sizes);
  } catch (error) {
    toRefusal(error); // the workspace is gone, or cannot be written
  }
}

/** A staged file and the step of the change that it is for. */
interface NumberedFile extends StagedFile {
  readonly step: number;
}

/** The file of a content on its way. */
interface Kept {
  readonly name: string;
  readonly file: DiskFile;
  readonly sizeBytes: number;
  /** Opens it once more, to be read. */
  reopen(): DiskFile;
  /** Has it put in place; it stays what it is where that is refused. */
  place<T>(commit: (staged: NumberedFile) => Outcome<T>): Outcome<T>;
  /** These two once the file is closed. */
  leave(): void;
  discard(): void;
}

function stageAtOnce(disk: Disk): Outcome<Kept> {
  const { step, name: own } = nextStep(disk);
  const staged = disk.staging.create(own);
  if (!staged.ok) return staged;
  const { name, file } = staged.value;
  const discard = (): void => disk.staging.discard(name);
  const reopen = (): DiskFile => disk.staging.openStaged(name);
  return success({
    name,
    file,
    sizeBytes: 0,
    reopen,
    place: (commit) => commit({ name, file, step }),
    leave: discard,
    discard,
  });
}

function openKept(disk: Disk, name: string, isNew: boolean): Outcome<Kept | null> {
  const { staging } = disk;
  sweepDiskDrafts(disk, disk.clock(), name);
  const opened = staging.openDraft(name, isNew);
  if (!opened.ok || opened.value === null) return opened.ok ? success(null) : opened;
  const draft = opened.value;
  const { file } = draft;
  const leave = (): void => {
    draft.lock.close();
    sweepDiskDrafts(disk, disk.clock());
  };
  const discard = (): void => {
    try {
      staging.discardDraft(draft);
    } catch (error) {
      toRefusal(error); // it is gone, or stays for the sweep
    }
    leave();
  };
  const reopen = (): DiskFile => staging.reopenDraft(draft);
  const place: Kept["place"] = (commit) => {
    const { step, name: own } = nextStep(disk);
    return staging.placeDraft(draft, own, (staged) => commit({ ...staged, step }));
  };
  return success({ name, file, sizeBytes: file.info.size, reopen, place, leave, discard });
}

/** The next step of the change. A sweep after a crash finds by the name what the staged file has replaced. */
function nextStep({ change }: Disk): { readonly step: number; readonly name: string | undefined } {
  const step = change?.next() ?? 0;
  return { step, name: change === null ? undefined : `${change.id}-${step}` };
}

async function openDraft(
  disk: Disk,
  path: WorkspacePath,
  { mode, ifMatch }: ReceiveOptions,
  open: () => Outcome<Kept | null>,
): Promise<Outcome<Draft | null>> {
  const first = lookForTarget(disk, path); // before a byte is taken
  if (!first.ok) return first;
  if (mode === "create" && first.value.info !== null) return failure({ reason: "already_exists" });
  const matched = ifMatch === undefined ? null : await matchContent(disk, path, ifMatch);
  if (matched !== null && !matched.ok) return matched;
  await disk.quota.measure();
  const kept = open();
  if (!kept.ok || kept.value === null) return kept.ok ? success(null) : kept;
  const version = matched?.value ?? (mode === "create" ? null : undefined);
  return success(createDraft(disk, path, kept.value, { version, replacedBytes: first.value.info?.size ?? 0 }));
}

/** What the file is to be for the draft to take its place. */
interface Expected {
  readonly version: string | null | undefined;
  readonly replacedBytes: number;
}

function createDraft(disk: Disk, path: WorkspacePath, kept: Kept, { version, replacedBytes }: Expected): Draft {
  const { quota, staging, limits } = disk;
  const limitBytes = maxArriving(limits);
  const digest = kept.sizeBytes === 0 ? createDigest() : null;
  let sizeBytes = kept.sizeBytes;
  let isOpen = true;
  let isOver = false;
  const closeFile = (): void => {
    if (isOpen) kept.file.close();
    isOpen = false;
    quota.hold(kept.name, 0);
  };
  const end = (leave: () => void): void => {
    closeFile();
    if (!isOver) leave();
    isOver = true;
  };
  const refused = async (error: unknown): Promise<{ readonly ok: false; readonly error: WorkspaceRefusal }> => {
    const refusal = toRefusal(error);
    if (refusal.reason === "no_space") await disk.trash?.makeRoom(disk.change); // for the next attempt
    return failure(refusal);
  };
  return {
    get sizeBytes() {
      return sizeBytes;
    },
    async append(piece) {
      const bytes = sizeBytes + piece.byteLength;
      if (bytes > limitBytes) return failure({ reason: "too_large", sizeBytes: bytes, limitBytes });
      const room = quota.hold(kept.name, Math.max(0, bytes - replacedBytes));
      if (!room.ok) return room;
      try {
        await kept.file.write(piece);
      } catch (error) {
        return await refused(error);
      }
      digest?.update(piece);
      sizeBytes = bytes;
      return success(null);
    },
    async save() {
      try {
        await kept.file.flush();
        return success(null);
      } catch (error) {
        return await refused(error);
      }
    },
    async place() {
      try {
        const sha256 = digest?.digest("hex") ?? await digestOf(kept.reopen());
        return await withTarget(disk, path, async ({ segments, info }) => {
          await finish(kept.file, info);
          closeFile();
          const committed = await staging.alone(() =>
            kept.place(({ step, ...staged }) => {
              const content = { sizeBytes, sha256, step, isExtended: false };
              return commitFile(disk, path, staged, content, { segments, version });
            })
          );
          if (!committed.ok) return committed;
          end(kept.leave);
          return success({ sizeBytes, sha256, created: committed.value.created });
        });
      } catch (error) {
        return await refused(error);
      }
    },
    async close() {
      try {
        if (isOpen) await kept.file.flush(); // the next request is told that it is there
      } catch (error) {
        toRefusal(error);
      }
      end(kept.leave);
    },
    discard: () => Promise.resolve(end(kept.discard)),
  };
}

async function finish(file: DiskFile, info: DiskInfo | null): Promise<void> {
  const isOwned = info !== null && keepOwner(file, info);
  keepMode(file, isOwned ? info.mode : withoutSpecial(info?.mode ?? null));
  await file.flush();
}

async function digestOf(file: DiskFile): Promise<string> {
  const digest = createDigest();
  try {
    for await (const piece of readPieces(file)) digest.update(piece);
    return digest.digest("hex");
  } finally {
    file.close();
  }
}
