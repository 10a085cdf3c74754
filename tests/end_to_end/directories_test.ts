/** Several directories in a running server: tools, confinement, and undo. */
import assert from "node:assert/strict";
import { call, createToken } from "../sandbox/call.ts";
import { makeServerPlace, startServer } from "../fixtures/running_server.ts";

Deno.test("the tools work in several directories, each confined, and one of them read-only", async () => {
  await using place = await makeServerPlace();
  const base = `${place.workspaceDir}-several`;
  for (const name of ["notes", "code"]) await Deno.mkdir(`${base}/${name}`, { recursive: true });
  await Deno.writeTextFile(`${base}/secret`, "secret");
  await Deno.writeTextFile(`${base}/code/main.ts`, "one\n");
  await Deno.symlink("../secret", `${base}/notes/link`);
  const env = {
    WORKSPACE_DIR: `notes=${base}/notes,code=${base}/code:ro,gone=${base}/gone`,
    OLLAMA_HOST: "127.0.0.1:1",
  };
  const token = await createToken(place.dataDir, "files:read files:write");
  await using server = await startServer(place, { env });
  const ask = (name: string, input: Record<string, unknown>): Promise<string> => call(server, token, name, input);
  try {
    assert.match(await ask("file_list", {}), /code\/[^]*gone\/[^]*notes\//);
    assert.match(await ask("file_write", { filename: "notes/plan.md", content: "plan\n" }), /plan/);
    assert.equal(await Deno.readTextFile(`${base}/notes/plan.md`), "plan\n");
    assert.match(await ask("file_write", { filename: "code/x", content: "x" }), /read-only/);
    assert.match(await ask("file_edit", { filename: "code/main.ts", old_text: "one", new_text: "two" }), /read-only/);
    assert.match(await ask("file_write", { filename: "x", content: "x" }), /top level/);
    assert.match(await ask("file_read", { filename: "gone/x" }), /away/);
    assert.match(await ask("file_read", { filename: "notes/link" }), /outside/);
    assert.match(await ask("file_read", { filename: `${base}/code/main.ts` }), /one/, "by the path of the machine");
    assert.match(await ask("file_search", { query: "plan|one", regex: true }), /code\/main.ts[^]*notes\/plan.md/);
    const copied = await ask("file_move", { path: "code/main.ts", destination: "notes/main.ts", copy: true });
    assert.match(copied, /notes\/main.ts/);
    assert.match(await ask("file_undo", {}), /notes\/main.ts/);
    await Deno.mkdir(`${base}/gone`);
    await Deno.writeTextFile(`${base}/gone/x`, "back");
    assert.match(await ask("file_read", { filename: "gone/x" }), /back/);
    assert.deepEqual(Array.from(Deno.readDirSync(`${base}/code`), ({ name }) => name), ["main.ts"]);
  } finally {
    await Deno.remove(base, { recursive: true });
  }
});
