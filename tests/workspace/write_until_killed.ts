/** Rewrites `file.txt` of the workspace given as argument, all A then all B, until it is killed. */
import { openDiskWorkspace } from "../../src/workspace/disk_workspace.ts";
import { parseFilePath } from "../../src/workspace/path.ts";

const [root, size] = Deno.args;
const path = parseFilePath("file.txt");
if (root === undefined || !path.ok) throw new Error("usage: write_until_killed.ts ROOT SIZE");
const workspace = openDiskWorkspace({ root });
const contents = ["A", "B"].map((letter) => new TextEncoder().encode(letter.repeat(Number(size))));
for (let round = 0;; round++) {
  for (const content of contents) {
    const written = await workspace.write(path.value, content);
    if (!written.ok) throw new Error(written.error.reason);
  }
  if (round === 0) Deno.stdout.writeSync(new TextEncoder().encode("writing\n"));
}
