/** Rules about places hold for what names lead to: a link in the workspace is no way around them. */
import assert from "node:assert/strict";
import { postMcp } from "../fixtures/mcp_call.ts";
import { showName } from "../../src/files/workspace/path.ts";
import { makeServerPlace } from "../fixtures/running_server.ts";
import { until } from "../fixtures/until.ts";
import { type Desk, fileIn, isThere, startDesk } from "./desk.ts";

type Input = Record<string, unknown>;

/** Links to a directory and a file, in a directory, through each other, and by another form of their name. */
async function layOut(root: string): Promise<void> {
  await Deno.mkdir(`${root}/secret/inner`, { recursive: true });
  await Deno.mkdir(`${root}/open/deep`, { recursive: true });
  await Deno.writeTextFile(`${root}/secret/a.txt`, "hidden\n");
  await Deno.writeTextFile(`${root}/secret/inner/b.txt`, "hidden\n");
  await Deno.writeTextFile(`${root}/open/own.txt`, "open\n");
  await Deno.symlink("secret", `${root}/way`);
  await Deno.symlink("../../secret/inner", `${root}/open/deep/way`);
  await Deno.symlink("secret/a.txt", `${root}/file`);
  await Deno.symlink("way/inner", `${root}/chain`);
  await Deno.symlink(`${root}/secret`, `${root}/absolute`);
  await Deno.symlink("secret", `${root}/e\u0301tage`);
  await Deno.symlink("open", `${root}/harmless`);
  await Deno.link(`${root}/secret/a.txt`, `${root}/twin.txt`);
  await Deno.mkdir(`${root}/twins`);
  await Deno.link(`${root}/secret/inner/b.txt`, `${root}/twins/b.txt`);
  await Deno.symlink("twins/b.txt", `${root}/to-twin`);
  await Deno.writeTextFile(`${root}/new.txt`, "new\n");
  await Deno.mkdir(`${root}/inbox`);
  await Deno.symlink("../secret/new.txt", `${root}/inbox/new.txt`); // of nothing that is there
  await Deno.symlink("../secret/a.txt", `${root}/inbox/own.txt`);
  for (const name of oddNames) await Deno.symlink("secret", `${root}/${name}`);
}

/** Names that callers write with escapes; one looks like an escape itself. */
const oddNames = ["w\\y", "w\ny", "w\u202ey", "w\\u{A}z", "c:way"];

/** Each way in which a call can name something of the refused place. */
const calls: readonly (readonly [tool: string, input: Input])[] = [
  ...[
    ...["file", "way/a.txt", "chain/b.txt", "open/deep/way/b.txt", "absolute/a.txt", "./way//a.txt"],
    ...["twin.txt", "twins/b.txt", "./twins//b.txt", "to-twin"],
  ].flatMap((name) => [
    ["file_read", { filename: name }] as const,
    ["file_read", { filename: "open/own.txt", files: [name] }] as const,
    ["file_read", { filename: name, link: true }] as const,
    ["file_edit", { path: name, edits: [{ old_text: "hidden", new_text: "x" }] }] as const,
    ["file_edit", { edits: [{ path: name, old_text: "hidden", new_text: "x" }] }] as const,
    ["file_write", { filename: name, content: "x" }] as const,
    ["file_write", { filename: name, link: true }] as const,
    ["file_write", { filename: "open/own.txt", content: "open\n", files: [{ filename: name, content: "x" }] }] as const,
    ["file_move", { path: name, destination: "open/copy.txt", copy: true }] as const,
    ["file_move", { path: "open/own.txt", destination: name, copy: true, overwrite: true }] as const,
    ["file_delete", { path: name }] as const,
  ]),
  ...oddNames.flatMap((name) => [
    ["file_read", { filename: `${showName(name)}/a.txt` }] as const,
    ["file_read", { filename: `${showName(name)}/a.txt:1-1` }] as const,
    ["file_write", { filename: `${showName(name)}/a.txt`, content: "x" }] as const,
    ["file_write", { filename: `${showName(name)}/a.txt`, link: true }] as const,
    ["file_search", { query: "hidden", path: showName(name) }] as const,
    ["file_move", { path: "open/own.txt", destination: `${showName(name)}/` }] as const,
  ]),
  ["file_read", { filename: "file:1-1" }],
  ["file_read", { filename: "\u00e9tage/a.txt" }],
  ["file_read", { filename: "e\u0301tage/a.txt" }],
  ["file_write", { filename: "way/new.txt", content: "x" }],
  ["file_write", { filename: "way/new/deeper.txt", content: "x" }],
  ["file_write", { filename: "open/deep/way/new.txt", content: "x", mode: "create" }],
  ["file_move", { path: "way/inner", destination: "open/inner" }],
  ["file_move", { path: "open/own.txt", destination: "way/own.txt" }],
  ["file_move", { destination: "way/directory" }],
  ...["new.txt", "./new.txt", "new.txt/.", "open/own.txt", "open/./own.txt", "harmless/own.txt"].flatMap((name) => [
    ["file_move", { path: name, destination: "inbox/", copy: true, overwrite: true }] as const,
    ["file_move", { paths: [name], destination: "inbox", copy: true, overwrite: true }] as const,
    ["file_move", { paths: ["open/deep", name], destination: "./inbox", overwrite: true }] as const,
    ["file_move", { path: name, paths: ["open/deep"], destination: "inbox/.", copy: true }] as const,
  ]),
  ["file_list", { path: "way" }],
  ["file_list", { path: "open/deep/way/" }],
  ["file_list", { path: "chain", depth: 3 }],
  ["file_search", { query: "hidden", path: "way" }],
  ["file_search", { query: "hidden", path: "absolute/inner" }],
  ["file_delete", { path: "chain", recursive: true }],
  ["file_undo", { change: "last" }],
];

async function stateOf(desk: Desk): Promise<string> {
  const names = [...Deno.readDirSync(`${desk.place.workspaceDir}/secret`)].map(({ name }) => name).sort();
  return JSON.stringify([names, await fileIn(desk, "secret/a.txt"), await fileIn(desk, "secret/inner/b.txt")]);
}

Deno.test("a refused place is refused by every link that leads there, for every tool", async () => {
  await using desk = await startDesk({ patienceMs: 0 });
  await layOut(desk.place.workspaceDir);
  await desk.rule({ place: "secret", verdict: "deny" });
  const before = await stateOf(desk);
  for (const [tool, input] of calls) {
    const { text, isError } = await desk.call(tool, input);
    const what = `${tool} ${JSON.stringify(input)}: ${text}`;
    assert.ok(isError && !text.includes("hidden") && text.includes("does not allow"), what);
  }
  assert.equal(await stateOf(desk), before);
  for (
    const [tool, input] of [["file_read", { filename: "harmless/own.txt" }], ["file_list", { path: "open" }]] as const
  ) {
    assert.equal((await desk.call(tool, input)).isError, false, tool);
  }
  const answer = async (method: string, params: Input): Promise<string> =>
    JSON.stringify(await (await postMcp(desk.server.url, { jsonrpc: "2.0", id: 1, method, params }, desk)).json());
  const ref = { type: "ref/resource", uri: "workspace:///{+path}" };
  for (const path of ["way/a.txt", "file", "open/deep/way/b.txt", "twin.txt", "twins/b.txt"]) {
    assert.doesNotMatch(await answer("resources/read", { uri: `workspace:///${path}` }), /hidden/);
  }
  for (const value of ["way/", "chain/", "open/deep/way/"]) {
    const { result } = JSON.parse(await answer("completion/complete", { ref, argument: { name: "path", value } }));
    assert.deepEqual(result.completion.values, [], value);
  }
  assert.match(await answer("resources/read", { uri: "workspace:///harmless/own.txt" }), /open/);
});

Deno.test("a rule about a link holds for what it leads to, by its own name too", async () => {
  await using desk = await startDesk();
  await layOut(desk.place.workspaceDir);
  await desk.rule({ place: "chain", verdict: "deny" });
  for (const filename of ["chain/b.txt", "secret/inner/b.txt", "way/inner/b.txt"]) {
    assert.ok((await desk.call("file_read", { filename })).isError, filename);
  }
  assert.equal((await desk.call("file_read", { filename: "secret/a.txt" })).isError, false);
});

Deno.test("what a call finds in a directory it reads by no name (hard link) of a file in a refused place", async () => {
  await using desk = await startDesk();
  const root = desk.place.workspaceDir;
  await layOut(root);
  await Deno.writeTextFile(`${root}/twins/own.txt`, "not hidden\n");
  await Deno.link(`${root}/twins/own.txt`, `${root}/open/own2.txt`);
  await desk.rule({ place: "secret", verdict: "deny" });
  const noneOf = async (directory: string): Promise<void> => {
    const search = { query: "hidden", path: directory };
    for (
      const [tool, input] of [
        ["file_search", search],
        ["file_search", { ...search, context: 3 }],
        ["file_search", { ...search, pattern: "*.txt" }],
        ["file_read", { filename: `${directory}/*.txt` }],
        ["file_read", { filename: "open/own.txt", files: [`${directory}/*.txt`] }],
        ["file_move", { path: directory, destination: "copy", copy: true }],
      ] as const
    ) {
      const { text } = await desk.call(tool, input);
      assert.doesNotMatch(text.replaceAll("not hidden", ""), /hidden$/m, `${tool} ${JSON.stringify(input)}`);
      if (tool === "file_search") assert.match(text, /own\.txt.*\n?.*not hidden/, text);
    }
    assert.equal(await isThere(desk, "copy/b.txt"), false);
  };
  await noneOf("twins");
  await desk.call("file_move", { path: "twins", destination: "open/twins" }); // no file of it changes
  await noneOf("open/twins");
  await Deno.link(`${root}/secret/a.txt`, `${root}/open/twins/late.txt`);
  await noneOf("open/twins");
});

Deno.test("a file that had its names (hard links) before a rule or a rename is judged by those of now", async () => {
  await using base = await makeServerPlace();
  const [one, two] = [`${base.workspaceDir}/one`, `${base.workspaceDir}/two`];
  for (const directory of [`${one}/plans`, `${one}/open`, `${one}/vault`, two]) {
    await Deno.mkdir(directory, { recursive: true });
  }
  await Deno.writeTextFile(`${one}/plans/a.txt`, "hidden\n");
  await Deno.link(`${one}/plans/a.txt`, `${one}/open/a.txt`);
  await using desk = await startDesk({ env: { WORKSPACE_DIR: `one=${one},two=${two}` } });
  const answers = async (): Promise<readonly string[]> => [
    (await desk.call("file_read", { filename: "one/open/a.txt" })).text,
    (await desk.call("file_search", { query: "hidden", path: "one/open" })).text,
  ];
  for (const text of await answers()) assert.match(text, /hidden$/m);
  await desk.rule({ place: "one/vault", verdict: "deny" });
  for (const text of await answers()) assert.match(text, /hidden$/m);
  await Deno.rename(`${one}/plans`, `${one}/vault/plans`); // the file itself does not change
  for (const text of await answers()) assert.doesNotMatch(text, /hidden$/m);
  await Deno.rename(`${one}/vault/plans`, `${one}/plans`);
  await Deno.symlink("../plans", `${one}/vault/plans`);
  for (const text of await answers()) assert.match(text, /hidden$/m);
});

Deno.test("a rule about one name of a file (hard link) asks for each other, and its approval is good for that", async () => {
  await using desk = await startDesk({ patienceMs: 0 });
  const root = desk.place.workspaceDir;
  await layOut(root);
  await desk.rule({ place: "twins", verdict: "ask" });
  for (
    const [tool, input] of [
      ["file_read", { filename: "secret/inner/b.txt" }],
      ["file_read", { filename: "twins/b.txt" }],
      ["file_search", { path: "twins", query: "hidden" }],
    ] as const
  ) {
    assert.match((await desk.call(tool, input)).text, /approval/, tool);
    if ("filename" in input) assert.match((await desk.page("decisions")).html, /Links lead to \S+\/b\.txt/);
    await desk.decide("approve");
    assert.match((await desk.call(tool, input)).text, /hidden/, tool);
  }
  assert.doesNotMatch((await desk.call("file_search", { path: "secret/inner", query: "hidden" })).text, /b\.txt:/);
  await desk.rule({ place: "twin.txt", verdict: "deny" });
  assert.match((await desk.call("file_read", { filename: "secret/a.txt" })).text, /does not allow/);
});

Deno.test("a lasting approval for a place does not let on what a link in it leads to", async () => {
  await using desk = await startDesk({ patienceMs: 0 });
  await layOut(desk.place.workspaceDir);
  await desk.rule({ place: "open", tool: "file_read", verdict: "ask" });
  assert.ok((await desk.call("file_read", { filename: "open/own.txt" })).isError);
  await desk.decide("approve", { extent: "always" });
  assert.equal((await desk.call("file_read", { filename: "open/own.txt" })).isError, false);
  assert.ok((await desk.call("file_read", { filename: "open/deep/way/b.txt" })).isError);
  await Deno.link(`${desk.place.workspaceDir}/secret/a.txt`, `${desk.place.workspaceDir}/open/twin.txt`);
  assert.ok((await desk.call("file_read", { filename: "open/twin.txt" })).isError);
});

Deno.test("an approval shows where links lead, and is for that alone", async () => {
  await using desk = await startDesk({ patienceMs: 0 });
  const root = desk.place.workspaceDir;
  await layOut(root);
  await desk.rule({ tool: "file_write", verdict: "ask" });
  const input = { filename: "way/new.txt", content: "x" };
  assert.ok((await desk.call("file_write", input)).isError);
  assert.match((await desk.page("decisions")).html, /Links lead to secret\/new\.txt/);
  await desk.decide("approve");
  await Deno.remove(`${root}/way`);
  await Deno.symlink("open", `${root}/way`);
  assert.match((await desk.call("file_write", input)).text, /approval/);
  assert.match((await desk.page("decisions")).html, /Links lead to open\/new\.txt/);
  await desk.decide("approve");
  assert.equal((await desk.call("file_write", input)).isError, false);
  assert.equal(await fileIn(desk, "open/new.txt"), "x");
});

Deno.test("an agent that puts a link in the place of a directory does not get past a rule", async () => {
  await using desk = await startDesk();
  const root = desk.place.workspaceDir;
  await layOut(root);
  await desk.rule({ place: "secret", verdict: "deny" });
  assert.equal((await desk.call("file_read", { filename: "open/own.txt" })).isError, false);
  for (const [path, destination] of [["open", "aside"], ["way", "open"]]) {
    await desk.call("file_move", { path, destination });
  }
  assert.ok((await desk.call("file_read", { filename: "open/a.txt" })).isError);
});

Deno.test("a refusal suggests no name of a refused place, and goes on suggesting others", async () => {
  await using desk = await startDesk();
  await layOut(desk.place.workspaceDir);
  const refusalOf = async (filename: string) => (await desk.call("file_read", { filename })).text;
  assert.match(await refusalOf("b.txt"), /secret\/inner\/b\.txt/);
  await desk.rule({ place: "secret", verdict: "deny" });
  for (const filename of ["b.txt", "a.txt", "Secert/a.txt", "secrt"]) {
    const text = await refusalOf(filename);
    assert.ok(!text.replace(filename, "").includes("secret"), text);
  }
  assert.match(await refusalOf("open/owm.txt"), /did you mean open\/own\.txt\?/);
});

Deno.test("a link to a file leads nowhere else when a link in the workspace takes the place of its directory", async () => {
  await using desk = await startDesk();
  await layOut(desk.place.workspaceDir);
  await desk.rule({ place: "secret", verdict: "deny" });
  const linkOf = async (tool: string, filename: string): Promise<string> => {
    const { text } = await desk.call(tool, { filename, link: true });
    return /http:\S+\/files\/[^\s"]+/.exec(text)?.[0] ?? assert.fail(text);
  };
  const [download, upload, slow] = await Promise.all([
    linkOf("file_read", "open/own.txt"),
    linkOf("file_write", "open/new.txt"),
    linkOf("file_write", "open/slow.txt"),
  ]);
  const goOn = Promise.withResolvers<void>();
  const body = new ReadableStream({
    async start(controller) {
      controller.enqueue(new Uint8Array(300_000));
      await goOn.promise;
      controller.close();
    },
  });
  const putting = fetch(slow, { method: "PUT", body });
  await until("it runs", () => desk.server.stderr().includes('"transfer_started"'));
  const root = desk.place.workspaceDir;
  await Deno.rename(`${root}/open`, `${root}/aside`);
  await Deno.rename(`${root}/way`, `${root}/open`);
  await Deno.writeTextFile(`${root}/secret/own.txt`, "hidden\n");
  goOn.resolve();
  for (const answer of [await putting, await fetch(upload, { method: "PUT", body: "x" }), await fetch(download)]) {
    const text = await answer.text();
    assert.ok(answer.status === 403 && !text.includes("hidden"), `${answer.status}: ${text}`);
  }
  assert.deepEqual([...Deno.readDirSync(`${root}/secret`)].map(({ name }) => name).sort(), [
    "a.txt",
    "inner",
    "own.txt",
  ]);
});
