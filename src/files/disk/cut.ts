/** Undoes an append: what was there is the beginning of what is there. */
import type { Left } from "../workspace/change.ts";
import type { WorkspacePath } from "../workspace/path.ts";
import type { Outcome, WrittenFile } from "../workspace/port.ts";
import type { Disk } from "./context.ts";
import { matchContent } from "./match_content.ts";
import { openInside } from "./open.ts";
import { readPieces } from "./read.ts";
import { replaceWith, withTarget } from "./write.ts";

/** Leaves only the beginning of the file at `path`, if that is as it was left. */
export async function cutDiskFile(
  disk: Disk,
  path: WorkspacePath,
  sizeBytes: number,
  { sha256 = "" }: Left,
): Promise<Outcome<WrittenFile>> {
  return await withTarget(disk, path, async ({ segments, info }) => {
    const matched = await matchContent(disk, path, sha256);
    if (!matched.ok) return matched;
    const opened = openInside(disk, path, disk.limits.maxFileBytes);
    if (!opened.ok) return opened;
    const file = opened.value;
    try {
      const expected = { segments, version: matched.value };
      return await replaceWith(disk, path, beginningOf(readPieces(file), sizeBytes), info, expected);
    } finally {
      file.close();
    }
  });
}

async function* beginningOf(pieces: AsyncIterable<Uint8Array>, sizeBytes: number): AsyncGenerator<Uint8Array> {
  let rest = sizeBytes;
  for await (const piece of pieces) {
    yield piece.subarray(0, rest);
    rest -= piece.byteLength;
    if (rest <= 0) return;
  }
}
