/** Attacks on approvals: what is approved is what was shown, by whom it was shown to, once. */
import assert from "node:assert/strict";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { cleanEnvironment } from "../fixtures/forms/server_process.ts";
import { postMcp } from "../fixtures/mcp_call.ts";
import { openSignedIn } from "../fixtures/owner.ts";
import { runCommand } from "../fixtures/running_server.ts";
import { until } from "../fixtures/until.ts";
import { createToken, type Desk, fileIn, isThere, startDesk } from "./desk.ts";

async function waits(desk: Desk, word: string): Promise<void> {
  await until(`${word} waits`, async () => (await desk.page("decisions")).html.includes(word));
}

Deno.test("a file that changes while its edit waits is not edited by the approval", async () => {
  await using desk = await startDesk();
  const path = `${desk.place.workspaceDir}/a.txt`;
  await Deno.writeTextFile(path, "one\nkeep\n");
  await desk.rule({ tool: "file_write", verdict: "ask" });
  const waiting = desk.call("file_write", { filename: "a.txt", content: "two\n" });
  await waits(desk, "file_write");
  await Deno.writeTextFile(path, "something that was not shown\n");
  await desk.decide("approve");
  const { text, isError } = await waiting;
  assert.ok(isError && text.includes("approval"), text);
  assert.equal(await fileIn(desk, "a.txt"), "something that was not shown\n");
  assert.match((await desk.page("decisions")).html, /something that was not shown/, "it is asked about as it is now");
  await desk.decide("approve");
  assert.equal((await desk.call("file_write", { filename: "a.txt", content: "two\n" })).isError, false);
});

Deno.test("a rule that is made while a call waits decides about it too", async () => {
  await using desk = await startDesk();
  await desk.rule({ tool: "file_write", verdict: "ask" });
  const waiting = desk.call("file_write", { filename: "w.txt", content: "w" });
  await waits(desk, "file_write");
  await desk.rule({ place: "w.txt", verdict: "deny" });
  await desk.decide("approve");
  assert.ok((await waiting).isError);
  assert.equal(await isThere(desk, "w.txt"), false);
});

Deno.test("a rule that wants an administrator is not met by an earlier approval of the person", async () => {
  await using desk = await startDesk({ patienceMs: 0 });
  await desk.rule({ tool: "file_write", verdict: "ask" });
  const input = { filename: "t.txt", content: "t" };
  assert.ok((await desk.call("file_write", input)).isError);
  await desk.decide("approve");
  await desk.rule({ tool: "file_write", verdict: "ask", approver: "administrator" });
  assert.ok((await desk.call("file_write", input)).isError);
  assert.equal(await isThere(desk, "t.txt"), false);
});

for (const extent of ["hour", "always"]) {
  Deno.test(`an approval that lasts (${extent}) leaves what other rules refuse or ask about`, async () => {
    await using desk = await startDesk({ patienceMs: 0 });
    await desk.owner.submit(await desk.page("rules"), {}, 'value="guard"');
    await desk.rule({ tool: "file_write", place: "drafts", verdict: "ask" });
    await desk.rule({ place: "secret", verdict: "deny" });
    assert.ok((await desk.call("file_write", { filename: "drafts/a.txt", content: "x" })).isError);
    await desk.decide("approve", { extent });
    for (const filename of ["drafts/a.txt", "drafts/b.txt"]) {
      assert.equal((await desk.call("file_write", { filename, content: "x" })).isError, false);
    }
    for (const filename of ["secret/x.txt", "other.txt"]) {
      assert.ok((await desk.call("file_write", { filename, content: "x" })).isError, filename);
      assert.equal(await isThere(desk, filename), false);
    }
  });
}

Deno.test("many approvals push no rule out, and a full list says so", async () => {
  await using desk = await startDesk({ patienceMs: 0 });
  await desk.owner.submit(await desk.page("rules"), {}, 'value="guard"');
  const refused: string[] = [];
  for (let index = 0; index < 201; index++) {
    const page = await desk.page("rules");
    const added = await desk.owner.submit(page, { place: `p${index}`, verdict: "allow", clicked: "" }, 'value="add"');
    if (!/The rule was added/.test(added.html)) refused.push(added.html);
  }
  assert.equal(refused.length, 2);
  assert.match(refused[0] ?? "", /There are 200 rules already/);
  const input = { filename: "x.txt", content: "x" };
  assert.ok((await desk.call("file_write", input)).isError, "the rule that asks is still there");
  await desk.decide("approve", { extent: "always" });
  assert.equal((await desk.call("file_write", input)).isError, false);
  assert.ok((await desk.call("file_write", { ...input, content: "y" })).isError);
});

Deno.test("a page shows what is cut, and no text that reorders or hides what it says", async () => {
  await using desk = await startDesk({ patienceMs: 0 });
  await desk.rule({ tool: "file_write", verdict: "ask" });
  const content = "harmless line\n".repeat(10_000) + "rm -rf /\n";
  assert.ok((await desk.call("file_write", { filename: "long.sh", content })).isError);
  await waits(desk, "long.sh");
  const { html } = await desk.page("decisions");
  assert.match(html, /\[\d+ characters are not shown here\]/);
  assert.ok(html.includes("rm -rf /"), "the end is shown too");
  await desk.decide("deny");
  assert.ok((await desk.call("file_write", { filename: "b.txt", content: "a\u202eb\u001b[2Jc<script>" })).isError);
  await waits(desk, "b.txt");
  const shown = (await desk.page("decisions")).html;
  for (const hostile of ["\u202e", "\u001b", "c<script>"]) assert.ok(!shown.includes(hostile));
  assert.ok(shown.includes("\\u{202E}"));
});

Deno.test("a rule's place that could fit no call is refused when it is made", async () => {
  await using desk = await startDesk();
  for (
    const place of [
      ...["secret/*", "a/../b", "x".repeat(201), "a\\b", "/home/ann/work/secret", "/secret"],
      ...["file:///home/ann/secret", "workspace:///secret", "C:/work/secret"],
    ]
  ) {
    const page = await desk.page("rules");
    const { html } = await desk.owner.submit(page, { place, verdict: "deny", clicked: "" }, 'value="add"');
    assert.doesNotMatch(html, /The rule was added/, place.slice(0, 20));
  }
});

Deno.test("a rule is made of what its form offers: anything else would fit no call, or another", async () => {
  await using desk = await startDesk();
  const page = await desk.page("rules");
  for (
    const [field, words] of [
      [{ verdict: [] }, /Choose what happens/],
      [{ verdict: "maybe" }, /Choose what happens/],
      [{ tool: "rm" }, /no such tool/],
      [{ person: "nobody" }, /no such person/],
      [{ client: "gone" }, /no access any more/],
      [{ approver: "robot" }, /Choose who approves/],
    ] as const
  ) {
    for (const trial of [{}, { trial: "yes" }]) {
      const fields = { verdict: "ask", ...field, ...trial, clicked: "" };
      const { status, html } = await desk.owner.submit(page, fields, 'value="add"');
      assert.equal(status, 422);
      assert.match(html, words);
    }
  }
  assert.match((await desk.page("rules")).html, /There are no rules/);
});

Deno.test("resources of a refused place are not read, listed or completed", async () => {
  await using desk = await startDesk();
  await Deno.mkdir(`${desk.place.workspaceDir}/secret`);
  await Deno.writeTextFile(`${desk.place.workspaceDir}/secret/hidden.txt`, "h");
  await Deno.writeTextFile(`${desk.place.workspaceDir}/open.txt`, "o");
  await Deno.mkdir(`${desk.place.workspaceDir}/plain`);
  await Deno.writeTextFile(`${desk.place.workspaceDir}/plain/inner.txt`, "i");
  const ref = { type: "ref/resource", uri: "workspace:///{+path}" };
  const completed = async (value: string): Promise<string> => {
    const params = { ref, argument: { name: "path", value } };
    const message = { jsonrpc: "2.0", id: 1, method: "completion/complete", params };
    return JSON.stringify(await (await postMcp(desk.server.url, message, { token: desk.token })).json());
  };
  const answers = async (): Promise<string> => {
    const messages = [
      { method: "resources/list", params: {} },
      { method: "completion/complete", params: { ref, argument: { name: "path", value: "secret/" } } },
      { method: "completion/complete", params: { ref, argument: { name: "path", value: "" } } },
      { method: "resources/read", params: { uri: "workspace:///secret/hidden.txt" } },
    ];
    const all = await Promise.all(messages.map(async (message, id) => {
      const sent = { jsonrpc: "2.0", id, ...message };
      return JSON.stringify(await (await postMcp(desk.server.url, sent, { token: desk.token })).json());
    }));
    return all.slice(0, 3).join("\n") + all[3]?.replace("workspace:///secret/hidden.txt", "");
  };
  assert.match(await answers(), /hidden/);
  await desk.rule({ place: "secret", verdict: "deny" });
  const after = await answers();
  assert.ok(after.includes("open.txt") && !after.includes("hidden"), after);
  assert.match(await completed(""), /"open\.txt"/);
  assert.match(await completed("plain/"), /"plain\/inner\.txt"/);
  assert.match(await completed("secret/"), /"values":\[\]/);
  await desk.rule({ tool: "file_read", verdict: "deny" });
  assert.ok(!(await answers()).includes("open.txt"));
});

Deno.test("the approval of one connection runs nothing for another of the same person", async () => {
  await using desk = await startDesk({ patienceMs: 0 });
  await desk.rule({ tool: "file_write", verdict: "ask" });
  const input = { filename: "o.txt", content: "o" };
  assert.ok((await desk.call("file_write", input)).isError);
  await desk.decide("approve");
  const other = await createToken(desk.place, "owner");
  const message = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "file_write", arguments: input } };
  const { result } = await (await postMcp(desk.server.url, message, { token: other })).json();
  assert.equal(result.isError, true);
  assert.equal(await isThere(desk, "o.txt"), false);
});

Deno.test("an undo shows what it would undo, and undoes that alone", async () => {
  await using desk = await startDesk({ patienceMs: 0 });
  await desk.call("file_write", { filename: "first.txt", content: "1" });
  await desk.rule({ tool: "file_undo", verdict: "ask" });
  assert.ok((await desk.call("file_undo", { change: "last" })).isError);
  assert.match((await desk.page("decisions")).html, /What it would do">[^<]*first\.txt/);
  await desk.call("file_write", { filename: "second.txt", content: "2" });
  await desk.decide("approve");
  assert.ok((await desk.call("file_undo", { change: "last" })).isError);
  assert.ok(await isThere(desk, "second.txt"));
  assert.match((await desk.page("decisions")).html, /What it would do">[^<]*second\.txt/);
});

Deno.test("an undo does not run on contents that its approver was not shown", async () => {
  await using desk = await startDesk({ patienceMs: 0 });
  await desk.call("file_write", { filename: "d/made.txt", content: "1" });
  await desk.rule({ tool: "file_undo", verdict: "ask" });
  assert.ok((await desk.call("file_undo", { change: "last" })).isError);
  const page = await desk.page("decisions");
  await Deno.writeTextFile(`${desk.place.workspaceDir}/d/made.txt`, "2");
  await desk.owner.submit(page, { decision: "approve" }, 'value="decide"');
  assert.match((await desk.call("file_undo", { change: "last" })).text, /waits for a person/);
  assert.equal(await fileIn(desk, "d/made.txt"), "2");
});

Deno.test("a change of a directory with more entries than are compared can be denied only, and says so after that", async () => {
  await using desk = await startDesk({ patienceMs: 0 });
  const root = desk.place.workspaceDir;
  await Deno.mkdir(`${root}/many`, { recursive: true });
  for (let at = 0; at <= 10_000; at++) Deno.writeTextFileSync(`${root}/many/${at}`, "");
  await desk.rule({ verdict: "ask" });
  const erase = { path: "many", recursive: true };
  // what is there is not told before a decision
  const said = new Set<string>();
  for (
    const [tool, input] of [
      ["file_delete", erase],
      ["file_delete", { path: "nothing", recursive: true }],
      ["file_move", { path: "many", destination: "others" }],
      ["file_move", { path: "nothing", destination: "others" }],
      ["file_list", { path: "many" }],
    ] as const
  ) {
    const { text, isError } = await desk.call(tool, input);
    assert.ok(isError && text.includes("waits for a person"), text);
    said.add(text.replaceAll(/call=\w+/g, ""));
  }
  assert.equal(said.size, 1, [...said].join("\n"));
  const page = await desk.page("decisions");
  assert.equal(page.html.split("more than 10000 entries, too many to compare").length - 1, 3);
  assert.equal(page.html.split("cannot be approved as a whole").length - 1, 2);
  assert.equal(page.html.split('value="approve"').length - 1, 3);
  for (const extent of ["once", "always"]) {
    const { html } = await desk.owner.submit(page, { decision: "approve", extent }, 'value="decide"');
    assert.match(html, /cannot be approved as a whole.* Deny this call|your passphrase/);
  }
  await desk.owner.submit(page, { decision: "deny" }, 'value="decide"');
  assert.match((await desk.call("file_delete", erase)).text, /Nothing was done\. A directory .* in several calls\.$/);
});

Deno.test("a change of a directory that goes deeper than is compared can be denied only, an undo too", async () => {
  await using desk = await startDesk({ patienceMs: 0 });
  const root = desk.place.workspaceDir;
  const deep = Array.from({ length: 70 }, (_, level) => `d${level}`).join("/");
  for (const name of ["top", "other"]) await Deno.mkdir(`${root}/${name}/${deep}`, { recursive: true });
  assert.equal((await desk.call("file_move", { path: "top", destination: "moved" })).isError, false);
  await desk.rule({ verdict: "ask" });
  for (
    const [tool, input] of [
      ["file_move", { path: "moved", destination: "prod" }],
      ["file_move", { paths: ["moved"], destination: "other" }],
      ["file_delete", { path: "other", recursive: true }],
      ["file_undo", { change: "last" }],
    ] as const
  ) {
    assert.ok((await desk.call(tool, input)).isError, tool);
    const { html } = await desk.page("decisions");
    assert.match(html, /too deep to compare/, tool);
    assert.ok(html.includes("cannot be approved as a whole") && !html.includes('value="approve"'), tool);
    await desk.decide("deny");
    assert.match((await desk.call(tool, input)).text, /Nothing was done\. A directory .* in several calls\.$/);
  }
  assert.deepEqual([...Deno.readDirSync(root)].map(({ name }) => name).filter((name) => !name.startsWith(".")).sort(), [
    "moved",
    "other",
  ]);
});

Deno.test("of two decisions at once one counts", async () => {
  await using desk = await startDesk({ patienceMs: 0 });
  await desk.rule({ tool: "file_write", verdict: "ask" });
  const input = { filename: "race.txt", content: "r" };
  assert.ok((await desk.call("file_write", input)).isError);
  const page = await openSignedIn(desk.owner, `${desk.server.url}/console/decisions`);
  const answers = await Promise.all(
    (["approve", "deny", "approve", "deny"] as const).map((decision) =>
      desk.owner.submit(page, { decision }, 'value="decide"')
    ),
  );
  assert.equal(answers.filter(({ html }) => /(?:Approved|Denied): /.test(html)).length, 1);
});

Deno.test("rules hold over stdio too", async () => {
  await using desk = await startDesk();
  const { dataDir, workspaceDir } = desk.place;
  await desk.rule({ place: "secret", verdict: "deny" });
  await desk.server.stop();
  const printed = await runCommand([
    ...["connect", "cursor", "--transport", "stdio"],
    ...["--data-dir", dataDir, "--workspace", workspaceDir],
  ]);
  const client = new Client({ name: "desktop", version: "1" });
  const entry = JSON.parse(printed.stdout).mcpServers.portcullis;
  await client.connect(new StdioClientTransport({ ...entry, env: cleanEnvironment(), stderr: "ignore" }));
  for (const [filename, isError] of [["secret/a.txt", true], ["open.txt", false]] as const) {
    const written = await client.callTool({ name: "file_write", arguments: { filename, content: "x" } });
    assert.equal(written["isError"], isError, JSON.stringify(written));
    assert.equal(await isThere(desk, filename), !isError);
  }
  await client.close();
});

Deno.test("an approval runs nothing for a connection that ended while its call waited", async () => {
  await using desk = await startDesk();
  await desk.rule({ tool: "file_write", verdict: "ask" });
  const waiting = desk.call("file_write", { filename: "late.txt", content: "l" }).catch(() => {}); // it is cut off
  await waits(desk, "file_write");
  const page = await desk.page("decisions");
  await desk.owner.submit(await desk.page("connections"), {}, 'value="end"');
  await desk.owner.submit(page, { decision: "approve" }, 'value="decide"');
  await waiting;
  assert.equal(await isThere(desk, "late.txt"), false);
});
