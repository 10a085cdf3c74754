/**
 * What small files were answered as when they were last read. A file is still opened and read for each call; where its
 * bytes and its time are the same, it is not hashed, decoded and put into words again.
 */
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
  readonly content: FileContent;
  readonly read: FileRead;
}

export interface KeptReads {
  /** What the file was when it was last read, and what was answered. */
  find(workspace: Workspace, path: WorkspacePath): Pick<KeptRead, "content" | "read"> | undefined;
  /** Keeps an answer about a whole file. */
  keep(workspace: Workspace, path: WorkspacePath, content: FileContent, read: FileRead): FileRead;
}

export function createKeptReads(): KeptReads {
  const kept = boundedMap<string, KeptRead>({
    maxWeight: maxKeptBytesInAll,
    weigh: ({ content: { bytes } }) => bytes.byteLength + bytesBesideText,
  });
  return {
    find(workspace, path) {
      const known = kept.get(path.text);
      return known?.workspace === workspace ? known : undefined;
    },
    keep(workspace, path, content, read) {
      if (content.bytes.byteLength > maxKeptBytes) return read;
      const answer = { ...read, outcome: { ...combineReads([read]), encoded: new Map<string, string>() } };
      kept.set(path.text, { workspace, content, read: answer });
      return answer;
    },
  };
}
