import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { postMcp, toolCall } from "../fixtures/mcp_call.ts";
import { runCommand, type ServerPlace, startServer } from "../fixtures/running_server.ts";

async function placeOf4668edf(): Promise<ServerPlace> {
  const directory = await Deno.makeTempDir({ prefix: "portcullis-audit-upgrade-" });
  const made = fileURLToPath(new URL("../upgrade/made_at_4668edf/sqlite", import.meta.url));
  const copied = await new Deno.Command("cp", { args: ["-R", `${made}/.`, directory] }).output();
  assert.ok(copied.success);
  await Deno.chmod(`${directory}/data`, 0o700);
  await Deno.chmod(`${directory}/data/master.key`, 0o600);
  return {
    dataDir: `${directory}/data`,
    workspaceDir: `${directory}/workspace`,
    [Symbol.asyncDispose]: () => Deno.remove(directory, { recursive: true }),
  };
}

Deno.test("audit: a data directory that 4668edf made has none yet, and gets one with the first call", async () => {
  await using place = await placeOf4668edf();
  const command = (...args: string[]) => runCommand([...args, "--data-dir", place.dataDir]);
  assert.match((await command("audit", "head")).stderr, /nothing is stored yet/);
  assert.equal((await command("audit", "verify")).code, 0);
  const token = (await command("token", "create", "--scope", "files:read")).stdout.trim();
  {
    await using server = await startServer(place);
    await (await postMcp(server.url, toolCall("file_read", { filename: "notes/old.txt" }), { token })).text();
  }
  const { stdout } = await command("audit", "list", "--path", "notes/old.txt", "--json");
  assert.equal(JSON.parse(stdout).outcome, "ok");
  assert.equal((await command("audit", "verify")).code, 0);
});
