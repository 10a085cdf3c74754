/** The largest or newest entries of a tree for `file_list`. */
import type { ToolOutcome } from "../../mcp/tool.ts";
import type { WalkedEntry } from "../../workspace/walk.ts";
import { collectEntries, pageOf, toEntry, toLine, type TreeListing, wholeTreeAnswer } from "./list_walk.ts";
import { toFailure } from "./refusal.ts";

/** Lists the first of the tree's entries in this order. By size, only files count. */
export async function listSorted(listing: TreeListing, sort: "size" | "modified"): Promise<ToolOutcome> {
  const collected = await collectEntries(listing);
  if (!collected.ok) return toFailure("list directory", listing.path, collected.error);
  const { entries, isCut } = collected.value;
  const key = sort === "size"
    ? ({ sizeBytes = 0 }: WalkedEntry) => sizeBytes
    : ({ modifiedAt = 0 }: WalkedEntry) => modifiedAt;
  const sorted = entries.filter(({ kind }) => sort === "modified" || kind === "file")
    .sort((one, other) => key(other) - key(one));
  const lines = pageOf(sorted.slice(0, listing.limit).map((entry) => toLine(entry, entry.segments.join("/"))));
  const shown = lines.length;
  return wholeTreeAnswer(listing, {
    lines: [
      ...(shown === 0 ? ["(no entries)"] : lines),
      ...(shown < sorted.length ? [`(the first ${shown} of ${sorted.length})`] : []),
    ],
    facts: { entries: sorted.slice(0, shown).map(toEntry) },
    total: sorted.length,
    isCut,
  });
}
