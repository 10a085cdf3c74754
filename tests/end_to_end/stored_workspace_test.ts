/** WORKSPACE_STORE=storage on the usual server: files are in the database, no directory is made, users stay apart. */
import assert from "node:assert/strict";
import { postMcp, toolCall } from "../fixtures/mcp_call.ts";
import { makeServerPlace, runCommand, startServer } from "../fixtures/running_server.ts";

async function call(url: string, token: string, name: string, input: Record<string, unknown>) {
  const response = await postMcp(url, toolCall(name, input), { token });
  assert.equal(response.status, 200);
  return (await response.json()).result;
}

for (const workspaces of ["shared", "per-user"]) {
  Deno.test(`WORKSPACE_STORE=storage, ${workspaces}: files outlive the process in the database, behind the wall`, async () => {
    await using place = await makeServerPlace();
    const env = { DATA_DIR: place.dataDir, WORKSPACE_STORE: "storage", WORKSPACES: workspaces };
    const tokenOf = async (...user: string[]): Promise<string> => {
      const made = await runCommand(["token", "create", "--scope", "files:write", ...user], { env });
      assert.equal(made.code, 0, made.stderr);
      return made.stdout.trim();
    };
    const ada = await runCommand(["users", "add", "ada"], {
      env,
      stdin: "correct horse battery\ncorrect horse battery\n",
    });
    assert.equal(ada.code, 0, ada.stderr);
    const [ownersToken, adasToken] = [await tokenOf(), await tokenOf("--user", "ada")];
    {
      await using server = await startServer(place, { env });
      const written = await call(server.url, ownersToken, "file_write", { filename: "a/b.txt", content: "kept" });
      assert.equal(written.isError, false, JSON.stringify(written));
    }
    await using server = await startServer(place, { env });
    const read = await call(server.url, ownersToken, "file_read", { filename: "a/b.txt" });
    assert.match(JSON.stringify(read), /kept/);
    const others = await call(server.url, adasToken, "file_read", { filename: "a/b.txt" });
    assert.equal(others.isError, workspaces === "per-user");
    const onDisk = await Array.fromAsync(Deno.readDir(place.workspaceDir)).catch(() => []); // nobody made it, as a rule
    assert.deepEqual(onDisk, []);
  });
}
