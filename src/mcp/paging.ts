/** Lists in pages, with opaque cursors: sealed, so that a client can neither read nor make one. */
import type { SecretBox } from "../lib/secret_box.ts";

const purpose = "mcp-cursor";

/** A list whose entries have names. */
interface PagedList<Entry> {
  /** The list's name, to which its cursors are bound. */
  readonly name: string;
  readonly entries: readonly Entry[];
  readonly nameOf: (entry: Entry) => string;
}

export interface Page<Entry> {
  readonly entries: readonly Entry[];
  /** The cursor of the page after it, if there is one. */
  readonly nextCursor: string | undefined;
}

/**
 * Where the page of a cursor begins: behind the entry that the cursor names. `null` for a cursor that is not ours, or
 * whose entry is gone. No cursor, or an empty one, means the first page.
 */
export async function pageStart<Entry>(
  secretBox: SecretBox,
  list: PagedList<Entry>,
  cursor: unknown,
): Promise<number | null> {
  if (cursor === undefined || cursor === "") return 0;
  const after = typeof cursor === "string" ? await secretBox.open(purpose, cursor, list.name) : null;
  const index = after === null ? -1 : list.entries.findIndex((entry) => list.nameOf(entry) === after);
  return index < 0 ? null : index + 1;
}

/** The page that begins at `start`. */
export async function pageAt<Entry>(
  secretBox: SecretBox,
  list: PagedList<Entry>,
  start: number,
  pageSize: number,
): Promise<Page<Entry>> {
  const entries = list.entries.slice(start, start + pageSize);
  const last = entries.at(-1);
  const hasMore = last !== undefined && start + pageSize < list.entries.length;
  return { entries, nextCursor: hasMore ? await secretBox.seal(purpose, list.nameOf(last), list.name) : undefined };
}
