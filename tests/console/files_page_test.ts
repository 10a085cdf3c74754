/** The console's Files: the same files, rules and confinement as the tools, for the person who is signed in. */
import assert from "node:assert/strict";
import { createPerson, decodeEntities, type Page, type Person } from "../fixtures/person.ts";
import { makeWord } from "../documents/make_document.ts";
import { runCommand, type RunningServer } from "../fixtures/running_server.ts";
import { until } from "../fixtures/until.ts";
import { callTool, createToken, type Desk, fileIn, startDesk } from "./desk.ts";

const secret = "a long passphrase of ada";

function addressOf(query: Readonly<Record<string, string>>): string {
  return `files?${new URLSearchParams(query)}`;
}

async function addPerson(desk: Desk, name: string): Promise<Person> {
  const added = await runCommand(["users", "add", name, "--data-dir", desk.place.dataDir], { stdin: `${secret}\n` });
  assert.equal(added.code, 0, added.stderr);
  const person = createPerson(desk.server.url);
  await person.submit(await person.open(`${desk.server.url}/console`), { username: name, passphrase: secret });
  return person;
}

const pageOf = (person: Person, { url }: RunningServer, query: Readonly<Record<string, string>>): Promise<Page> =>
  person.open(`${url}/console/${addressOf(query)}`);

/** The addresses of a page's links whose words are these. */
function linksOf({ html, url }: Page, words: string): URL[] {
  return Array.from(html.matchAll(/<a href="([^"]+)"[^>]*>([^<]*)<\/a>/g))
    .flatMap(([, link = "", text = ""]) => decodeEntities(text) === words ? [new URL(decodeEntities(link), url)] : []);
}

function linkOf(page: Page, words: string): URL {
  const [link] = linksOf(page, words);
  assert.ok(link !== undefined, `no link ${words}: ${page.html}`);
  return link;
}

const textLines = ({ html }: Page): string[] =>
  Array.from(html.matchAll(/<li[^>]*>([^<]*)<\/li>/g), ([, line = ""]) => decodeEntities(line));

Deno.test("files are browsed, read in pages, searched and downloaded", async () => {
  await using desk = await startDesk();
  const { place, owner } = desk;
  await Deno.mkdir(`${place.workspaceDir}/notes/deep`, { recursive: true });
  await Deno.writeTextFile(`${place.workspaceDir}/notes/plan.md`, "# Plan\nbuy <b>milk</b>\n");
  await Deno.writeTextFile(
    `${place.workspaceDir}/long.txt`,
    Array.from({ length: 1e6 }, (_, at) => `line ${at + 1}\n`).join(""),
  );
  const root = await desk.page("files");
  const notes = await owner.open(linkOf(root, "notes/"));
  assert.ok(linksOf(notes, "deep/").length === 1);
  const plan = await owner.open(linkOf(notes, "plan.md"));
  assert.deepEqual(textLines(plan), ["# Plan", "buy <b>milk</b>"]);
  assert.match(plan.html, /<ol class="text" start="1">/);
  const above = await owner.open(linkOf(plan, "notes"));
  assert.ok(linksOf(above, "plan.md").length === 1, "the way back");

  const long = await owner.open(linkOf(root, "long.txt"));
  const first = textLines(long);
  assert.equal(first[0], "line 1");
  const next = textLines(await owner.open(linkOf(long, "Next lines")));
  assert.equal(next[0], `line ${first.length + 1}`);
  const far = await desk.page(addressOf({ path: "long.txt", line: "999990" }));
  assert.equal(textLines(far)[0], "line 999990");
  assert.match(far.html, /start="999990"/);

  const found = await desk.page(addressOf({ find: "MILK" }));
  assert.equal(linkOf(found, "notes/plan.md").searchParams.get("line"), "2");
  assert.ok(found.html.includes("buy &lt;b&gt;milk&lt;/b&gt;"));
  assert.equal(
    linkOf(await desk.page(addressOf({ find: "plan" })), "notes/plan.md").searchParams.get("path"),
    "notes/plan.md",
  );
  assert.match((await desk.page(addressOf({ find: "nowhere to be found" }))).html, /No matches/);

  const sent = await owner.open(linkOf(plan, "Download"));
  assert.equal(sent.html, "# Plan\nbuy <b>milk</b>\n");
  const lines = await until("acts of a person are in the audit", async () => {
    const { html } = await desk.page("activity");
    return html.includes("file downloaded") && html.includes("file viewed") ? html : null;
  });
  assert.ok(lines.includes("notes/plan.md"));
});

Deno.test("a directory of many entries is shown page by page", async () => {
  await using desk = await startDesk();
  const names = Array.from({ length: 450 }, (_, at) => `file-${String(at).padStart(4, "0")}`);
  for (const name of names) Deno.writeTextFileSync(`${desk.place.workspaceDir}/${name}`, "");
  const seen: string[] = [];
  let page = await desk.page("files");
  for (let pages = 0; pages < 3; pages++) {
    seen.push(...Array.from(page.html.matchAll(/>(file-\d+)</g), ([, name = ""]) => name));
    const [more] = linksOf(page, "More");
    if (more === undefined) break;
    page = await desk.owner.open(more);
  }
  assert.deepEqual(seen, names);
});

Deno.test("nothing of a file runs or is framed on our origin", async () => {
  await using desk = await startDesk();
  const { place, owner } = desk;
  const root = place.workspaceDir;
  const script = `<script>document.title="taken"</script>`;
  const pixel = Uint8Array.fromBase64(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  );
  const hostile = `"><script>x\u202egpj.svg`;
  await Deno.writeTextFile(`${root}/page.html`, `<!doctype html>${script}`);
  await Deno.writeTextFile(`${root}/${hostile}`, `<svg xmlns="http://www.w3.org/2000/svg">${script}</svg>`);
  await Deno.writeFile(`${root}/pixel.png`, pixel);
  await Deno.writeFile(`${root}/data.bin`, new Uint8Array([0, 1, 2, 3, 0, 255]));

  const listed = await desk.page("files");
  assert.ok(!listed.html.includes("<script>x") && !listed.html.includes("\u202e"));
  const listedHostile = [...listed.html.matchAll(/<a href="([^"]+)"[^>]*>[^<]*gpj\.svg<\/a>/g)];
  assert.equal(listedHostile.length, 1);
  const svg = await owner.open(new URL(decodeEntities(listedHostile[0]?.[1] ?? ""), listed.url));
  assert.ok(svg.html.includes("&lt;svg"), "the shown name is the way to the file");
  for (const [name, path] of [["page.html", "page.html"], ["svg", hostile]] as const) {
    const page = await desk.page(addressOf({ path }));
    assert.ok(page.html.includes("&lt;script&gt;document.title"), name);
    assert.ok(!page.html.includes(script) && !page.html.includes("\u202e"), name);
    assert.ok(!page.html.includes("<img"), "a picture with script in it is text");
  }
  const picture = await desk.page(addressOf({ path: "pixel.png" }));
  assert.match(picture.html, /<img[^>]+src="data:image\/png;base64,/);
  assert.match(picture.headers.get("content-security-policy") ?? "", /default-src 'none'.*img-src data:/);
  assert.match((await desk.page(addressOf({ path: "data.bin" }))).html, /no preview/);

  for (const path of ["page.html", hostile, "pixel.png"]) {
    const { headers } = await owner.open(`${desk.server.url}/console/${addressOf({ path, download: "1" })}`);
    assert.match(headers.get("content-disposition") ?? "", /^attachment; filename="/);
    assert.equal(headers.get("content-type"), "application/octet-stream");
    assert.match(headers.get("content-security-policy") ?? "", /sandbox; default-src 'none'/);
    assert.equal(headers.get("x-content-type-options"), "nosniff");
    assert.match(headers.get("cache-control") ?? "", /no-store/);
    assert.equal(headers.get("access-control-allow-origin"), null);
    assert.ok(!(headers.get("content-disposition") ?? "").includes("\u202e"));
  }
});

Deno.test("a person who reads a file sees each of its characters, and the text stays readable", async () => {
  await using desk = await startDesk();
  const root = desk.place.workspaceDir;
  const unseen = [
    "\u200b",
    "\u2060",
    "\ufeff",
    "\u00ad",
    "\u034f",
    "\u3164",
    "\u2800",
    "\ufffc",
    "\u{e0072}",
    "\u{e0100}",
  ];
  const turning = ["\u202e", "\u2066", "\u200f", "\u061c", "\u2028", "\u0007", "\u001b", "\u009b"];
  const misplaced = ["\u200d", "\u200c", "\ufe0f", "\ufe0e", "\u0301\u200d"]; // they shape nothing after this letter
  const characters = [...unseen, ...turning, ...misplaced];
  const readable = [
    "tab\there",
    "a\u00a0b",
    "⚠\ufe0f 1\ufe0f\u20e3",
    "👩🏽\u200d🚀 ❤\ufe0f\u200d🔥",
    "می\u200cخواهم",
    "क्\u200dष",
    "привет ＡＢ",
  ];
  const lines = [...characters.map((each) => `pass a${each}b`), ...readable.map((each) => `pass ${each}`)];
  await Deno.writeTextFile(`${root}/a.txt`, `pass\n${lines.join("\r\n")}\r\n`);
  await Deno.writeTextFile(
    `${root}/chain.txt`,
    `pass ⚠${"\ufe0f\ufe0e".repeat(9)}x\npass ⚠\ufe0f${"\u200d".repeat(9)}🔥\n`,
  );
  const pages = [await desk.page(addressOf({ path: "a.txt" })), await desk.page(addressOf({ find: "pass" }))];
  for (const { html } of pages) {
    for (const each of characters) {
      const shown = each.replace(/[^\u0301]/u, (one) => `\\u{${one.codePointAt(0)?.toString(16).toUpperCase()}}`);
      assert.ok(!html.includes(`a${each}b`) && html.includes(`a${shown}b`), shown);
    }
    for (const each of readable) assert.ok(html.includes(`pass ${each}`), each);
    assert.ok(!html.includes("\\u{D}"), "ends of lines are none");
  }
  const chain = await desk.page(addressOf({ path: "chain.txt" }));
  assert.deepEqual(
    textLines(chain).map((line) => line.match(/[\ufe0e\ufe0f\u200d]/g)?.length),
    [1, 1],
    "nothing is told by them",
  );
});

Deno.test("no path leads out of the workspace", async () => {
  await using desk = await startDesk();
  const root = desk.place.workspaceDir;
  await Deno.writeTextFile(`${desk.place.dataDir}/outside.txt`, "outside\n");
  await Deno.symlink(`${desk.place.dataDir}/outside.txt`, `${root}/link`);
  await Deno.symlink(desk.place.dataDir, `${root}/way`);
  await Deno.writeTextFile(`${root}/inside.txt`, "inside\n");
  const outside = [
    "../outside.txt",
    "link",
    "way",
    "way/outside.txt",
    "/etc/passwd",
    "%2e%2e/x",
    "a/../../x",
    "..\\x",
    "\0",
    ".portcullis",
    "inside.txt/x",
    "C:\\x",
  ];
  for (const path of outside) {
    for (const more of [{}, { view: "history" }, { download: "1" }, { find: "outside" }, { version: "abcdefghi.1" }]) {
      const page = await desk.page(addressOf({ path, ...more }));
      assert.equal(page.status, 200, path);
      assert.ok(page.html.includes("<main"), "a page, not a file");
      assert.doesNotMatch(
        page.html,
        /root:|outside\n|portcullis\.db|>outside<|master\.key/,
        `${path} ${JSON.stringify(more)}`,
      );
    }
  }
});

Deno.test("a file's history says who did what, shows and restores its versions, and undoes", async () => {
  await using desk = await startDesk();
  const { owner } = desk;
  await desk.call("file_write", { filename: "a/plan.md", content: "one\n" });
  await desk.call("file_write", { filename: "a/plan.md", content: "two\n" });
  await desk.call("file_move", { path: "a/plan.md", destination: "b/plan.md" });
  await desk.call("file_edit", { path: "b/plan.md", edits: [{ old_text: "two", new_text: "three" }] });
  const history = await desk.page(addressOf({ path: "b/plan.md", view: "history" }));
  assert.equal(linkOf(history, "All calls").searchParams.get("target"), "b/plan.md");
  const did = ["edited", "moved from a/plan.md", "replaced", "created"];
  const places = did.map((words) => history.html.indexOf(words));
  assert.ok(places.every((at) => at > 0), `${places}`);
  assert.deepEqual(places, places.toSorted((a, b) => a - b), "newest first");
  assert.ok(history.html.includes("portcullis") || history.html.includes("command line"), "names the client");
  assert.match((await owner.open(linkOf(history, "Difference"))).html, /<del>-two<\/del>/);

  const versions = linksOf(history, "Version before");
  assert.equal(versions.length, 2);
  const oldest = await owner.open(versions[1] ?? "");
  assert.ok(oldest.html.includes("<del>-three</del>") && oldest.html.includes("<ins>+one</ins>"), oldest.html);
  const restored = await owner.submit(oldest, {}, 'value="restore"');
  assert.match(restored.html, /Restored b\/plan\.md\./);
  assert.equal(restored.url.searchParams.get("path"), "b/plan.md");
  assert.equal(await fileIn(desk, "b/plan.md"), "one\n");
  const undone = await owner.submit(restored, {}, 'value="undo"');
  assert.match(undone.html, /Undid console of b\/plan\.md\./);
  assert.equal(await fileIn(desk, "b/plan.md"), "three\n", "a restored version can be undone");

  await desk.call("file_delete", { path: "b", recursive: true });
  const gone = await desk.page(addressOf({ path: "b/plan.md" }));
  assert.match(gone.html, /No such file or directory/);
  const back = await owner.submit(await owner.open(linkOf(gone, "History")), {}, 'value="undo"');
  assert.match(back.html, /Undid file_delete of b\./);
  assert.equal(await fileIn(desk, "b/plan.md"), "three\n");

  const recent = await desk.page(addressOf({ path: "", view: "history" }));
  assert.ok(recent.html.includes(">b<") && recent.html.includes(">a/plan.md<"), "what happened in the workspace");
});

Deno.test("a version too large to compare is restored whole", async () => {
  await using desk = await startDesk();
  const { place, owner } = desk;
  const large = new Uint8Array(3_000_000).fill(65);
  await Deno.writeFile(`${place.workspaceDir}/large.txt`, large);
  await desk.call("file_write", { filename: "large.txt", content: "small\n" });
  const history = await desk.page(addressOf({ path: "large.txt", view: "history" }));
  const version = await owner.open(linkOf(history, "Version before"));
  assert.match(version.html, /too long/);
  await owner.submit(version, {}, 'value="restore"');
  assert.deepEqual(await Deno.readFile(`${place.workspaceDir}/large.txt`), large);
});

Deno.test("rules hold on the page: refused is refused, and who may approve may look", async () => {
  await using desk = await startDesk({ patienceMs: 0 });
  const { place } = desk;
  const ada = await addPerson(desk, "ada");
  for (const name of ["secret", "asked", "kept", "open"]) {
    await Deno.mkdir(`${place.workspaceDir}/${name}`);
    await Deno.writeTextFile(`${place.workspaceDir}/${name}/a.txt`, `words of ${name}\n`);
  }
  await Deno.writeTextFile(`${place.workspaceDir}/kept/b.txt`, "moved away\n");
  await Deno.symlink("secret", `${place.workspaceDir}/way`);
  await desk.call("file_write", { filename: "kept/a.txt", content: "words of kept, later\n" });
  await desk.call("file_write", { filename: "secret/a.txt", content: "words of secret, later\n" });
  const versionIn = async (path: string): Promise<string> =>
    linkOf(await desk.page(addressOf({ path, view: "history" })), "Version before").searchParams.get("version") ?? "";
  const [ofSecret, ofKept] = [await versionIn("secret/a.txt"), await versionIn("kept/a.txt")];
  await desk.call("file_move", { path: "kept/b.txt", destination: "open/b.txt" });
  const undoes = await Promise.all(
    ["kept/a.txt", "open/b.txt"].map((path) => desk.page(addressOf({ path, view: "history" }))),
  );
  await desk.rule({ place: "secret", verdict: "deny" });
  await desk.rule({ place: "asked", verdict: "ask", tool: "file_read", approver: "administrator" });
  await desk.rule({ place: "kept", verdict: "deny", tool: "file_write" });

  const root = await desk.page("files");
  assert.ok(linksOf(root, "secret/").length === 1, "what is in it is judged when it is opened");
  for (const path of ["secret", "secret/a.txt", "way/a.txt", "way", "./secret//a.txt", "secret/none.txt"]) {
    for (const more of [{}, { view: "history" }, { download: "1" }, { find: "words" }, { version: ofSecret }]) {
      const page = await desk.page(addressOf({ path, ...more }));
      assert.match(page.html, /A rule stands against this/, `${path} ${JSON.stringify(more)}`);
      assert.doesNotMatch(page.html, /words of|a\.txt<\/a><\/td>|o such file/, `${path} ${JSON.stringify(more)}`);
    }
  }
  assert.match((await desk.page(addressOf({ find: "words of" }))).html, /A rule stands against this/);
  const change = await desk.page(`change?id=${ofSecret.split(".")[0]}`);
  assert.match(change.html, /changed secret\/a\.txt: A rule stands against this/);
  assert.doesNotMatch(change.html, /words of secret/, "the page of a change shows what the file holds");
  assert.doesNotMatch((await desk.page(addressOf({ path: "", view: "history" }))).html, /secret\/a\.txt/);
  assert.match(
    (await desk.page(addressOf({ path: "open/a.txt", version: ofSecret }))).html,
    /A rule stands against this/,
  );

  assert.match(
    (await desk.page(addressOf({ path: "asked/a.txt" }))).html,
    /words of asked/,
    "the owner may approve it",
  );
  for (const more of [{}, { download: "1" }]) {
    const page = await pageOf(ada, desk.server, { path: "asked/a.txt", ...more });
    assert.match(page.html, /A rule stands against this\. *</);
    assert.doesNotMatch(page.html, /words of asked/);
  }
  assert.match(
    (await pageOf(ada, desk.server, { path: "open/a.txt" })).html,
    /words of open/,
    "the workspace is shared",
  );

  const version = await desk.page(addressOf({ path: "kept/a.txt", version: ofKept }));
  const restored = await desk.owner.submit(version, {}, 'value="restore"');
  assert.equal(restored.status, 422);
  assert.match(restored.html, /A rule stands against this/);
  for (const page of undoes) {
    const undone = await desk.owner.submit(page, {}, 'value="undo"');
    assert.equal(undone.status, 422);
    assert.match(undone.html, /A rule stands against this/);
  }
  assert.equal(await fileIn(desk, "kept/a.txt"), "words of kept, later\n");
  assert.equal(await fileIn(desk, "open/b.txt"), "moved away\n");
  const offered = await desk.page(addressOf({ path: "kept/a.txt", view: "history" }));
  assert.doesNotMatch(offered.html, /value="undo"/);
});

Deno.test("each person sees their own workspace and their own history", async () => {
  await using desk = await startDesk({ env: { WORKSPACES: "per-user" } });
  const ada = await addPerson(desk, "ada");
  await desk.call("file_write", { filename: "mine.txt", content: "one\n" });
  await desk.call("file_write", { filename: "mine.txt", content: "of the owner\n" });
  await callTool(desk.server, await createToken(desk.place, "ada"), "file_write", {
    filename: "hers.txt",
    content: "of ada\n",
  });
  assert.ok(linksOf(await desk.page("files"), "mine.txt").length === 1);
  await callTool(desk.server, await createToken(desk.place, "ada"), "file_read", { filename: "mine.txt" });
  const hers = await pageOf(ada, desk.server, {});
  assert.ok(linksOf(hers, "hers.txt").length === 1 && !hers.html.includes("mine.txt"));
  await until("her call of a file of that name has its line", async () => {
    const { html } = await desk.page("activity?person=ada&target=mine.txt");
    return html.includes("file_read</td>") ? html : null;
  });
  const history = await desk.page(addressOf({ path: "mine.txt", view: "history" }));
  assert.ok(!/>ada</.test(history.html) && history.html.includes("replaced"), "her file of this name is another");
  const version = linkOf(history, "Version before").searchParams.get("version") ?? "";
  for (
    const query of [{ path: "mine.txt" }, { path: "../owner/mine.txt" }, { path: "hers.txt", version }, {
      path: "mine.txt",
      version,
    }]
  ) {
    assert.doesNotMatch((await pageOf(ada, desk.server, query)).html, /of the owner|>one</, JSON.stringify(query));
  }
  const form = await pageOf(ada, desk.server, { path: "hers.txt", view: "history" });
  const id = version.split(".")[0] ?? "";
  const forged = await ada.submit(form, { act: "undo", id, person: "owner" }, 'value="undo"');
  assert.equal(forged.status, 422);
  const stolen = await ada.submit(form, { act: "restore", version, path: "hers.txt" }, 'value="undo"');
  assert.equal(stolen.status, 422);
  assert.match((await pageOf(ada, desk.server, { path: "hers.txt" })).html, /of ada/);
});

Deno.test("in a shared workspace others' changes and their contents are for administrators", async () => {
  await using desk = await startDesk();
  const ada = await addPerson(desk, "ada");
  await desk.call("file_write", { filename: "a.txt", content: "before\n" });
  await desk.call("file_write", { filename: "a.txt", content: "after\n" });
  const version =
    linkOf(await desk.page(addressOf({ path: "a.txt", view: "history" })), "Version before").searchParams.get(
      "version",
    ) ?? "";
  const history = await pageOf(ada, desk.server, { path: "a.txt", view: "history" });
  assert.ok(!history.html.includes("replaced") && linksOf(history, "Version before").length === 0);
  assert.match((await pageOf(ada, desk.server, { path: "a.txt", version })).html, /no longer kept/);
});

Deno.test("acts need the form's token, and a person who is signed in", async () => {
  await using desk = await startDesk();
  await desk.call("file_write", { filename: "a.txt", content: "one\n" });
  await desk.call("file_write", { filename: "a.txt", content: "two\n" });
  const history = await desk.page(addressOf({ path: "a.txt", view: "history" }));
  for (const csrf of ["", "wrong"]) {
    const forged = await desk.owner.submit(history, { csrf }, 'value="undo"');
    assert.notEqual(forged.status, 200);
    assert.equal(await fileIn(desk, "a.txt"), "two\n");
  }
  const stranger = createPerson(desk.server.url);
  const asked = await stranger.open(`${desk.server.url}/console/${addressOf({ path: "a.txt", download: "1" })}`);
  assert.match(asked.html, /passphrase/i);
});

Deno.test("a workspace in the database has the same pages", async () => {
  await using desk = await startDesk({ env: { WORKSPACE_STORE: "storage" } });
  await desk.call("file_write", { filename: "a/one.txt", content: "before\n" });
  await desk.call("file_write", { filename: "a/one.txt", content: "after\n" });
  const page = await desk.owner.open(linkOf(await desk.page("files?path=a"), "one.txt"));
  assert.deepEqual(textLines(page), ["after"]);
  assert.equal((await desk.owner.open(linkOf(page, "Download"))).html, "after\n");
  const version = await desk.owner.open(linkOf(await desk.owner.open(linkOf(page, "History")), "Version before"));
  assert.match((await desk.owner.submit(version, {}, 'value="restore"')).html, /Restored a\/one\.txt\./);
  assert.deepEqual(textLines(await desk.page(addressOf({ path: "a/one.txt" }))), ["before"]);
});

Deno.test("whatever an address asks for, the answer is a page in words", async () => {
  await using desk = await startDesk();
  await desk.call("file_write", { filename: "a.txt", content: "one\n" });
  const odd = [
    "",
    "0",
    "-1",
    "1e300",
    "Infinity",
    "NaN",
    "x".repeat(5_000),
    "\0",
    "\u{10ffff}",
    "{a,{b",
    "*".repeat(150),
    "[",
    "a\nb",
  ];
  for (const field of ["path", "line", "cursor", "after", "find", "version", "view", "download"]) {
    for (const value of odd) {
      for (const path of ["a.txt", ""]) {
        const page = await desk.page(addressOf({ path, [field]: value }));
        assert.equal(page.status, 200, `${field}=${value}`);
      }
    }
  }
});

Deno.test("several directories are browsed as folders, read-only ones restored by none", async () => {
  const base = await Deno.makeTempDir({ prefix: "portcullis-files-page-" });
  try {
    for (const name of ["notes", "code"]) await Deno.mkdir(`${base}/${name}`);
    await Deno.writeTextFile(`${base}/code/main.ts`, "one\n");
    await using desk = await startDesk({
      env: { WORKSPACE_DIR: `notes=${base}/notes,code=${base}/code:ro,gone=${base}/gone` },
    });
    await desk.call("file_write", { filename: "notes/a.txt", content: "before\n" });
    await desk.call("file_write", { filename: "notes/a.txt", content: "after\n" });
    const root = await desk.page("files");
    assert.ok(["notes/", "code/"].every((name) => linksOf(root, name).length === 1), root.html);
    assert.match((await desk.page("files?path=gone")).html, /away/);
    assert.deepEqual(textLines(await desk.page("files?path=code/main.ts")), ["one"]);
    assert.equal((await desk.page("files?path=code/main.ts&download=1")).html, "one\n");
    const history = await desk.page(addressOf({ path: "notes/a.txt", view: "history" }));
    const version = await desk.owner.open(linkOf(history, "Version before"));
    const taken = await desk.owner.submit(version, { path: "code/main.ts" }, 'value="restore"');
    assert.match(taken.html, /read-only/);
    assert.match((await desk.owner.submit(version, {}, 'value="restore"')).html, /Restored notes\/a\.txt\./);
    assert.equal(await Deno.readTextFile(`${base}/notes/a.txt`), "before\n");
  } finally {
    await Deno.remove(base, { recursive: true });
  }
});

Deno.test("a document is shown as its text, in pages, and found by it", async () => {
  await using desk = await startDesk();
  const root = desk.place.workspaceDir;
  const paragraph = (text: string): string => `<w:p><w:r><w:t>${text}</w:t></w:r></w:p>`;
  const body = paragraph("Notice &lt;b&gt;three&lt;/b&gt; months") + paragraph("filler ".repeat(20)).repeat(600);
  await Deno.writeFile(`${root}/contract.docx`, makeWord(body));
  await Deno.writeFile(`${root}/broken.docx`, makeWord(body).slice(0, 300));
  const page = await desk.page("files?path=contract.docx");
  assert.match(page.html, /<\/time>\. DOCX, /);
  assert.equal(textLines(page)[0], "Notice <b>three</b> months");
  assert.ok(textLines(await desk.owner.open(linkOf(page, "Next lines"))).some((line) => line.startsWith("filler")));
  assert.equal(linkOf(await desk.page("files?find=three"), "contract.docx").searchParams.get("path"), "contract.docx");
  assert.match((await desk.page("files?path=broken.docx")).html, /class="note plain">[^<]*damaged/);
  const sent = await desk.owner.open(linkOf(page, "Download"));
  assert.ok(sent.html.startsWith("PK"), "the document itself");
});

Deno.test("versions of a document are compared by their text, in its history and on the page of a change", async () => {
  await using desk = await startDesk();
  const root = desk.place.workspaceDir;
  const made = (text: string) => makeWord(`<w:p><w:r><w:t>${text}</w:t></w:r></w:p>`.repeat(40));
  await Deno.writeFile(`${root}/contract.docx`, made("one month"));
  await Deno.writeFile(`${root}/new.docx`, made("three &lt;b&gt; months"));
  await desk.call("file_move", { path: "new.docx", destination: "contract.docx", overwrite: true });
  const history = await desk.page(addressOf({ path: "contract.docx", view: "history" }));
  const version = await desk.owner.open(linkOf(history, "Version before"));
  assert.match(version.html, /<del>-three &lt;b&gt; months<\/del>[^]*<ins>\+one month<\/ins>/);
  await desk.owner.submit(version, {}, 'value="restore"');
  assert.deepEqual(await Deno.readFile(`${root}/contract.docx`), made("one month"));
  const restored = await desk.page(addressOf({ path: "contract.docx", view: "history" }));
  const change = await desk.owner.open(linkOf(restored, "Difference"));
  assert.match(change.html, /<del>-three &lt;b&gt; months<\/del>[^]*<ins>\+one month<\/ins>/);
});
