/**
 * What small files were answered as when they were last read. A file is still opened and read for each call; where its
 * bytes and its time are the same, it is not hashed, decoded and put into words again.
 */
import { Buffer } from "node:buffer";
import { boundedMap } from "../../../lib/bounded_map.ts";
import type { WorkspacePath } from "../../../workspace/path.ts";
import type { FileContent, Workspace } from "../../../workspace/port.ts";
import { combineReads, type FileRead } from "../read_answer.ts";

/** The text is kept about ten times: in the answer, and in its JSON for each kind of caller. */
const maxKeptBytes = 16_384;
/** Of the files of all workspaces together, with what an answer takes beside its text: 64 large ones, 1,000 small ones. */
const maxKeptBytesInAll = 64 * maxKeptBytes;
const bytesBesideText = 1_024;

interface KeptRead {
  readonly workspace: Workspace;
  readonly bytes: Uint8Array;
  readonly modifiedAt: number;
  readonly read: FileRead;
}

export interface KeptReads {
  /** The answer about this content of a whole file, kept or made. One that is still to come is not kept. */
  readOf(
    workspace: Workspace,
    path: WorkspacePath,
    content: FileContent,
    make: () => FileRead | Promise<FileRead>,
  ): FileRead | Promise<FileRead>;
}

export function createKeptReads(): KeptReads {
  const kept = boundedMap<string, KeptRead>({
    maxWeight: maxKeptBytesInAll,
    weigh: ({ bytes }) => bytes.byteLength + bytesBesideText,
  });
  return {
    readOf(workspace, path, { bytes, modifiedAt }, make) {
      if (bytes.byteLength > maxKeptBytes) return make();
      const known = kept.get(path.text);
      if (
        known !== undefined && known.workspace === workspace && known.modifiedAt === modifiedAt &&
        Buffer.compare(known.bytes, bytes) === 0
      ) return known.read;
      const made = make();
      if (made instanceof Promise) return made;
      const read = { ...made, outcome: { ...combineReads([made]), encoded: new Map<string, string>() } };
      kept.set(path.text, { workspace, bytes, modifiedAt, read });
      return read;
    },
  };
}
