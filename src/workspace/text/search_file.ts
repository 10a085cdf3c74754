/** Searches one file of any workspace by lines, in as many reads as it needs. */
import { Buffer, isAscii } from "node:buffer";
import type { FairTurns } from "./fair_turns.ts";
import type { LinePattern } from "./line_pattern.ts";
import type { WorkspacePath } from "../path.ts";
import type { Workspace } from "../port.ts";
import { type LineMatch, searchText } from "./search_text.ts";
import { readLines, type TextPosition } from "./lines.ts";

interface FileSearch {
  readonly pattern: LinePattern;
  readonly contextLines: number;
  /** Only lines after this one. */
  readonly afterLine: number;
  /** Asked after each match: whether the answer holds enough. */
  readonly isEnough: (match: LineMatch) => boolean;
  /** The turns of the whole search. */
  readonly nextTurn: FairTurns;
  /** Asked now and then: whether to stop. */
  readonly isOver: () => boolean;
}

interface FileMatches {
  readonly matches: readonly LineMatch[];
  /** The last line that was searched, when the search stopped before the end of the file. */
  readonly stoppedAfter: number | null;
}

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** The matching lines; `null` when the file is not text, larger than `maxFileBytes` or cannot be read. */
export async function searchFile(
  workspace: Workspace,
  path: WorkspacePath,
  { pattern, contextLines, afterLine, isEnough, nextTurn, isOver }: FileSearch,
): Promise<FileMatches | null> {
  const matches: LineMatch[] = [];
  let from: TextPosition | null = { offsetBytes: 0, line: 1 };
  while (from !== null) {
    const read = await readLines(workspace, path, { from });
    if (!read.ok || read.value.sizeBytes > workspace.limits.maxFileBytes) return null;
    const text = toText(read.value.bytes);
    if (text === null) return null;
    for (const stretch of searchText(text, { pattern, contextLines, firstLine: from.line, afterLine })) {
      for (const match of stretch.matches) {
        matches.push(match);
        if (isEnough(match)) return { matches, stoppedAfter: match.line };
      }
      const pause = nextTurn();
      if (pause === undefined) continue;
      await pause;
      if (isOver()) return { matches, stoppedAfter: stretch.nextLine - 1 };
    }
    from = read.value.next;
    const pause = nextTurn();
    if (pause === undefined || from === null) continue;
    await pause;
    if (from.line > 1 && isOver()) return { matches, stoppedAfter: from.line - 1 };
  }
  return { matches, stoppedAfter: null };
}

function toText(bytes: Uint8Array): string | null {
  if (bytes.includes(0)) return null; // binary, as grep and git see it
  if (isAscii(bytes)) return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("latin1");
  try {
    return decoder.decode(bytes);
  } catch {
    return null; // not UTF-8
  }
}
