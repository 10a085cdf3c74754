/** The places that an edit changed, so that they can be changed back in a text that has other changes by then. */
import { loadOnce } from "../../lib/load_once.ts";
import type { Passage } from "../workspace/change.ts";

/** Lines around a place, by which it is found again. */
const context = 2;
/** Steps of the search for the shortest difference, whose time grows with their square. */
const maxEditLength = 400;
/** What is kept of them in all; of longer ones nothing is. */
const maxPassageCharacters = 30_000;
const maxComparedCharacters = 2_000_000;

const loadDiff = loadOnce(() => import("diff"));

/** The places in which the texts differ; `undefined` where they are too many or too long. */
export async function passagesOf(before: string, after: string): Promise<readonly Passage[] | undefined> {
  if (before.length + after.length > maxComparedCharacters) return undefined;
  const { structuredPatch } = await loadDiff(); // some 20 ms, which a start does not wait for
  const hunks = structuredPatch("", "", before, after, "", "", { context, maxEditLength })?.hunks;
  if (hunks === undefined) return undefined;
  const passages = hunks.map(({ lines }) => ({ before: side(lines, "-"), after: side(lines, "+") }));
  const characters = passages.reduce((sum, each) => sum + each.before.length + each.after.length, 0);
  return characters > maxPassageCharacters ? undefined : passages;
}

/** The text with its places as they were before; `null` unless each is there exactly once. */
export function revertPassages(text: string, passages: readonly Passage[]): string | null {
  let reverted = text;
  for (const { before, after } of passages.toReversed()) {
    const at = reverted.indexOf(after);
    if (after === "" || at === -1 || reverted.indexOf(after, at + 1) !== -1) return null;
    reverted = reverted.slice(0, at) + before + reverted.slice(at + after.length);
  }
  return reverted;
}

/** The lines of one side, as they stand in its text. */
function side(lines: readonly string[], sign: "-" | "+"): string {
  const own: string[] = [];
  for (const [index, line] of lines.entries()) {
    if (!line.startsWith(" ") && !line.startsWith(sign)) continue;
    const isLast = lines[index + 1]?.startsWith("\\") === true; // "\ No newline at end of file"
    own.push(isLast ? line.slice(1) : `${line.slice(1)}\n`);
  }
  return own.join("");
}
