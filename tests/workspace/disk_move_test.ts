/** Moves between the workers of a server, which share a workspace and nothing else. */
import assert from "node:assert/strict";
import { until } from "../fixtures/until.ts";
import { stagingDirectoryName } from "../../src/workspace/path.ts";
import { at } from "./contract.ts";
import { quickDirectory } from "./property_runs.ts";
import { onLinux, skippedUnless } from "../fixtures/skipped_unless.ts";
import { openDiskWorkspace, testInEachMode } from "./disk_modes.ts";

/** Of the locks on the file with this inode, as far as the kernel tells: whether one is held, and one waited for. */
function locksOf(inode: number | null): { readonly isHeld: boolean; readonly hasWaiter: boolean } {
  const lines = Deno.readTextFileSync("/proc/locks").split("\n").filter((line) => line.includes(`:${inode} `));
  return { isHeld: lines.length > 0, hasWaiter: lines.some((line) => line.includes("->")) };
}

testInEachMode({
  ...skippedUnless(
    ...onLinux,
    "a move onto a name that another worker takes between look and rename is refused, and replaces nothing",
  ),
  async fn() {
    const root = quickDirectory();
    const workspace = openDiskWorkspace({ root });
    assert.ok((await workspace.write(at("source"), new TextEncoder().encode("source"))).ok);
    const directory = Deno.openSync(`${root}/${stagingDirectoryName}`, { read: true });
    const url = new URL(
      `move_when_alone.ts?${new URLSearchParams({ root, from: "source", to: "target" })}`,
      import.meta.url,
    );
    directory.lockSync(true); // as the other worker has it while it puts its file in place
    const worker = new Worker(url, { type: "module" });
    try {
      let outcome: string | undefined;
      const ended = new Promise<void>((resolve) => {
        worker.onmessage = ({ data }) => {
          outcome = data;
          resolve();
        };
      });
      const { ino } = directory.statSync();
      // Where the kernel does not tell, the worker may come too late to be tempted.
      if (locksOf(ino).isHeld) {
        await until("the move, or its wait", () => outcome !== undefined || locksOf(ino).hasWaiter);
      }
      assert.equal(outcome, undefined, "it did not wait for the other worker");
      Deno.writeTextFileSync(`${root}/target`, "of the other worker");
      directory.unlockSync();
      await ended;
      assert.equal(outcome, "already_exists");
      assert.equal(Deno.readTextFileSync(`${root}/target`), "of the other worker");
      assert.equal(Deno.readTextFileSync(`${root}/source`), "source");
    } finally {
      worker.terminate();
      directory.close();
      await workspace.close();
      Deno.removeSync(root, { recursive: true });
    }
  },
});
