/**
 * The directory of the trash, in the staging directory: for each change a record (`ID.json`, a line for each step) and
 * what its steps kept (`ID.NUMBER`). A step is recorded before it is made, so that whatever lies here has its record.
 */
import * as z from "zod";
import { parseJson } from "../../lib/json.ts";
import { authorRecord, type Change, type NumberedStep, stepRecord } from "../workspace/change.ts";
import { stagingDirectoryName } from "../workspace/path.ts";
import { coded, type DiskAccess, type DiskDirectory, toRefusal } from "./directory.ts";

export const trashDirectoryName = "trash";
/** Longer records are read up to here: a step takes some 300 bytes. */
const maxRecordBytes = 16 * 1024 * 1024;
const pieceBytes = 65_536;
/** A staged file of a change: its owner, the change and the number of the step. */
const stagedForChange = /^[0-9A-Za-z-]+\.([0-9a-z]{9,40})-(\d+)$/;

const header = z.lazy(() => z.object({ at: z.number(), by: authorRecord.nullable() }));
const line = z.lazy(() =>
  z.union([header, stepRecord, z.object({ withdrawn: z.int() }), z.object({ undoneBy: z.string() })])
);
type Line = z.infer<typeof line>;

export function recordName(id: string): string {
  return `${id}.json`;
}

export function itemName(id: string, number: number): string {
  return `${id}.${number}`;
}

/** The directory, made when it is missing. Only the server's own user reads it. */
export function enterTrash(staging: DiskDirectory): DiskDirectory {
  const there = staging.statusOf(trashDirectoryName); // where paths are checked, nothing else looks at it
  if (there === null) staging.makeDirectory(trashDirectoryName, 0o700);
  else if (!there.isDirectory) throw coded("ESTALE");
  return staging.enter(trashDirectoryName);
}

/** Whether the system reports one already. */
export function hasTrash(access: DiskAccess): boolean {
  try {
    return access.step(() => {
      const root = access.root();
      if (root?.statusOf(stagingDirectoryName)?.isDirectory !== true) return false;
      return root.enter(stagingDirectoryName).statusOf(trashDirectoryName)?.isDirectory === true;
    });
  } catch (error) {
    toRefusal(error);
    return false;
  }
}

/** The text of a line; it begins with a line end, since a full disk may have cut the line before. */
export function toRecordLine(content: Line): string {
  return `\n${JSON.stringify(content)}\n`;
}

/** The change as its record tells it; `null` when there is none, or none that can be read. */
export function readRecord(trash: DiskDirectory, id: string): Change | null {
  const text = readText(trash, recordName(id));
  if (text === null) return null;
  let first: z.infer<typeof header> | null = null;
  const steps: NumberedStep[] = [];
  const withdrawn = new Set<number>();
  let undoneBy: string | null = null;
  for (const each of text.split("\n")) {
    const parsed = each === "" ? null : line.safeParse(parseJson(each));
    if (!parsed?.success) continue;
    if ("at" in parsed.data) first ??= parsed.data;
    else if ("step" in parsed.data) steps.push(parsed.data);
    else if ("withdrawn" in parsed.data) withdrawn.add(parsed.data.withdrawn);
    else undoneBy = parsed.data.undoneBy;
  }
  if (first === null) return null;
  return { id, at: first.at, by: first.by, steps: steps.filter(({ number }) => !withdrawn.has(number)), undoneBy };
}

/** Withdraws the step for which a dead process had staged a file. */
export function withdrawStaged(staging: DiskDirectory, name: string): void {
  const [, id, number] = stagedForChange.exec(name) ?? [];
  const isPlaced = (staging.statusOf(name)?.nlink ?? 1) > 1; // by a second name, and this one was not removed yet
  if (id === undefined || isPlaced) return;
  const trash = enterTrash(staging);
  if (trash.statusOf(recordName(id)) !== null) {
    trash.appendText(recordName(id), toRecordLine({ withdrawn: Number(number) }));
  }
}

function readText(directory: DiskDirectory, name: string): string | null {
  const file = directory.openOwn(name);
  if (file === null) return null;
  try {
    const decoder = new TextDecoder();
    const buffer = new Uint8Array(pieceBytes);
    let text = "";
    for (let at = 0; at < maxRecordBytes;) {
      const count = file.read(buffer, at);
      if (count === 0) break;
      text += decoder.decode(buffer.subarray(0, count), { stream: true });
      at += count;
    }
    return text + decoder.decode();
  } finally {
    file.close();
  }
}
