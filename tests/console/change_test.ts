/** From a line of the audit to the change that it names: its difference, and undoing it. */
import assert from "node:assert/strict";
import { postMcp, toolCall } from "../fixtures/mcp_call.ts";
import { openSignedIn, setUpOwner } from "../fixtures/owner.ts";
import { createPerson, decodeEntities } from "../fixtures/person.ts";
import { makeServerPlace, runCommand, startServer } from "../fixtures/running_server.ts";
import { until } from "../fixtures/until.ts";
import { startDesk } from "./desk.ts";

const secret = "a long passphrase of ada";

Deno.test("a change is shown from its line in the audit, and undone there, by its person or an administrator", async () => {
  await using place = await makeServerPlace();
  await using server = await startServer(place);
  const owner = createPerson(server.url);
  await setUpOwner(owner, server);
  const added = await runCommand(["users", "add", "ada", "--data-dir", place.dataDir], { stdin: `${secret}\n` });
  assert.equal(added.code, 0, added.stderr);
  const made = await runCommand(["token", "create", "--scope", "files:write", "--data-dir", place.dataDir]);
  const call = async (tool: string, input: Record<string, unknown>): Promise<void> => {
    const answer = await postMcp(server.url, toolCall(tool, input), { token: made.stdout.trim() });
    assert.notEqual((await answer.json()).result.isError, true);
  };
  const path = `${place.workspaceDir}/a <b>.txt`;
  await Deno.writeTextFile(path, "one\n<script>\n");
  await call("file_edit", { path: "a <b>.txt", edits: [{ old_text: "one", new_text: "two" }] });

  const link = await until("the change has its line", async () => {
    const { html } = await openSignedIn(owner, `${server.url}/console/activity`);
    return /href="(\/console\/change\?[^"]+)"/.exec(html)?.[1] ?? null;
  });
  const page = await owner.open(new URL(decodeEntities(link), server.url));
  assert.ok(page.html.includes("<del>-one</del>") && page.html.includes("<ins>+two</ins>"), page.html);
  assert.ok(page.html.includes("a &lt;b&gt;.txt") && !page.html.includes("a <b>.txt"));

  const ada = createPerson(server.url);
  await ada.submit(await ada.open(`${server.url}/console`), { username: "ada", passphrase: secret });
  const foreign = await ada.open(new URL(decodeEntities(link), server.url));
  assert.match(foreign.html, /not kept any more, or does not exist/);
  const csrf = /name="csrf" value="([^"]+)"/.exec(foreign.html)?.[1] ?? "";
  const id = new URL(decodeEntities(link), server.url).searchParams.get("id") ?? "";
  const form = `<form method="post" action="/console/change"><input type="hidden" name="csrf" value="${csrf}"></form>`;
  const forged = await ada.submit({ ...foreign, html: form }, { act: "undo", id, person: "owner" });
  assert.equal(forged.status, 422);
  assert.equal(await Deno.readTextFile(path), "two\n<script>\n");

  const undone = await owner.submit(page, {}, 'value="undo"');
  assert.match(undone.html, /Undid file_edit of a &lt;b&gt;\.txt/);
  assert.equal(await Deno.readTextFile(path), "one\n<script>\n");
  const again = await owner.submit(page, {}, 'value="undo"');
  assert.equal(again.status, 422);
  assert.match(again.html, /undid it already/);
});

Deno.test("a change is the difference of the whole file, shown and undone by what is still known of it", async () => {
  await using desk = await startDesk();
  const { place, owner, server, call } = desk;
  const links = async (count: number): Promise<readonly string[]> =>
    await until("the changes have their lines", async () => {
      const { html } = await desk.page("activity");
      const found = new Set(Array.from(html.matchAll(/href="(\/console\/change\?[^"]+)"/g), ([, link = ""]) => link));
      return found.size >= count ? [...found].map(decodeEntities) : null;
    });
  const open = (link = "") => owner.open(new URL(link, server.url));
  const lines = Array.from({ length: 50 }, (_, index) => `line ${index + 1}\n`);
  await Deno.writeTextFile(`${place.workspaceDir}/big.txt`, lines.join(""));
  const edits = [2, 22, 42].map((line) => ({ old_text: `line ${line}\n`, new_text: `changed ${line}\n` }));
  await call("file_edit", { path: "big.txt", edits });
  const [edit] = await links(1);
  const hunks = ({ html }: { html: string }) => Array.from(html.matchAll(/@@ [^@]* @@/g), ([hunk]) => hunk);
  assert.deepEqual(hunks(await open(edit)), ["@@ -2 +2 @@", "@@ -22 +22 @@", "@@ -42 +42 @@"]);
  assert.match((await desk.page("activity")).html, />big\.txt<\/a>/);

  await Deno.writeTextFile(`${place.workspaceDir}/big.txt`, `${lines.join("")}more\n`);
  const changed = await open(edit);
  assert.deepEqual(hunks(changed), ["@@ -2 +2 @@", "@@ -22 +22 @@", "@@ -42 +42 @@"], "still of this call alone");
  assert.ok(!changed.html.includes("Undo this change"));
  assert.match(changed.html, /cannot be undone: big\.txt was changed since\.</);
  assert.doesNotMatch(changed.html, /nothing was changed|not kept/);

  await call("file_write", { filename: "new.md", content: "mine\n" });
  await Deno.writeTextFile(`${place.workspaceDir}/new.md`, "theirs\n");
  const created = await open((await links(2))[0]);
  assert.match(created.html, /created new\.md/);
  assert.ok(!created.html.includes("theirs") && !created.html.includes("Undo this change"));
});

Deno.test("every page offers the undos that work, says why others do not, and leaves what is long to judge to its own page", async () => {
  await using desk = await startDesk();
  const { place, owner, server, call } = desk;
  const overview = () => openSignedIn(owner, `${server.url}/console`);
  const pathIn = (name: string) => `${place.workspaceDir}/${name}`;
  for (const name of ["works.txt", "changed.txt", "taken.txt", "undone.txt"]) {
    await Deno.writeTextFile(pathIn(name), "before\n");
  }
  await Deno.writeFile(pathIn("large.bin"), new Uint8Array(9_000_000));
  const write = (name: string) => call("file_write", { filename: name, content: "after\n" });
  await write("undone.txt");
  const undone = await until("the change has its row", async () => {
    const page = await overview();
    return page.html.includes(">undone.txt</a>") ? page : null;
  });
  assert.match((await owner.submit(undone, {}, 'value="undo"')).html, /Undid file_write of undone\.txt/);
  await write("works.txt");
  await write("changed.txt");
  await call("file_delete", { path: "taken.txt" });
  await call("file_move", { path: "large.bin", destination: "moved.bin" });
  await Deno.writeTextFile(pathIn("changed.txt"), "theirs\n");
  await Deno.writeTextFile(pathIn("taken.txt"), "new\n");

  const offers = {
    "works.txt": "Undo",
    "changed.txt": "This change cannot be undone: changed.txt was changed since.",
    "taken.txt": "This change cannot be undone: there is something new at taken.txt.",
    "undone.txt": "undone",
    "moved.bin": "Undo…",
  };
  const offerIn = (html: string) => /<button[^>]*>(Undo)<|>(This change cannot[^<]*|undone|Undo…)</.exec(html);
  const words = (html: string) => offerIn(html)?.slice(1).join("");
  for (const section of ["", "/decisions", "/files?view=history"]) {
    const page = await until(`${section} has each change`, async () => {
      const { html } = await openSignedIn(owner, `${server.url}/console${section}`);
      return Object.keys(offers).every((each) => html.includes(each)) ? html : null;
    });
    const rows = page.split("<tr>").filter((row) => row.includes("</td>"));
    const found = Object.keys(offers).map((file) => [file, words(rows.findLast((row) => row.includes(file)) ?? "")]);
    assert.deepEqual(Object.fromEntries(found), offers, section);
  }
  // its own page judges it, however long that takes
  const { html } = await overview();
  const link = /<a href="([^"]+)">Undo…</.exec(html)?.[1] ?? assert.fail(html);
  const moved = await owner.submit(await owner.open(new URL(decodeEntities(link), server.url)), {}, 'value="undo"');
  assert.match(moved.html, /Undid file_move of moved\.bin/);
  const back = await owner.submit(await overview(), {}, 'value="undo"');
  assert.match(back.html, /Undid file_write of works\.txt/);
});
