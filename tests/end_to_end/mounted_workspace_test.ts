/** Mounts inside the workspace, over HTTP: what docs/security.md says of them. */
import assert from "node:assert/strict";
import { withFileServer } from "../fixtures/file_server.ts";
import { ownMounts, withMounts } from "../fixtures/own_mounts.ts";
import { loadKernel } from "../../src/lib/kernel/kernel.ts";
import { skippedUnless } from "../fixtures/skipped_unless.ts";

const isConfinedByKernel = loadKernel().available;

Deno.test({
  ...skippedUnless(
    ownMounts !== null,
    "this machine lets nobody mount",
    `another file system in the workspace is refused; a second mount ${
      isConfinedByKernel ? "too" : "can be read and not changed"
    }`,
  ),
  fn: () =>
    withFileServer({
      env: { WORKSPACE_DENY: "denied" },
      fill(root) {
        for (const name of ["other", "read", "changed", "denied", ".git"]) Deno.mkdirSync(`${root}/${name}`);
        Deno.writeTextFileSync(`${root}/denied/file.txt`, "mounted twice");
        Deno.writeTextFileSync(`${root}/own.txt`, "own");
      },
      launcher: withMounts(
        'cd "$WORKSPACE_DIR"; mount -t tmpfs none other; echo hidden > other/file.txt; mount --bind denied read; mount --bind .git changed; cd "$OLDPWD"',
      ),
    }, async ({ refused, done }) => {
      const attempts: readonly (readonly [string, Record<string, unknown>])[] = [
        ["file_read", { filename: "other/file.txt" }],
        ["file_list", { path: "other" }],
        ["file_write", { filename: "other/new.txt", content: "new" }],
        ["file_edit", { filename: "other/file.txt", old_text: "hidden", new_text: "changed" }],
        ["file_move", { copy: true, filename: "own.txt", destination: "other/copy.txt" }],
        ["file_move", { filename: "own.txt", destination: "other/moved.txt" }],
        ["file_move", { destination: "other/directory" }],
        ["file_delete", { filename: "other/file.txt" }],
      ];
      for (const [tool, input] of attempts) {
        const text = await refused(tool, input);
        assert.match(text, /another file system/, `${tool}: ${text}`);
      }
      assert.doesNotMatch((await done("file_search", { query: "hidden" })).text, /other\/file\.txt/);

      await refused("file_read", { filename: "denied/file.txt" });
      if (isConfinedByKernel) {
        for (
          const [tool, input] of [["file_read", { filename: "read/file.txt" }], ["file_list", {
            path: "read",
          }]] as const
        ) {
          assert.match(await refused(tool, input), /another file system/);
        }
        const all = (await done("file_list", { depth: 5, show: "details" })).structured["entries"];
        const told = JSON.stringify(all);
        assert.ok(!told.includes("file.txt"), told);
        const details = (all as { name: string; modified_at?: string }[]).filter(({ name }) =>
          /^(other|read|changed)\b/.test(name)
        );
        assert.equal(details.length, 3);
        for (const each of details) assert.equal(each.modified_at, undefined, "nothing is told of what is mounted");
        return;
      }
      assert.match((await done("file_read", { filename: "read/file.txt" })).text, /^mounted twice\n/);
      await refused("file_write", { filename: ".git/config", content: "changed" });
      assert.match(await refused("file_write", { filename: "changed/config", content: "new" }), /another file system/);
      await refused("file_delete", { filename: "read/file.txt" });
      assert.match((await done("file_read", { filename: "read/file.txt" })).text, /^mounted twice\n/);
    }),
});
