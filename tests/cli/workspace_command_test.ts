/** `workspace add|list|remove`, before the first start and beside a running server. */
import assert from "node:assert/strict";
import { call, createToken } from "../sandbox/call.ts";
import { makeServerPlace, runCommand, startServer } from "../fixtures/running_server.ts";
import { until } from "../fixtures/until.ts";

Deno.test("workspace: directories are added and removed beside a running server, which takes them in", async () => {
  await using place = await makeServerPlace();
  const base = `${place.workspaceDir}-several`;
  for (const name of ["notes", "code", "more"]) await Deno.mkdir(`${base}/${name}`, { recursive: true });
  await Deno.writeTextFile(`${base}/code/f`, "in code");
  await Deno.writeTextFile(`${base}/outside`, "outside");
  const env = { DATA_DIR: place.dataDir, WORKSPACE_DIR: `notes=${base}/notes`, OLLAMA_HOST: "127.0.0.1:1" };
  const command = (...args: string[]) => runCommand(["workspace", ...args], { env });
  const token = await createToken(place.dataDir, "files:read files:write");
  await using server = await startServer(place, { env });
  const reads = (name: string, input: Record<string, unknown>, expected: RegExp) =>
    until(`${name} to say ${expected}`, async () => {
      return expected.test(await call(server, token, name, input).catch(String)); // it listens anew
    });
  try {
    await reads("file_read", { filename: "code/f" }, /no such file/);
    const added = await command("add", `code=${base}/code:ro`);
    assert.equal(added.code, 0, added.stderr);
    assert.match(added.stderr, /code is added[^]*takes it in/);
    await reads("file_read", { filename: "code/f" }, /in code/);
    await reads("file_write", { filename: "code/f", content: "x" }, /read-only/);
    await reads("file_write", { filename: "notes/f", content: "x" }, /notes\/f/);
    const listed = (await command("list")).stdout.split("\n").map((line) => line.split(/ {2,}/));
    assert.deepEqual(listed.slice(0, 3).map(([name, access, from]) => [name, access, from]), [
      ["notes", "read and write", "WORKSPACE_DIR"],
      ["code", "read", "added"],
      ["", undefined, undefined],
    ]);
    await Deno.writeTextFile(`${place.dataDir}/directories`, `code=${base}/code:ro\nbad=${place.dataDir}\n`);
    await until("the refusal", () => server.stderr().includes("the directories stay as they are"));
    await reads("file_read", { filename: "code/f" }, /in code/); // as before
    await Deno.writeTextFile(`${place.dataDir}/directories`, `code=${base}/code:ro\n`);
    assert.equal((await command("remove", "code")).code, 0);
    await reads("file_read", { filename: "code/f" }, /no such file/);
    assert.equal(await Deno.readTextFile(`${base}/code/f`), "in code");
    for (const word of ["notes", "code"]) assert.match((await command("remove", word)).stderr, /was added/);
  } finally {
    await Deno.remove(base, { recursive: true });
  }
});

Deno.test("workspace add: what cannot be a directory of the workspace is refused, and nothing is kept", async () => {
  await using place = await makeServerPlace();
  await Deno.mkdir(`${place.workspaceDir}/inner`, { recursive: true });
  await Deno.mkdir(place.dataDir, { mode: 0o700 });
  const env = { DATA_DIR: place.dataDir, WORKSPACE_DIR: place.workspaceDir };
  const refused: [word: string, reason: RegExp][] = [
    ["code", /is not NAME=PATH/],
    ["a=/x,b=/y", /is not NAME=PATH/],
    [`a=${place.workspaceDir}/absent`, /is not a directory/],
    [`a=${place.workspaceDir}/inner`, /overlaps/],
    [`a=${place.dataDir}`, /data directory/],
    [`a=${place.dataDir}/..`, /holds/],
    ["a=/", /holds|system/],
    ["a=/etc", /system/],
    ["a=/proc", /system|not a directory/],
  ];
  for (const [word, reason] of refused) {
    const { code, stderr } = await runCommand(["workspace", "add", word], { env });
    assert.notEqual(code, 0, word);
    assert.match(stderr, reason, word);
  }
  assert.deepEqual(Array.from(Deno.readDirSync(place.dataDir)), []);
});

Deno.test("workspace add: the only directory becomes a folder at the next start", async () => {
  await using place = await makeServerPlace();
  const more = `${place.workspaceDir}-more`;
  for (const path of [more, place.workspaceDir]) await Deno.mkdir(path, { recursive: true });
  await Deno.writeTextFile(`${place.workspaceDir}/f`, "first");
  const env = { DATA_DIR: place.dataDir, WORKSPACE_DIR: place.workspaceDir };
  try {
    const added = await runCommand(["workspace", "add", `more=${more}`], { env });
    assert.match(added.stderr, /workspace=.*more=[^]*start the server again/);
    const token = await createToken(place.dataDir);
    await using server = await startServer(place, { env: { OLLAMA_HOST: "127.0.0.1:1" } });
    assert.match(await call(server, token, "file_read", { filename: "workspace/f" }), /first/);
  } finally {
    await Deno.remove(more, { recursive: true });
  }
});
