/** The largest or newest entries of a tree for `file_list`. */
import type { ToolOutcome } from "../../mcp/tool.ts";
import type { WalkedEntry } from "../workspace/walk.ts";
import { fitPage, toEntry, toLine, type TreeListing, visitWanted, wholeTreeAnswer } from "./list_walk.ts";
import { toFailure } from "./refusal.ts";

/** Entries that are held beyond those that are shown, before they are sorted. */
const maxUnsorted = 5_000;

/** Lists the first of the tree's entries in this order. By size, only files count. */
export async function listSorted(listing: TreeListing, sort: "size" | "modified"): Promise<ToolOutcome> {
  const key = sort === "size"
    ? ({ sizeBytes = 0 }: WalkedEntry) => sizeBytes
    : ({ modifiedAt = 0 }: WalkedEntry) => modifiedAt;
  let total = 0;
  let first: WalkedEntry[] = [];
  const keepFirst = (): void => {
    first = first.sort((one, other) => key(other) - key(one)).slice(0, listing.limit);
  };
  const visited = await visitWanted(listing, (entry) => {
    if (sort === "size" && entry.kind !== "file") return;
    total++;
    if (first.push(entry) >= listing.limit + maxUnsorted) keepFirst();
  });
  if (!visited.ok) return toFailure("list directory", listing.path, visited.error);
  keepFirst();
  const lines = fitPage(first.map((entry) => toLine(entry, entry.segments.join("/"))));
  const shown = lines.length;
  return wholeTreeAnswer(listing, {
    lines: [
      ...(shown === 0 ? ["(no entries)"] : lines),
      ...(shown < total ? [`(the first ${shown} of ${total})`] : []),
    ],
    facts: { entries: first.slice(0, shown).map(toEntry) },
    total,
    cut: visited.value,
  });
}
