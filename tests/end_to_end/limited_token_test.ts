/** A token for some of the workspace's directories. */
import assert from "node:assert/strict";
import { call, createToken } from "../sandbox/call.ts";
import { makeServerPlace, runCommand, startServer } from "../fixtures/running_server.ts";
import { postMcp } from "../fixtures/mcp_call.ts";

Deno.test("a token for one directory neither reaches nor sees the others", async () => {
  await using place = await makeServerPlace();
  const base = `${place.workspaceDir}-several`;
  for (const name of ["notes", "code"]) {
    await Deno.mkdir(`${base}/${name}`, { recursive: true });
    await Deno.writeTextFile(`${base}/${name}/f.txt`, `word of ${name}`);
  }
  const env = {
    DATA_DIR: place.dataDir,
    WORKSPACE_DIR: `notes=${base}/notes,code=${base}/code`,
    OLLAMA_HOST: "127.0.0.1:1",
  };
  const scope = "files:read files:write";
  const make = (...args: string[]) => runCommand(["token", "create", "--scope", scope, ...args], { env });
  const refused = await make("--directories", "notes,absent");
  assert.equal(refused.code, 2);
  assert.match(refused.stderr, /absent[^]*it has: notes, code/);
  const made = await make("--directories", "notes");
  assert.equal(made.code, 0, made.stderr);
  assert.match((await runCommand(["token", "list"], { env })).stdout, /only notes/);
  const [limited, whole] = [made.stdout.trim(), await createToken(place.dataDir, scope)];
  await using server = await startServer(place, { env });
  const ask = (name: string, input: Record<string, unknown>, token = limited): Promise<string> =>
    call(server, token, name, input);
  try {
    assert.match(await ask("file_read", { filename: "notes/f.txt" }), /word of notes/);
    assert.match(await ask("file_read", { filename: "code/f.txt" }, whole), /word of code/);
    const attempts: [name: string, input: Record<string, unknown>][] = [
      ["file_read", { filename: "code/f.txt" }],
      ["file_read", { filename: `${base}/code/f.txt` }],
      ["file_write", { filename: "code/new.txt", content: "x" }],
      ["file_move", { path: "notes/f.txt", destination: "code/g.txt" }],
      ["file_move", { path: "code/f.txt", destination: "notes/g.txt", copy: true }],
      ["file_delete", { path: "code/f.txt" }],
      ["file_list", { path: "code" }],
      ["file_list", { recursive: true }],
      ["file_search", { query: "word" }],
    ];
    for (const [name, input] of attempts) {
      const text = await ask(name, input);
      assert.ok(!text.includes("word of code"), `${name}: ${text}`);
      if (!JSON.stringify(input).includes("code")) assert.ok(!text.includes("code"), `${name}: ${text}`);
    }
    await ask("file_write", { filename: "code/changed.txt", content: "x" }, whole);
    assert.doesNotMatch(await ask("file_undo", {}), /changed/);
    const listed = await postMcp(server.url, { jsonrpc: "2.0", id: 1, method: "resources/list", params: {} }, {
      token: limited,
    });
    const uris = (await listed.json()).result.resources.map(({ uri }: { uri: string }) => uri);
    assert.ok(uris.includes("workspace:///notes/f.txt"), JSON.stringify(uris));
    assert.ok(!uris.some((uri: string) => uri.includes("code")));
    assert.equal(await Deno.readTextFile(`${base}/code/f.txt`), "word of code");
    const names = Array.from(Deno.readDirSync(`${base}/code`), ({ name }) => name).filter((name) => !/^\./.test(name));
    assert.deepEqual(names.sort(), ["changed.txt", "f.txt"]);
  } finally {
    await Deno.remove(base, { recursive: true });
  }
});

Deno.test("a token for some directories reaches nothing where the workspace has none by now", async () => {
  await using place = await makeServerPlace();
  await Deno.mkdir(place.workspaceDir, { recursive: true });
  await Deno.writeTextFile(`${place.workspaceDir}/f.txt`, "word");
  const named = { DATA_DIR: place.dataDir, WORKSPACE_DIR: `notes=${place.workspaceDir}` };
  const made = await runCommand(["token", "create", "--scope", "files:read", "--directories", "notes"], { env: named });
  await using server = await startServer(place, { env: { OLLAMA_HOST: "127.0.0.1:1" } });
  const text = await call(server, made.stdout.trim(), "file_read", { filename: "f.txt" });
  assert.match(text, /no such file/);
});
