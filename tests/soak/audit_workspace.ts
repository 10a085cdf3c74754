/** Holds the directory of the workspace against the ledgers: every file whole, and none that nobody wrote. */
import assert from "node:assert/strict";
import { join } from "node:path";

/** What changes replaced, which is kept for a while. */
const trash = ".portcullis/trash";

/** Looks at all files below `root`; the ledgers together say all of them but those below the names in `others`. */
export async function auditWorkspace(
  root: string,
  ledgers: readonly ReadonlyMap<string, string>[],
  others: readonly string[],
): Promise<number> {
  const expected = new Map(ledgers.flatMap((ledger) => [...ledger]));
  const found: string[] = [];
  const walk = async (directory: string): Promise<void> => {
    for await (const { name, isDirectory } of Deno.readDir(join(root, directory))) {
      const path = directory === "" ? name : `${directory}/${name}`;
      if (others.includes(path) || path === trash) continue;
      if (isDirectory) await walk(path);
      else found.push(path);
    }
  };
  await walk("");
  assert.deepEqual(
    found.sort(),
    [...expected.keys()].sort(),
    "the workspace holds what was acknowledged, nothing else",
  );
  for (const [path, content] of expected) {
    assert.ok(await Deno.readTextFile(join(root, path)) === content, `${path} is whole`);
  }
  return expected.size;
}
