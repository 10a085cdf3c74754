/** Calls that wait for a person: held by rules, decided on the page, run once. */
import assert from "node:assert/strict";
import { postMcp } from "../fixtures/mcp_call.ts";
import { openSignedIn, ownerPassphrase, setUpOwner } from "../fixtures/owner.ts";
import { createPerson, type Page } from "../fixtures/person.ts";
import { makeServerPlace, runCommand, startServer } from "../fixtures/running_server.ts";
import { until } from "../fixtures/until.ts";
import { callTool, createToken, fileIn, isThere, startDesk } from "./desk.ts";

Deno.test("one click: reading goes on, a change waits, and runs once it is approved", async () => {
  await using desk = await startDesk();
  await Deno.writeTextFile(`${desk.place.workspaceDir}/a.txt`, "one\n");
  await desk.owner.submit(await desk.page("rules"), {}, 'value="guard"');
  assert.equal((await desk.call("file_read", { filename: "a.txt" })).isError, false);
  const waiting = desk.call("file_edit", { path: "a.txt", edits: [{ old_text: "one", new_text: "two" }] });
  await until("the edit waits", async () => (await desk.page("decisions")).html.includes("file_edit"));
  const { html } = await desk.page("decisions");
  assert.ok(html.includes("<del>-one</del>") && html.includes("<ins>+two</ins>"), "the page shows the difference");
  assert.equal(await fileIn(desk, "a.txt"), "one\n");
  const decided = await desk.decide("approve");
  assert.match(decided.html, /(?:Approved|Denied): /);
  const { text, isError } = await waiting;
  assert.equal(isError, false, text);
  assert.equal(await fileIn(desk, "a.txt"), "two\n");
});

Deno.test("an approval begins with what the call would do, in one line", async () => {
  await using desk = await startDesk({ patienceMs: 0 });
  await desk.rule({ tool: "changes", verdict: "ask" });
  await Deno.writeTextFile(`${desk.place.workspaceDir}/old.txt`, "one\n");
  await desk.call("file_delete", { path: "old.txt" });
  await desk.call("file_write", { filename: "new.txt", content: "two\n" });
  const { html } = await desk.page("decisions");
  assert.match(html, /<p><strong>Deletes old\.txt \([^<]*<\/strong>/);
  assert.match(html, /<p><strong>Writes new\.txt \(a new file\):<\/strong><\/p><pre class="difference"/);
  assert.doesNotMatch(html, /[Dd]ry run/);
});

Deno.test("each page that the console's menu names is there, and each page of its place", async () => {
  await using desk = await startDesk();
  const namesIn = (html: string, label: string): readonly string[] => {
    const [, menu = ""] = new RegExp(`<nav[^>]*aria-label="${label}">([^]*?)</nav>`).exec(html) ?? [];
    return Array.from(menu.matchAll(/<a href="\/console\/?([a-z]*)"/g), ([, name = ""]) => name);
  };
  const places = namesIn((await desk.page("activity")).html, "Console");
  assert.deepEqual(places, ["", "activity", "decisions", "connections", "files", "settings"]);
  const named = new Set(places.slice(1));
  for (const place of places.slice(1)) {
    for (const name of namesIn((await desk.page(place)).html, "Pages")) named.add(name);
  }
  for (const name of ["why", "people", "rules"]) assert.ok(named.has(name), name);
  for (const name of named) {
    const { html } = await desk.page(name);
    assert.equal(
      html.match(/aria-current="page"/g)?.length,
      places.includes(name) && !/"Pages"/.test(html) ? 1 : 2,
      name,
    );
  }
});

Deno.test("a denied call does nothing, and the agent gets the person's word", async () => {
  await using desk = await startDesk();
  await desk.rule({ tool: "file_write", verdict: "ask" });
  const waiting = desk.call("file_write", { filename: "b.txt", content: "<b>" });
  await desk.decide("deny", { word: "Use the other folder" });
  const { text, isError } = await waiting;
  assert.ok(isError && text.includes("Use the other folder"), text);
  assert.equal(await isThere(desk, "b.txt"), false);
  const again = await desk.call("file_write", { filename: "b.txt", content: "<b>" });
  assert.ok(again.isError && again.text.includes("refused"), "asking again does not wear the person out");
});

Deno.test("a client that cannot wait is told to come again, and its call runs once after the approval", async () => {
  await using desk = await startDesk({ patienceMs: 0 });
  await desk.rule({ tool: "changes", verdict: "ask" });
  const input = { filename: "c.txt", content: "c", mode: "append" };
  const first = await desk.call("file_write", input);
  assert.ok(first.isError && /call again with these same arguments/.test(first.text), first.text);
  const other = await desk.call("file_write", { ...input, content: "d" });
  assert.ok(other.isError);
  const page = await desk.page("decisions");
  assert.equal(page.html.match(/<article/g)?.length, 2);
  await desk.decide("approve"); // the older one
  assert.equal(await isThere(desk, "c.txt"), false, "an approval runs nothing by itself");
  const answers = await Promise.all([1, 2, 3].map(() => desk.call("file_write", input)));
  assert.equal(answers.filter(({ isError }) => !isError).length, 1, JSON.stringify(answers));
  assert.equal(await fileIn(desk, "c.txt"), "c");
  assert.ok((await desk.call("file_write", { ...input, content: "d" })).isError, "other arguments are another call");
});

Deno.test("where too many calls of a client wait, a decision about one makes place for the next", async () => {
  await using desk = await startDesk({ patienceMs: 0 });
  await desk.rule({ tool: "changes", verdict: "ask" });
  const ask = (number: number) => desk.call("file_write", { filename: `${number}.txt`, content: "c" });
  let asked = 0;
  while (/call again with these same arguments/.test((await ask(asked)).text)) assert.ok(++asked < 100);
  assert.ok(asked > 10);
  const { text } = await ask(asked);
  assert.match(text, /too many calls wait for approval\. Try again after a decision/);
  await desk.decide("deny");
  assert.match((await ask(asked)).text, /call again with these same arguments/);
  await desk.decide("approve");
  const approved = (await Promise.all([1, 0].map(ask))).filter(({ isError }) => !isError);
  assert.equal(approved.length, 1);
});

Deno.test("an approval is for what the page showed: a file that changed meanwhile asks again", async () => {
  await using desk = await startDesk({ patienceMs: 0 });
  const path = `${desk.place.workspaceDir}/e.txt`;
  await Deno.writeTextFile(path, "one\nkeep\n");
  await desk.rule({ tool: "file_edit", verdict: "ask" });
  const input = { path: "e.txt", edits: [{ old_text: "one", new_text: "two" }] };
  assert.ok((await desk.call("file_edit", input)).isError);
  const shown = await desk.page("decisions");
  await Deno.writeTextFile(path, "new first line\none\nkeep\n");
  assert.ok((await desk.call("file_edit", input)).isError);
  const late = await desk.owner.submit(shown, { decision: "approve" }, 'value="decide"');
  assert.match(late.html, /has changed since you saw it/);
  await desk.decide("approve");
  await Deno.writeTextFile(path, "once more\none\nkeep\n");
  assert.ok((await desk.call("file_edit", input)).isError, "approved for another effect");
  assert.equal(await Deno.readTextFile(path), "once more\none\nkeep\n");
  await desk.decide("approve");
  assert.equal((await desk.call("file_edit", input)).isError, false);
});

Deno.test("the page shows what each change would do, not the arguments", async () => {
  await using desk = await startDesk({ patienceMs: 0 });
  const root = desk.place.workspaceDir;
  await Deno.mkdir(`${root}/old/inner`, { recursive: true });
  await Deno.mkdir(`${root}/in`);
  for (const name of ["old/a.txt", "old/inner/b.txt", "there.txt", "in/there.txt"]) {
    await Deno.writeTextFile(`${root}/${name}`, "was\n");
  }
  await desk.rule({ tool: "changes", verdict: "ask" });
  const shown = [
    ["file_write", { filename: "there.txt", content: "is\n" }, ["<del>-was</del>", "<ins>+is</ins>", "4 bytes now"]],
    ["file_write", { filename: "new.txt", content: "is\n", mode: "create" }, ["a new file", "<ins>+is</ins>"]],
    ["file_delete", { path: "old", recursive: true }, ["with 3 entries", "- inner/b.txt"]],
    ["file_edit", { path: "there.txt", old_text: "was", new_text: "is" }, ["<del>-was</del>", "1 replacement"]],
    ["file_move", { path: "old/a.txt", destination: "there.txt", overwrite: true }, ["replacing a file (4 bytes now"]],
    ["file_move", { paths: ["there.txt/."], destination: "old/inner" }, ["Moves there.txt/. to old/inner/there.txt"]],
    ["file_move", { paths: ["there.txt/."], destination: "in" }, ["in/there.txt, replacing a file (4 bytes now"]],
  ] as const;
  for (const [tool, input, words] of shown) {
    assert.ok((await desk.call(tool, input)).isError);
    const { html } = await desk.page("decisions");
    for (const each of [...words, `a token of the command line: ${tool}`]) {
      assert.ok(html.includes(each), `${tool}: ${each}\n${html}`);
    }
    assert.doesNotMatch(html, /dry run|portcullis-cli:/);
    await desk.decide("deny");
  }
});

Deno.test("a call that would fail is held like any other: the person sees why, the caller learns it after that", async () => {
  await using desk = await startDesk({ patienceMs: 0 });
  await desk.rule({ tool: "changes", verdict: "ask" });
  const input = { path: "gone.txt", edits: [{ old_text: "a", new_text: "b" }] };
  const held = await desk.call("file_edit", input);
  assert.match(held.text, /waits for a person's approval/);
  assert.match((await desk.page("decisions")).html, /This call would fail: [^<]*gone\.txt/);
  await desk.decide("approve");
  const { text, isError } = await desk.call("file_edit", input);
  assert.ok(isError && /gone\.txt/.test(text) && !/approval/.test(text), text);
});

Deno.test("places: a refused directory is refused by every spelling, and for what holds it", async () => {
  await using desk = await startDesk();
  await Deno.mkdir(`${desk.place.workspaceDir}/secret/inner`, { recursive: true });
  await Deno.writeTextFile(`${desk.place.workspaceDir}/secret/a.txt`, "hidden");
  await Deno.writeTextFile(`${desk.place.workspaceDir}/secretary.txt`, "open");
  await desk.rule({ place: "secret", verdict: "deny" });
  for (
    const [tool, input] of [
      ["file_read", { filename: "secret/a.txt" }],
      ["file_read", { filename: "./secret/a.txt" }],
      ["file_read", { filename: "secret//a.txt" }],
      ["file_read", { filename: "other/../secret/a.txt" }],
      ["file_read", { filename: "SECRET/a.txt" }],
      ["file_read", { filename: "secretary.txt", files: ["secret/a.txt"] }],
      ["file_list", { path: "secret/" }],
      ["file_list", {}],
      ["file_search", { query: "hidden" }],
      ["file_move", { path: "secret/a.txt", destination: "b.txt" }],
      ["file_move", { path: "secretary.txt", destination: "secret/b.txt" }],
      ["file_delete", { path: "secret", recursive: true }],
      ["file_write", { filename: "secret/inner/new.txt", content: "x" }],
    ] as const
  ) {
    const { text, isError } = await desk.call(tool, input);
    assert.ok(isError && !text.includes("hidden"), `${tool} ${JSON.stringify(input)}: ${text}`);
  }
  const read = async (path: string) => {
    const message = { jsonrpc: "2.0", id: 1, method: "resources/read", params: { uri: `workspace:///${path}` } };
    return JSON.stringify(await (await postMcp(desk.server.url, message, { token: desk.token })).json());
  };
  assert.doesNotMatch(await read("secret/a.txt"), /hidden/);
  assert.match(await read("secretary.txt"), /open/);
  assert.match((await desk.call("file_read", { filename: "secretary.txt" })).text, /^open/);
});

Deno.test("people decide for themselves, and administrators where the rule wants one", async () => {
  await using desk = await startDesk({ patienceMs: 0 });
  const { server, place } = desk;
  const invited = await desk.owner.submit(await desk.page("people"), { user: "ada" }, 'value="invite"');
  const link = /<pre>([^<]*)<\/pre>/.exec(invited.html)?.[1] ?? "";
  const ada = createPerson(server.url);
  const secret = ownerPassphrase + " of ada";
  await ada.submit(await ada.open(link), { passphrase: secret, confirmation: secret });
  const adaPage = async (): Promise<Page> => {
    const page = await ada.open(`${server.url}/console/decisions`);
    return page.html.includes('name="passphrase"')
      ? await ada.submit(page, { username: "ada", passphrase: secret })
      : page;
  };
  const adaToken = await createToken(place, "ada");
  const write = (name: string) => callTool(server, adaToken, "file_write", { filename: name, content: "x" });
  await desk.rule({ tool: "file_write", verdict: "ask" });
  assert.ok((await write("own.txt")).isError);
  assert.ok((await desk.call("file_write", { filename: "owner.txt", content: "x" })).isError);
  const own = await adaPage();
  assert.ok(own.html.includes("own.txt") && !own.html.includes("owner.txt"));
  const foreign = /name="call" value="([0-9a-f]+)"/.exec((await desk.page("decisions?person=owner")).html)?.[1] ?? "";
  await ada.submit(own, { decision: "approve" }, 'value="decide"');
  assert.equal((await write("own.txt")).isError, false);
  await desk.rule({ tool: "file_write", verdict: "ask", approver: "administrator" });
  assert.ok((await write("second.txt")).isError);
  assert.ok(!(await adaPage()).html.includes("<article"), "not hers to decide");
  const again = await write("third.txt");
  assert.ok(again.isError);
  const forged = await ada.submit(own, { decision: "approve", call: foreign }, 'value="decide"');
  assert.doesNotMatch(forged.html, /(?:Approved|Denied): /);
});

Deno.test("an approval for an hour holds for this connection, a lasting one becomes a rule in words", async () => {
  await using desk = await startDesk({ patienceMs: 0 });
  await desk.rule({ tool: "changes", verdict: "ask" });
  assert.ok((await desk.call("file_write", { filename: "h.txt", content: "1" })).isError);
  await desk.decide("approve", { extent: "hour" });
  assert.equal((await desk.call("file_write", { filename: "other.txt", content: "2" })).isError, false);
  const second = await createToken(desk.place, "owner");
  assert.ok((await callTool(desk.server, second, "file_write", { filename: "s.txt", content: "1" })).isError);
  assert.ok((await desk.call("file_move", { path: "other.txt", destination: "m.txt" })).isError, "another tool");
  const { html } = await desk.page("rules");
  assert.match(html, /Calls for owner by .* \(one connection\) of file_write are allowed\./);
});

Deno.test("a rule is tried on the last day's calls before it holds", async () => {
  await using desk = await startDesk();
  await Deno.writeTextFile(`${desk.place.workspaceDir}/a.txt`, "one\n");
  for (const name of ["x.txt", "y.txt"]) await desk.call("file_write", { filename: name, content: "1" });
  await desk.call("file_read", { filename: "a.txt" });
  await until("the calls are in the audit", async () => {
    const tried = await desk.owner.submit(
      await desk.page("rules"),
      { tool: "changes", verdict: "ask", trial: "yes" },
      'value="add"',
    );
    return /would have held <strong>2<\/strong>\s+of 3 calls/.test(tried.html);
  });
  assert.match((await desk.page("rules")).html, /There are no rules/);
});

Deno.test("what waits and what was approved outlives a restart", async () => {
  await using place = await makeServerPlace();
  const bounds = { approval: { patienceMs: 0 } };
  const token = await createToken(place, "owner");
  const input = { filename: "r.txt", content: "r" };
  const cookies = new Map<string, string>();
  let port = "0";
  const start = async () => {
    const server = await startServer(place, { bounds, env: { PORT: port } });
    port = new URL(server.url).port;
    return { server, owner: createPerson(server.url, fetch, cookies) };
  };
  {
    const { server, owner } = await start();
    await setUpOwner(owner, server);
    const ruled = await owner.submit(await openSignedIn(owner, `${server.url}/console/rules`), {}, 'value="guard"');
    assert.match(ruled.html, /By owner\./, "who made a rule is said beside it");
    assert.ok((await callTool(server, token, "file_write", input)).isError);
    await server.stop("SIGKILL");
  }
  {
    const { server, owner } = await start();
    const page = await openSignedIn(owner, `${server.url}/console/decisions`);
    await owner.submit(page, { decision: "approve" }, 'value="decide"');
    await server.stop();
  }
  const { server } = await start();
  assert.equal((await callTool(server, token, "file_write", input)).isError, false);
  assert.ok((await callTool(server, token, "file_write", { ...input, content: "other" })).isError, "the rule holds");
  await server.stop();
});

Deno.test("calls whose access was ended wait for nobody, and cannot be approved from a page that is still open", async () => {
  await using desk = await startDesk({ patienceMs: 0 });
  const invited = await desk.owner.submit(await desk.page("people"), { user: "ada" }, 'value="invite"');
  const [, link = ""] = /<pre>([^<]*)<\/pre>/.exec(invited.html) ?? assert.fail(invited.html);
  const ada = createPerson(desk.server.url);
  await ada.submit(await ada.open(link), { passphrase: ownerPassphrase, confirmation: ownerPassphrase });
  await desk.rule({ tool: "changes", verdict: "ask" });
  const ended = await createToken(desk.place, "owner");
  const adas = await createToken(desk.place, "ada");
  await callTool(desk.server, ended, "file_write", { filename: "revoked.txt", content: "a" });
  await callTool(desk.server, adas, "file_write", { filename: "disabled.txt", content: "a" });
  await desk.call("file_write", { filename: "live.txt", content: "a" });
  const before = await desk.page("decisions");
  for (const name of ["revoked", "disabled", "live"]) assert.ok(before.html.includes(`${name}.txt`), name);
  const [, id = ""] = ended.split("_");
  const revoked = await runCommand(["token", "revoke", id, "--data-dir", desk.place.dataDir]);
  assert.equal(revoked.code, 0, revoked.stderr);
  const people = await desk.page("people");
  await desk.owner.submit(people, { user: "ada" }, 'value="disable"');
  const after = await desk.page("decisions");
  assert.deepEqual(["revoked", "disabled", "live"].filter((name) => after.html.includes(`${name}.txt`)), ["live"]);
  for (const name of ["revoked", "disabled"]) {
    const held = before.html.split('<article class="held"').find((part) => part.includes(`${name}.txt`)) ?? "";
    const [, call = ""] = /name="call" value="([0-9a-f]{64})"/.exec(held) ?? assert.fail(before.html);
    const [, effect = ""] = /name="effect" value="([0-9a-f]+)"/.exec(held) ?? [];
    const stale = { ...before, html: `<form ${held.split("<form ")[1]?.split("</form>")[0]}</form>` };
    const decided = await desk.owner.submit(stale, { call, effect, decision: "approve" });
    assert.match(decided.html, /The access of its agent was ended/);
  }
});
