/** `file_undo` in each way in which a server has its files: on a disk, for each user, in the storage. */
import assert from "node:assert/strict";
import { needing } from "../fixtures/forms/chosen_form.ts";
import { type FileServer, withFileServer } from "../fixtures/file_server.ts";
import { runCommand } from "../fixtures/running_server.ts";
import { postMcp, toolCall } from "../fixtures/mcp_call.ts";
import { testInEachWay } from "../fixtures/workspace_ways.ts";

const idOf = ({ structured }: { readonly structured: Readonly<Record<string, unknown>> }, index = 0): string => {
  const { changes } = structured as { changes: { change: string }[] };
  return changes[index]?.change ?? "";
};

const name = "file_undo undoes writes, edits, moves, copies and deletions, the last or a named one";
testInEachWay(name, ({ start }) => withFileServer(start, undoAll));
Deno.test(`${name}: in the storage`, () => withFileServer({ env: { WORKSPACE_STORE: "storage" } }, undoAll));

async function undoAll({ done, refused, call }: FileServer): Promise<void> {
  const read = async (filename: string): Promise<string> =>
    (await done("file_read", { filename })).text.split("\n")[0] ?? "";
  await done("file_write", { filename: "a.txt", content: "one" });
  await done("file_write", { filename: "a.txt", content: "two" });
  await done("file_edit", { path: "a.txt", old_text: "two", new_text: "three" });
  await done("file_move", { path: "a.txt", destination: "d/b.txt" });
  await done("file_move", { path: "d", destination: "copy", copy: true });
  const deleted = await done("file_delete", { path: "d", recursive: true });
  assert.match(
    deleted.text,
    /^Deleted d \(2 entries\); can be undone with file_undo until \d{4}-\d\d-\d\dT\d\d:\d\dZ$/,
  );

  const list = await done("file_undo", {});
  const tools = (list.structured as { changes: { tool: string }[] }).changes.map(({ tool }) => tool);
  assert.deepEqual(tools, ["file_delete", "file_move", "file_move", "file_edit", "file_write", "file_write"]);
  assert.match(list.text, /^[0-9a-z]+ \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ file_delete d\n/);
  assert.match(list.text, /Z file_move d\/b\.txt \(from a\.txt\)\n/);

  assert.match(
    await refused("file_undo", { change: idOf(list, 4) }),
    /a\.txt was changed since|nothing was changed/,
  );
  assert.match(
    (await done("file_undo", { change: "last" })).text,
    /^Undid file_delete of d; undo [0-9a-z]+ to redo it$/,
  );
  assert.equal(await read("d/b.txt"), "three");
  await done("file_undo", { change: "last" });
  assert.match(await refused("file_read", { filename: "copy/b.txt" }), /no such file/);
  await done("file_undo", { change: "last" });
  assert.equal(await read("a.txt"), "three");
  await done("file_undo", { change: "last" });
  assert.equal(await read("a.txt"), "two");
  await done("file_undo", { change: "last" });
  assert.equal(await read("a.txt"), "one");
  await done("file_undo", { change: "last" });
  assert.match(await refused("file_read", { filename: "a.txt" }), /no such file/);
  assert.match(await refused("file_undo", { change: "last" }), /There is no change of yours to undo/);

  const undone = await done("file_undo", {});
  await done("file_undo", { change: idOf(undone) });
  assert.equal(await read("a.txt"), "one", "an undoing is undone by its id");
  assert.match(await refused("file_undo", { change: idOf(list) }), /change [0-9a-z]+ undid it already/);
  assert.equal((await call("file_undo", { change: "nonsense" })).ok, false);

  // the last is now the undoing of an undoing, then the change before it
  await done("file_write", { filename: "b.txt", content: "b" });
  const last = await done("file_undo", { change: "last" });
  const [, again = ""] = /undo (\S+) to redo it$/.exec(last.text) ?? [];
  await done("file_undo", { change: again });
  assert.equal(await read("b.txt"), "b");
  assert.match(
    (await done("file_undo", {})).text,
    new RegExp(` file_write b\\.txt, undone by ${again}, redone by \\w+\n`),
  );
  await done("file_undo", { change: "last" });
  assert.match(await refused("file_read", { filename: "b.txt" }), /no such file/);
  assert.match((await done("file_undo", {})).text, new RegExp(` file_write b\\.txt, undone by ${again}\n`));
  await done("file_undo", { change: "last" });
  assert.match(await refused("file_read", { filename: "a.txt" }), /no such file/);
  assert.match(await refused("file_undo", { change: "last" }), /There is no change of yours to undo/);
}

needing("workspace directory").test(
  "another user of the same workspace undoes nothing of one's changes",
  () =>
    withFileServer({}, async ({ done, refused, server, root, dataDir }) => {
      const options = { stdin: "correct horse battery\ncorrect horse battery\n" };
      const added = await runCommand(["users", "add", "ada", "--data-dir", dataDir], options);
      assert.equal(added.code, 0, added.stderr);
      const scope = ["--scope", "files:write", "--data-dir", dataDir];
      const created = await runCommand(["token", "create", "--user", "ada", ...scope]); // of the same client
      assert.equal(created.code, 0, created.stderr);
      const ada = async (tool: string, input: Record<string, unknown>): Promise<{ ok: boolean; text: string }> => {
        const response = await postMcp(server.url, toolCall(tool, input), { token: created.stdout.trim() });
        const { result } = await response.json();
        return { ok: result.isError === false, text: result.content[0].text };
      };
      await done("file_write", { filename: "shared.txt", content: "one" });
      await done("file_write", { filename: "shared.txt", content: "two" });
      const own = idOf(await done("file_undo", {}));
      assert.equal((await ada("file_undo", {})).text, "No changes of yours are kept");
      for (const change of [own, "last"]) {
        const answer = await ada("file_undo", { change });
        assert.ok(!answer.ok);
        assert.match(answer.text, /no (?:such )?change of yours/);
      }
      assert.equal(Deno.readTextFileSync(`${root}/shared.txt`), "two");

      // what ada changes since is in the way, and is not named
      assert.ok((await ada("file_edit", { path: "shared.txt", old_text: "two", new_text: "three" })).ok);
      assert.match(await refused("file_undo", { change: own }), /shared\.txt was changed since; nothing was changed$/);
      assert.ok((await ada("file_undo", { change: "last" })).ok);
      await done("file_undo", { change: own });
      assert.equal(Deno.readTextFileSync(`${root}/shared.txt`), "one");
    }),
);
