/** `trash list` and `trash restore`, beside a running server and without one. */
import assert from "node:assert/strict";
import { postMcp, toolCall } from "../fixtures/mcp_call.ts";
import { makeServerPlace, runCommand, startServer } from "../fixtures/running_server.ts";

const settings: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  "a shared workspace on a disk": {},
  "a workspace for each user": { WORKSPACES: "per-user" },
  "a workspace in the storage": { WORKSPACE_STORE: "storage" },
};

for (const [where, env] of Object.entries(settings)) {
  Deno.test(`trash: the owner lists and restores what was replaced and deleted, in ${where}`, async () => {
    await using place = await makeServerPlace();
    const own = { DATA_DIR: place.dataDir, WORKSPACE_DIR: place.workspaceDir, ...env };
    const command = (...args: string[]) => runCommand(args, { env: own });
    const token = (await command("token", "create", "--scope", "files:write")).stdout.trim();
    const owner = env["WORKSPACES"] === undefined ? [] : ["--user", "owner"];
    {
      await using server = await startServer(place, { env });
      const call = async (tool: string, input: Record<string, unknown>): Promise<string> => {
        const { result } = await (await postMcp(server.url, toolCall(tool, input), { token })).json();
        return result.content[0].text;
      };
      await call("file_write", { filename: "d/f", content: "one" });
      await call("file_write", { filename: "d/f", content: "two" });
      await call("file_delete", { path: "d", recursive: true });

      const listed = await command("trash", "list", "--json", ...owner);
      assert.equal(listed.code, 0, listed.stderr);
      const [deleted, replaced, ...more] = listed.stdout.trim().split("\n").map((line) => JSON.parse(line));
      assert.deepEqual(more, []);
      assert.deepEqual(
        [deleted.path, deleted.kind, deleted.entries, deleted.tool, deleted.user],
        ["d", "directory", 2, "file_delete", "owner"],
      );
      assert.deepEqual([replaced.path, replaced.bytes, replaced.tool], ["d/f", 3, "file_write"]);
      assert.match((await command("trash", "list", ...owner)).stdout, /^[0-9a-z]+\.1 {2}\S+Z {2}owner {2}file_delete/);

      assert.equal((await command("trash", "restore", deleted.id, ...owner)).stderr, "restored d\n");
      assert.equal((await call("file_read", { filename: "d/f" })).split("\n")[0], "two");
      const refused = await command("trash", "restore", replaced.id, ...owner);
      assert.deepEqual([refused.code, refused.stderr.split("\n")[0]], [
        1,
        "error: d/f: there is something of this name already",
      ]);
      assert.equal((await call("file_read", { filename: "d/f" })).split("\n")[0], "two");
      assert.equal(
        (await command("trash", "restore", replaced.id, "--as", "old/f", ...owner)).stderr,
        "restored old/f\n",
      );
      assert.equal((await call("file_read", { filename: "old/f" })).split("\n")[0], "one");
    }
    const after = await command("trash", "list", ...owner);
    assert.deepEqual([after.code, after.stdout, after.stderr], [0, "", "nothing is kept\n"]);
    for (const id of ["nonsense", "../x", "0mws7e9lnc6e61c.1"]) {
      const unknown = await command("trash", "restore", id, ...owner);
      assert.deepEqual([unknown.code, unknown.stderr.split("\n")[0]], [1, "error: nothing of this id is kept"]);
    }
  });
}

Deno.test("trash: with a workspace for each user the owner is asked whose, and an unknown user has none", async () => {
  await using place = await makeServerPlace();
  const env = { DATA_DIR: place.dataDir, WORKSPACE_DIR: place.workspaceDir, WORKSPACES: "per-user" };
  await runCommand(["token", "create", "--scope", "files:read"], { env });
  const whose = await runCommand(["trash", "list"], { env });
  assert.deepEqual([whose.code, whose.stderr.split("\n")[0]], [1, "error: each user has a workspace here"]);
  const unknown = await runCommand(["trash", "list", "--user", "mallory"], { env });
  assert.equal(unknown.code, 1);
  assert.match(unknown.stderr, /there is no workspace/);
});
