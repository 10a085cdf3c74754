/** Moves between the workers of a server, which share a workspace and nothing else. */
import assert from "node:assert/strict";
import { stagingDirectoryName } from "../../src/files/workspace/path.ts";
import { at } from "./contract.ts";
import { quickDirectory } from "./property_runs.ts";
import { onLinux, skippedUnless } from "../fixtures/skipped_unless.ts";
import { openDiskWorkspace, testInEachMode } from "./disk_modes.ts";

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
      const begun = Promise.withResolvers<void>();
      const ended = new Promise<void>((resolve) => {
        worker.onmessage = ({ data }) => {
          if (data === "begins") return begun.resolve();
          outcome = data;
          resolve();
        };
      });
      await begun.promise;
      await new Promise((resolve) => setTimeout(resolve, 100)); // a move that does not wait would be done
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
