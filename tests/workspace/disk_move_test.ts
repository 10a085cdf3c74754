/** Moves between the workers of a server, which share a workspace and nothing else. */
import assert from "node:assert/strict";
import { stagingDirectoryName } from "../../src/files/workspace/path.ts";
import { at } from "./contract.ts";
import { author, undo } from "./trash_contract.ts";
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

testInEachMode({
  ...skippedUnless(...onLinux, "a move onto another name of the same file leaves that one alone, and can be undone"),
  async fn() {
    const trash = { keepMs: 1e9, maxBytes: 1e9 };
    const pairs = [["a", "b"], ["a", "A"], ["a", "d/a"], ["d/a", "a"], ["d/x", "e/new"], [
      "d/\u00e9",
      "d/e\u0301",
    ]] as const;
    for (
      const [options, isKept] of [
        ...[[{}, false], [{ trash }, true], [{ trash: { ...trash, maxBytes: 1 } }, false]] as const,
        [{ limits: { maxTotalBytes: 14 } }, false] as const,
      ]
    ) {
      for (const [from, to] of pairs) {
        const root = quickDirectory();
        const workspace = openDiskWorkspace({ root, ...options });
        try {
          for (const directory of ["d", "e"]) Deno.mkdirSync(`${root}/${directory}`);
          Deno.writeTextFileSync(`${root}/${from}`, "text");
          Deno.linkSync(`${root}/${from}`, `${root}/${to}`);
          Deno.linkSync(`${root}/${from}`, `${root}/third`);
          const room = async (bytes: number): Promise<unknown> => {
            const written = await workspace.write(at("room"), new Uint8Array(bytes));
            return !("limits" in options) || written.ok || written.error.reason;
          };
          assert.equal(await room(1), true);
          let change = "";
          const changing = workspace.begin({ ...author, tool: "file_move" }, (begun) => change = begun);
          const textAt = async (path: string): Promise<string> => {
            const read = await workspace.read(at(path));
            return read.ok ? new TextDecoder().decode(read.value.bytes) : read.error.reason;
          };
          for (const self of [from, to]) {
            assert.ok((await changing.move(at(self), at(self), { overwrite: true })).ok);
            assert.deepEqual([await textAt(from), await textAt(to)], ["text", "text"]);
          }
          assert.equal(await room(3), "limits" in options ? "quota" : true);
          const refused = await changing.move(at(from), at(to));
          assert.equal(refused.ok || refused.error.reason, "already_exists");
          assert.ok((await changing.move(at(from), at(to), { overwrite: true })).ok);
          assert.deepEqual([await textAt(from), await textAt(to), await textAt("third")], [
            "not_found",
            "text",
            "text",
          ]);
          assert.equal(await room(6), true);
          if (!isKept) continue;
          await undo(workspace, change);
          assert.deepEqual([await textAt(from), await textAt(to), await textAt("third")], ["text", "text", "text"]);
          assert.equal(Deno.statSync(`${root}/${from}`).ino, Deno.statSync(`${root}/${to}`).ino);
        } finally {
          await workspace.close();
          Deno.removeSync(root, { recursive: true });
        }
      }
    }
  },
});
