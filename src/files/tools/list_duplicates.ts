/** Groups of equal files in a tree, for `file_list`. Only files of the same size are read. */
import { createDigest } from "../../lib/content_digest.ts";
import type { ToolOutcome } from "../../mcp/tool.ts";
import { showName, toPathText } from "../workspace/file_display.ts";
import type { WorkspacePath } from "../workspace/path.ts";
import type { Workspace } from "../workspace/port.ts";
import { nextTurn } from "../../lib/turns.ts";
import type { WalkedEntry } from "../workspace/walk.ts";
import { fitPage, toSize, type TreeListing, visitWanted, wholeTreeAnswer } from "./list_walk.ts";
import { toFailure } from "./refusal.ts";

const readBytes = 262_144;
/** Files that are held to be compared. */
const maxFiles = 50_000;
/** Names that an answer repeats of files that cannot be read. */
const maxUnreadNames = 5;

/** Finds files of the same content; empty ones are not told. */
export async function listDuplicates(listing: TreeListing): Promise<ToolOutcome> {
  const { workspace, path, limit, isOver } = listing;
  const files: WalkedEntry[] = [];
  let isFull = false;
  const visited = await visitWanted(listing, (entry) => {
    if (entry.kind !== "file" || (entry.sizeBytes ?? 0) === 0) return;
    if (files.length < maxFiles) files.push(entry);
    else isFull = true;
  });
  if (!visited.ok) return toFailure("list directory", path, visited.error);
  let cut = visited.value ?? (isFull ? { mostly: null } : null);
  const buffer = new Uint8Array(readBytes);
  const unread: string[] = [];
  const groups: { readonly sizeBytes: number; readonly names: readonly string[] }[] = [];
  for (const [sizeBytes, sameSize] of Map.groupBy(files, ({ sizeBytes }) => sizeBytes ?? 0)) {
    if (sameSize.length < 2) continue;
    const byContent = new Map<string, WalkedEntry[]>();
    for (const entry of sameSize) {
      if (isOver()) {
        cut ??= { mostly: null };
        break;
      }
      const hash = await hashFile(workspace, entry.path, { buffer, isOver });
      if (hash === null) {
        if (!isOver()) unread.push(entry.segments.join("/"));
        continue;
      }
      const same = byContent.get(hash);
      if (same === undefined) byContent.set(hash, [entry]);
      else same.push(entry);
    }
    for (const same of byContent.values()) {
      if (same.length > 1) groups.push({ sizeBytes, names: same.map(({ segments }) => segments.join("/")) });
    }
  }
  groups.sort((one, other) => other.sizeBytes * (other.names.length - 1) - one.sizeBytes * (one.names.length - 1));
  const lines = fitPage(
    groups.slice(0, limit).map(({ sizeBytes, names }) =>
      `${names.length} files of ${toSize(sizeBytes)}: ${names.map(showName).join(", ")}`
    ),
  );
  return wholeTreeAnswer(listing, {
    lines: [
      ...(groups.length === 0 ? [`(no two of ${files.length} files are equal)`] : lines),
      ...(lines.length < groups.length ? [`(the first ${lines.length} of ${groups.length} groups)`] : []),
      ...(unread.length === 0 ? [] : [unreadWords(unread)]),
    ],
    facts: {
      duplicates: groups.slice(0, lines.length).map(({ sizeBytes, names }) => ({
        size_bytes: sizeBytes,
        names: names.map(toPathText),
      })),
    },
    total: groups.length,
    cut,
  });
}

/** Files of one size that could not be compared, such as those with several names (hard links). */
function unreadWords(names: readonly string[]): string {
  const shown = names.slice(0, maxUnreadNames).map(showName).join(", ");
  return `(not compared, since they cannot be read: ${shown}${names.length > maxUnreadNames ? ", ..." : ""})`;
}

/** SHA-256 of a file; `null` when it cannot be read, or not in time. */
async function hashFile(
  workspace: Workspace,
  path: WorkspacePath,
  { buffer, isOver }: {
    readonly buffer: Uint8Array;
    readonly isOver: () => boolean;
  },
): Promise<string | null> {
  const digest = createDigest();
  let offsetBytes = 0;
  for (;;) {
    const read = await workspace.readInto(path, buffer, offsetBytes);
    if (!read.ok || isOver()) return null;
    await nextTurn();
    digest.update(buffer.subarray(0, read.value.lengthBytes));
    offsetBytes += read.value.lengthBytes;
    if (read.value.lengthBytes === 0 || offsetBytes >= read.value.sizeBytes) return digest.digest("hex");
  }
}
