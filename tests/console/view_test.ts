/** What clients that show views (MCP Apps) get beside the others: the view's page, its address, and what it draws. */
import assert from "node:assert/strict";
import { modernRequest, postMcp } from "../fixtures/mcp_call.ts";
import { startServicenowServer } from "../fixtures/servicenow/server.ts";
import { createToken, startDesk } from "./desk.ts";

const mimeType = "text/html;profile=mcp-app";
const showsViews = { extensions: { "io.modelcontextprotocol/ui": { mimeTypes: [mimeType] } } };
const viewUri = "ui://portcullis/view.html";
const shown = [
  ...["file_delete", "file_edit", "file_move", "file_read", "file_undo", "file_write"],
  ...["servicenow_add_note", "servicenow_approve", "servicenow_attach", "servicenow_create"],
  ...["servicenow_fetch_attachment", "servicenow_get_record", "servicenow_order", "servicenow_search"],
  "servicenow_update",
];

interface Answer {
  // deno-lint-ignore no-explicit-any
  readonly result: any;
  readonly text: string;
}

type Ask = (method: string, params?: Record<string, unknown>) => Promise<Answer>;

/** A client with a session, as most are, or one of 2026-07-28, with these capabilities. */
async function clientOf(
  { url }: { readonly url: string },
  token: string,
  { capabilities = {}, modern = false }: { readonly capabilities?: Record<string, unknown>; readonly modern?: boolean },
): Promise<Ask> {
  if (modern) {
    return async (method, params = {}) => {
      const { message, headers } = modernRequest(method, params, capabilities);
      const answer = await (await postMcp(url, message, { token, headers })).json();
      return { result: answer.result, text: JSON.stringify(answer) };
    };
  }
  const clientInfo = { name: "chat", version: "1" };
  const params = { protocolVersion: "2025-11-25", capabilities, clientInfo };
  const opened = await postMcp(url, { jsonrpc: "2.0", id: 0, method: "initialize", params }, { token });
  await opened.body?.cancel();
  const headers = {
    "mcp-protocol-version": "2025-11-25",
    "mcp-session-id": opened.headers.get("mcp-session-id") ?? assert.fail("no session"),
  };
  return async (method, params = {}) => {
    const answer = await (await postMcp(url, { jsonrpc: "2.0", id: 1, method, params }, { token, headers })).json();
    return { result: answer.result, text: JSON.stringify(answer) };
  };
}

/** What the server says that it can do. */
async function announced(ask: Ask, modern: boolean, capabilities: Record<string, unknown>): Promise<string> {
  const params = { protocolVersion: "2025-11-25", capabilities, clientInfo: { name: "chat", version: "1" } };
  const { result } = await (modern ? ask("server/discover") : ask("initialize", params));
  return JSON.stringify(result.capabilities);
}

const call = (ask: Ask, name: string, input: Record<string, unknown>) => ask("tools/call", { name, arguments: input });

const viewOf = ({ result }: Answer) => result._meta["portcullis/view"];

for (const modern of [false, true]) {
  const era = modern ? "2026-07-28" : "a session";
  Deno.test(`view: only clients that show views are told of it (${era})`, async () => {
    await using place = await startServicenowServer();
    const { url } = place.server;
    const token = await place.signIn("ada", "files:read files:write servicenow:read servicenow:write");
    const plain = await clientOf(place.server, token, { modern });
    const others = [
      { extensions: { "io.modelcontextprotocol/ui": {} } },
      { extensions: { "io.modelcontextprotocol/ui": { mimeTypes: ["text/uri-list"] } } },
      { extensions: { "io.modelcontextprotocol/ui": { mimeTypes: { [mimeType]: true } } } },
      { extensions: { "io.modelcontextprotocol/ui": null } },
    ];
    const chat = await clientOf(place.server, token, { capabilities: showsViews, modern });
    const without = await plain("tools/list");
    assert.doesNotMatch(without.text, /"ui"|ui:\/\//);
    for (const capabilities of others) {
      const other = await clientOf(place.server, token, { capabilities, modern });
      assert.equal((await other("tools/list")).text, without.text);
    }
    const own = await announced(plain, modern, {});
    assert.doesNotMatch(own, /modelcontextprotocol\/ui/);
    const { extensions: { ["io.modelcontextprotocol/ui"]: ui, ...rest }, ...further } = JSON.parse(
      await announced(chat, modern, showsViews),
    );
    assert.deepEqual(ui, {});
    assert.deepEqual({ ...further, ...modern ? { extensions: rest } : {} }, JSON.parse(own));
    const { result: { tools } } = await chat("tools/list");
    const withView = tools.filter(({ _meta }: { _meta?: { ui?: unknown } }) => _meta?.ui !== undefined);
    assert.deepEqual(withView.map(({ name }: { name: string }) => name).toSorted(), shown);
    for (const { _meta } of withView) assert.deepEqual(_meta.ui, { resourceUri: viewUri });
    for (const { _meta } of withView) delete _meta.ui;
    const same = tools.map((tool: { _meta?: object }) => {
      const { _meta = {}, ...rest } = tool;
      return Object.keys(_meta).length === 0 ? rest : tool;
    });
    assert.deepEqual(same, without.result.tools);
    // and the lists of resources know it as little
    for (const method of ["resources/list", "resources/templates/list"]) {
      assert.equal((await chat(method)).text, (await plain(method)).text);
    }
    // an answer is the same but for what the view draws
    await call(plain, "file_write", { filename: "a.txt", content: "one\n" });
    for (
      const [name, input] of [
        ["file_read", { filename: "a.txt" }],
        ["file_edit", { path: "a.txt", old_text: "one", new_text: "two", dry_run: true }],
        ["file_edit", { path: "a.txt", old_text: "never", new_text: "two" }],
        ["file_list", {}],
        ["servicenow_search", { table: "incident" }],
        ["servicenow_update", { id: "INC0010001", values: "urgency=high", dry_run: true }],
      ] as const
    ) {
      const [one, other] = [await call(plain, name, input), await call(chat, name, input)];
      assert.doesNotMatch(one.text, /portcullis\/view/);
      const { [`portcullis/view`]: view, ...meta } = other.result._meta ?? {};
      assert.equal(view !== undefined, name !== "file_list", name);
      const { _meta: _, ...rest } = other.result;
      const { _meta: plainMeta, ...plainRest } = one.result;
      assert.deepEqual([rest, meta], [plainRest, plainMeta ?? {}]);
    }
    assert.equal(url, place.server.url);
  });
}

Deno.test("view: a page of its own within 30 kB, with a policy that lets nothing in or out", async () => {
  await using desk = await startDesk();
  const chat = await clientOf(desk.server, desk.token, { capabilities: showsViews });
  const { result: { contents } } = await chat("resources/read", { uri: viewUri });
  assert.equal(contents.length, 1);
  const [{ uri, mimeType: type, text, _meta }] = contents;
  assert.deepEqual([uri, type], [viewUri, mimeType]);
  assert.deepEqual(_meta, { ui: { prefersBorder: true } }); // no domains, no permissions
  assert.ok(new TextEncoder().encode(text).length <= 30_000, `${text.length} characters`);
  assert.match(text, /^<!DOCTYPE html>\s*<html lang="en">/);
  const policy = (/ content="([^"]*)"/.exec(text)?.[1] ?? "").replaceAll("&#39;", "'").split("; ");
  assert.deepEqual(policy.map((part) => part.replace(/'sha256-[^']*'/, "(its own)")), [
    "default-src 'none'",
    "style-src (its own)",
    "script-src (its own)",
    "img-src data:",
    "base-uri 'none'",
    "form-action 'none'",
  ]);
  assert.doesNotMatch(
    text,
    /innerHTML|insertAdjacentHTML|outerHTML|document\.write|eval\(|new Function|fetch\(|https?:\/\/(?!127)/,
  );
  assert.ok(text.includes(`data-console="${desk.server.url}/console"`));
  for (
    const other of ["ui://portcullis/", "ui://portcullis/view.html?x", "ui://other/view.html", "portcullis://calls/1"]
  ) {
    assert.equal((await chat("resources/read", { uri: other })).result, undefined, other);
  }
});

Deno.test("view: what a change did, and its id, by which the view undoes it", async () => {
  await using desk = await startDesk();
  const chat = await clientOf(desk.server, desk.token, { capabilities: showsViews });
  const made = viewOf(await call(chat, "file_write", { filename: "plan.md", content: "one\ntwo\n" }));
  assert.equal(made.data.filename, "plan.md");
  assert.match(made.data.diff, /^Writes plan\.md \(a new file\):\n@@ .*\n\+one\n\+two$/);
  const edited = viewOf(await call(chat, "file_edit", { path: "plan.md", old_text: "two", new_text: "<b>2</b>" }));
  assert.match(edited.data.diff, /-two\n\+<b>2<\/b>/);
  assert.notEqual(edited.change, made.change);
  const replaced = viewOf(
    await call(chat, "file_write", {
      filename: "plan.md",
      content: "one\nthree\n",
      files: [{ filename: "b.md", content: "b" }],
    }),
  );
  assert.match(replaced.data.diff, /-<b>2<\/b>\n\+three\nWrites b\.md/);
  const tried = viewOf(
    await call(chat, "file_edit", { path: "plan.md", old_text: "one", new_text: "1", dry_run: true }),
  );
  assert.deepEqual([tried.data.changed, tried.change], [false, undefined]);
  const undone = await call(chat, "file_undo", { change: replaced.change });
  assert.equal(undone.result.isError, false);
  assert.equal(viewOf(undone).data.undone, replaced.change);
  assert.equal(viewOf(undone).change, viewOf(undone).data.undone_by);
  const listed = viewOf(await call(chat, "file_undo", {}));
  assert.ok(listed.data.changes.length >= 3);
  const failed = viewOf(await call(chat, "file_edit", { path: "plan.md", old_text: "never", new_text: "x" }));
  assert.deepEqual(failed, { title: "Edit files", code: "not_there" });
  // a text is not sent twice
  const read = viewOf(await call(chat, "file_read", { filename: "plan.md" }));
  assert.deepEqual(read, { title: "Read files", data: { filename: "plan.md" } });
  const compared = viewOf(await call(chat, "file_read", { filename: "plan.md", against: "last" }));
  assert.match(compared.data.diff, /^@@/);
  // what was read before and is kept is the same for clients without views
  const plain = await clientOf(desk.server, desk.token, {});
  assert.doesNotMatch((await call(plain, "file_read", { filename: "plan.md" })).text, /portcullis/);
});

Deno.test("view: what a file held is shown to those alone who may read it", async () => {
  await using desk = await startDesk();
  const chat = await clientOf(desk.server, desk.token, { capabilities: showsViews });
  for (const filename of ["secret/a.txt", "open.txt"]) await desk.call("file_write", { filename, content: "hidden\n" });
  const replace = async (ask: Ask, filename: string, further: readonly string[] = []) => {
    const files = further.map((name) => ({ filename: name, content: "new\n" }));
    const answer = await call(ask, "file_write", { filename, content: "new\n", ...files.length > 0 ? { files } : {} });
    assert.equal(answer.result.isError, false, answer.text);
    return answer.text;
  };
  await desk.rule({ tool: "file_read", verdict: "ask", place: "secret" });
  assert.doesNotMatch(await replace(chat, "secret/a.txt"), /hidden/);
  await desk.call("file_write", { filename: "secret/a.txt", content: "hidden\n" });
  assert.doesNotMatch(await replace(chat, "open.txt", ["secret/a.txt"]), /hidden/);
  await desk.call("file_write", { filename: "open.txt", content: "hidden\n" });
  assert.match(await replace(chat, "open.txt"), /-hidden/);
});

Deno.test("view: before and after of a ServiceNow record, and found records", async () => {
  await using place = await startServicenowServer();
  const token = await place.signIn("ada", "servicenow:read servicenow:write");
  const chat = await clientOf(place.server, token, { capabilities: showsViews });
  const update = { id: "INC0010001", values: "urgency=high" };
  for (const dryRun of [true, false]) {
    const { records: [record] } = viewOf(await call(chat, "servicenow_update", { ...update, dry_run: dryRun })).data;
    assert.deepEqual([record.name, record.dry_run], ["INC0010001", dryRun]);
    assert.match(record.link, /^https?:\/\/.*incident/);
    assert.deepEqual(record.changes[0], {
      name: "urgency",
      label: "Urgency",
      before: "2 - Medium",
      after: "1 - High",
    });
  }
  const several = { ...update, id: "INC0010001 INC0010002", values: "urgency=low" };
  assert.equal(viewOf(await call(chat, "servicenow_update", several)).data.records.length, 2);
  const { records } = viewOf(await call(chat, "servicenow_search", { table: "incident" })).data;
  assert.ok(records.some(({ name }: { name: string }) => name === "INC0010001"));
  assert.ok(records.every(({ fields }: { fields: unknown[] }) => Array.isArray(fields)));
  const got = viewOf(await call(chat, "servicenow_get_record", { id: "INC0010001" })).data.records;
  assert.equal(got.length, 1);
});

Deno.test("view: what became of a held call is told to its own client alone", async () => {
  await using desk = await startDesk({ patienceMs: 0 });
  await desk.rule({ tool: "file_write", verdict: "ask" });
  const chat = await clientOf(desk.server, desk.token, { capabilities: showsViews });
  const calls = async (ask: Ask) => {
    const { result: { contents: [{ text, mimeType }] } } = await ask("resources/read", { uri: "portcullis://calls" });
    assert.equal(mimeType, "application/json");
    return JSON.parse(text);
  };
  assert.deepEqual(await calls(chat), []);
  const input = { filename: "a.txt", content: "secret" };
  const { code, waiting, data } = viewOf(await call(chat, "file_write", input));
  assert.deepEqual([code, data], ["approval_pending", undefined]);
  const mine = { id: waiting.id, tool: "file_write", places: ["a.txt"] };
  assert.equal(waiting.url, `${desk.server.url}/console/decisions?call=${waiting.id}`);
  assert.deepEqual(await calls(chat), [{ ...mine, state: "waiting", url: waiting.url }]);
  const other = await clientOf(desk.server, await createToken(desk.place, "owner"), { capabilities: showsViews });
  assert.deepEqual(await calls(other), []);
  await desk.decide("deny", { word: "Not <today>" });
  assert.deepEqual(await calls(chat), [
    { ...mine, state: "denied", word: "Not <today>", url: waiting.url },
  ]);
  const denied = await call(chat, "file_write", input);
  assert.equal(viewOf(denied).code, "denied_by_person");
});
