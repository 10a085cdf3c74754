/** A workspace without room, or without the right to write: told in words, the old content kept, nothing left over. */
import assert from "node:assert/strict";
import { type FileServer, withFileServer } from "../fixtures/file_server.ts";
import { ownMounts, withMounts } from "../fixtures/own_mounts.ts";

const ignore = ownMounts === null;
const skipped = ignore ? " (skipped: this machine lets nobody mount)" : "";

Deno.test({
  name: `on a disk that is full, writes of every kind are refused and keep what was there${skipped}`,
  ignore,
  fn: () =>
    withFileServer({ launcher: withMounts('mount -t tmpfs -o size=1m none "$WORKSPACE_DIR"') }, async (files) => {
      await fillUp(files, /no space left on the disk/);
      assert.deepEqual(staged(files), []);
    }),
});

Deno.test({
  name: `on a disk without room for one more name, new files and directories are refused, and the rest works${skipped}`,
  ignore,
  fn: () =>
    withFileServer(
      { launcher: withMounts('mount -t tmpfs -o size=1m,nr_inodes=12 none "$WORKSPACE_DIR"') },
      async ({ done, call, refused }) => {
        await done("file_write", { filename: "kept", content: "old" });
        let made = 0;
        while ((await call("file_move", { destination: `d${made}` })).ok) made++;
        assert.ok(made > 0 && made < 12);
        assert.match(await refused("file_write", { filename: "new", content: "x" }), /no space left on the disk/);
        assert.match(await refused("file_write", { filename: "kept", content: "new" }), /no space left on the disk/);
        assert.equal((await done("file_read", { filename: "kept" })).structured["content"], "old");
        assert.equal((await done("file_undo", {})).text, "No changes of yours are kept");
        for (const name of ["d0", "d1", "d2"]) await done("file_delete", { filename: name }); // a write takes two names
        await done("file_write", { filename: "kept", content: "new" });
      },
    ),
});

for (const env of [{}, { WORKSPACE_STORE: "storage" }]) {
  const where = Object.keys(env).length === 0 ? "on the disk" : "in the storage";
  Deno.test(`${where}, a quota that is used up refuses writes of every kind and keeps what was there`, () =>
    withFileServer({ env: { ...env, WORKSPACE_QUOTA_BYTES: "1000000" } }, async (files) => {
      await fillUp(files, /may hold at most 1000000 bytes/);
      if (where === "on the disk") assert.deepEqual(staged(files), []);
    }));
}

Deno.test({
  name: `on a disk that may only be read, everything that reads works and everything else is refused${skipped}`,
  ignore,
  fn: () =>
    withFileServer({
      launcher: withMounts([
        'mount -t tmpfs none "$WORKSPACE_DIR"',
        'mkdir "$WORKSPACE_DIR/d"',
        'printf kept > "$WORKSPACE_DIR/d/f"',
        'mount -o remount,ro "$WORKSPACE_DIR"',
      ].join("; ")),
    }, async ({ done, refused }) => {
      assert.equal((await done("file_read", { filename: "d/f" })).structured["content"], "kept");
      assert.match((await done("file_list", { depth: 2 })).text, /^d\/\n {2}f$/);
      assert.match((await done("file_search", { query: "kept" })).text, /d\/f/);
      assert.match((await done("file_list", { path: "d", show: "details" })).text, /^f 4 /);
      const changes: readonly (readonly [string, Record<string, unknown>])[] = [
        ["file_write", { filename: "d/f", content: "x" }],
        ["file_write", { filename: "new", content: "x" }],
        ["file_write", { filename: "d/f", content: "x", mode: "append" }],
        ["file_edit", { filename: "d/f", old_text: "kept", new_text: "lost" }],
        ["file_move", { copy: true, filename: "d/f", destination: "copy" }],
        ["file_move", { filename: "d/f", destination: "moved" }],
        ["file_move", { filename: "d", destination: "e" }],
        ["file_delete", { filename: "d/f" }],
        ["file_delete", { filename: "d", recursive: true }],
        ["file_move", { destination: "new/directory" }],
      ];
      for (const [tool, input] of changes) assert.match(await refused(tool, input), /access denied - it is read-only/);
      assert.equal((await done("file_read", { filename: "d/f" })).structured["content"], "kept");
    }),
});

async function fillUp({ done, call, refused }: FileServer, words: RegExp): Promise<void> {
  await done("file_write", { filename: "kept", content: "old" });
  const content = "x".repeat(150_000);
  let written = 0;
  while ((await call("file_write", { filename: `large-${written}`, content })).ok) written++;
  assert.ok(written >= 4 && written <= 7, `${written} files fit`);
  assert.match(await refused("file_write", { filename: "one-more", content }), words);
  assert.match(await refused("file_write", { filename: "kept", content }), words);
  assert.match(await refused("file_write", { filename: "kept", content, mode: "append" }), words);
  assert.match(await refused("file_edit", { filename: "kept", old_text: "old", new_text: content }), words);
  assert.match(await refused("file_move", { copy: true, filename: "large-0", destination: "copy" }), words);
  assert.equal((await done("file_read", { filename: "kept" })).structured["content"], "old");
  const names = ["kept", ...Array.from({ length: written }, (_, index) => `large-${index}`)];
  const { structured } = await done("file_list", { show: "details" });
  const listed = structured["entries"] as readonly { readonly name: string; readonly size_bytes: number }[];
  assert.deepEqual(listed.map(({ name }) => name), names);
  for (const { name, size_bytes: size } of listed) assert.equal(size, name === "kept" ? 3 : content.length);
  await done("file_delete", { filename: "large-0" });
  await done("file_write", { filename: "kept", content: "new" });
  assert.equal((await done("file_read", { filename: "kept" })).structured["content"], "new");
}

/** Unfinished files, seen through the server's own mounts. */
function staged({ server, root }: FileServer): string[] {
  const directory = Deno.build.os === "linux" ? `/proc/${server.pid}/root${root}` : root;
  const names = Array.from(Deno.readDirSync(`${directory}/.portcullis`), ({ name }) => name);
  return names.filter((name) => !name.endsWith(".lock") && name !== "trash");
}
