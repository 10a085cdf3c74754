/**
 * What small files were answered as when they were last read. A file is still opened and read for each call; where its
 * bytes and its time are the same, it is not hashed, decoded and put into words again.
 */
import { boundedMap } from "../../lib/bounded_map.ts";
import type { WorkspacePath } from "../workspace/path.ts";
import type { FileContent, Workspace } from "../workspace/port.ts";
import { combineReads, type FileRead } from "./read_answer.ts";

/** The text is kept about ten times: in the answer, and in its JSON for each kind of caller. */
const maxKeptBytes = 16_384;
/** Of the files of all workspaces together, with what an answer takes beside its text: 64 large ones, 1,000 small ones. */
const maxKeptBytesInAll = 64 * maxKeptBytes;
const bytesBesideText = 1_024;
/** So many contents that were read lately are known by the beginning of their SHA-256. */
const maxSeen = 1_024;

interface KeptRead {
  readonly workspace: Workspace;
  readonly content: FileContent;
  readonly read: FileRead;
}

export interface KeptReads {
  /** What the file was when it was last read, and what was answered. */
  find(workspace: Workspace, path: WorkspacePath): Pick<KeptRead, "content" | "read"> | undefined;
  /** Keeps an answer about a whole file where that was read a while ago, too. */
  keep(workspace: Workspace, path: WorkspacePath, content: FileContent, read: FileRead): FileRead;
}

export function createKeptReads(): KeptReads {
  const kept = boundedMap<string, KeptRead>({
    maxWeight: maxKeptBytesInAll,
    weigh: ({ content: { bytes } }) => bytes.byteLength + bytesBesideText,
  });
  // Answers that are kept and not asked for again would cost the collector of garbage as much as making them does.
  const seen = new Uint32Array(2 * maxSeen);
  const wasSeen = (sha256: string): boolean => {
    const mark = Number.parseInt(sha256.slice(0, 8), 16);
    const places = [mark % maxSeen, maxSeen + (mark >>> 16) % maxSeen] as const; // two: another file may have one of them
    const wasThere = seen[places[0]] === mark || seen[places[1]] === mark;
    seen[places[0]] = seen[places[1]] = mark;
    return wasThere;
  };
  return {
    find(workspace, path) {
      const known = kept.get(path.text);
      return known?.workspace === workspace ? known : undefined;
    },
    keep(workspace, path, content, read) {
      const { bytes, sha256 } = content;
      if (bytes.byteLength > maxKeptBytes || sha256 === null || !wasSeen(sha256)) return read;
      const answer = { ...read, outcome: { ...combineReads([read]), encoded: new Map<string, string>() } };
      kept.set(path.text, { workspace, content, read: answer });
      return answer;
    },
  };
}
