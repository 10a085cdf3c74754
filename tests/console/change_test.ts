/** From a line of the audit to the change that it names: its difference, and undoing it. */
import assert from "node:assert/strict";
import { postMcp, toolCall } from "../fixtures/mcp_call.ts";
import { openSignedIn, setUpOwner } from "../fixtures/owner.ts";
import { createPerson, decodeEntities } from "../fixtures/person.ts";
import { makeServerPlace, runCommand, startServer } from "../fixtures/running_server.ts";
import { until } from "../fixtures/until.ts";

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
    const { html } = await openSignedIn(owner, `${server.url}/console/audit`);
    return /href="(\/console\/change\?[^"]+)"/.exec(html)?.[1] ?? null;
  });
  const page = await owner.open(new URL(decodeEntities(link), server.url));
  assert.ok(page.html.includes("<del>-one</del>") && page.html.includes("<ins>+two</ins>"), page.html);
  assert.ok(page.html.includes("a &lt;b&gt;.txt") && !page.html.includes("a <b>.txt"));

  const ada = createPerson(server.url);
  await ada.submit(await ada.open(`${server.url}/console`), { username: "ada", passphrase: secret });
  const foreign = await ada.open(new URL(decodeEntities(link), server.url));
  assert.match(foreign.html, /no longer kept, or there is none such/);
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
