/** The workspace's files as resources, over HTTP against the started server: behind its wall, in both eras. */
import assert from "node:assert/strict";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import {
  ResourceListChangedNotificationSchema,
  ResourceUpdatedNotificationSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { pause } from "../../src/lib/time.ts";
import { needing } from "../fixtures/forms/chosen_form.ts";
import { modernRequest, postMcp } from "../fixtures/mcp_call.ts";
import { makeServerPlace, runCommand, type RunningServer, startServer } from "../fixtures/running_server.ts";
import { type EventReader, readEvents } from "../mcp/event_reader.ts";
import { normalUri } from "../../src/mcp/resource.ts";
import { hostileUris } from "../resources/hostile_uris.ts";

const onDisk = needing("workspace directory");

const fileUriTemplate = "workspace:///{+path}";
const png = Uint8Array.from("\x89PNG\r\n\x1a\n\0\xff", (character) => character.charCodeAt(0));

interface Answer {
  readonly result?: Record<string, unknown>;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown };
}

/** A running server and one token's ways to ask it. */
interface Scene {
  readonly server: RunningServer;
  readonly token: string;
  /** Without an era: neither a session nor an envelope, which is the legacy era. */
  ask(method: string, params?: Record<string, unknown>): Promise<Answer>;
  askModern(method: string, params: Record<string, unknown>): Promise<Answer>;
}

async function withServer(
  options: { readonly scope?: string; readonly env?: Record<string, string> },
  body: (scene: Scene) => Promise<void>,
): Promise<void> {
  await using place = await makeServerPlace();
  await Deno.mkdir(place.workspaceDir, { recursive: true });
  await using server = await startServer(place, { env: options.env ?? {} });
  await body(sceneOf(server, await createToken(server, options.scope ?? "files:read")));
}

async function createToken(server: RunningServer, scope: string, ...more: readonly string[]): Promise<string> {
  const words = ["token", "create", "--scope", scope, "--data-dir", server.dataDir, ...more];
  const { code, stdout, stderr } = await runCommand(words);
  assert.equal(code, 0, stderr);
  return stdout.trim();
}

function sceneOf(server: RunningServer, token: string): Scene {
  return {
    server,
    token,
    ask: async (method, params = {}) =>
      await (await postMcp(server.url, { jsonrpc: "2.0", id: 1, method, params }, { token })).json(),
    askModern: async (method, params) => {
      const { message, headers } = modernRequest(method, params);
      return await (await postMcp(server.url, message, { token, headers })).json();
    },
  };
}

interface Listed {
  readonly uri: string;
  readonly name: string;
  readonly mimeType?: string;
  readonly size?: number;
}

async function listAll({ ask }: Scene): Promise<{ readonly pages: number; readonly resources: readonly Listed[] }> {
  const resources: Listed[] = [];
  let cursor: string | undefined;
  let pages = 0;
  do {
    const { result } = await ask("resources/list", cursor === undefined ? {} : { cursor });
    const page = result as { readonly resources: readonly Listed[]; readonly nextCursor?: string };
    resources.push(...page.resources);
    cursor = page.nextCursor;
    pages++;
  } while (cursor !== undefined);
  return { pages, resources: resources.filter(({ uri }) => uri.startsWith("workspace:")) };
}

onDisk.test("resources/list gives every file once, in pages, with its type and size, and nothing of links or denied names", () =>
  withServer({ env: { WORKSPACE_DENY: ".env" } }, async (scene) => {
    const root = scene.server.workspaceDir;
    await Deno.mkdir(`${root}/many/deep`, { recursive: true });
    for (let n = 100; n < 550; n++) await Deno.writeTextFile(`${root}/many/${n}.txt`, "x".repeat(n));
    await Deno.writeTextFile(`${root}/many/deep/Größe #1?.md`, "# x");
    await Deno.writeTextFile(`${root}/noending`, "");
    await Deno.writeTextFile(`${root}/.env`, "secret");
    await Deno.writeTextFile(`${root}/bad\nname`, "");
    await Deno.symlink("noending", `${root}/link`);
    await Deno.symlink("/etc", `${root}/etc`);
    const { pages, resources } = await listAll(scene);
    assert.ok(pages >= 3, `${pages} pages`);
    assert.equal(resources.length, 452);
    assert.equal(new Set(resources.map(({ uri }) => uri)).size, 452);
    assert.deepEqual(resources[0], {
      uri: "workspace:///many/100.txt",
      name: "many/100.txt",
      mimeType: "text/plain",
      size: 100,
    });
    assert.deepEqual(resources.at(-2), {
      uri: "workspace:///many/deep/Gr%C3%B6%C3%9Fe%20%231%3F.md",
      name: "many/deep/Größe #1?.md",
      mimeType: "text/markdown",
      size: 3,
    });
    assert.deepEqual(resources.at(-1), { uri: "workspace:///noending", name: "noending", size: 0 });

    const { result } = await scene.ask("resources/list");
    const cursor = String(result?.["nextCursor"]);
    await Deno.remove(`${root}/many/299.txt`); // where the next page goes on: it does so without it
    const next = (await scene.ask("resources/list", { cursor })).result as { readonly resources: readonly Listed[] };
    assert.equal(next.resources[0]?.name, "many/300.txt");
    for (const foreign of ["x", cursor.slice(0, -2), `${cursor}AA`]) {
      assert.equal((await scene.ask("resources/list", { cursor: foreign })).error?.code, -32602);
    }
    const { result: templates } = await scene.ask("resources/templates/list");
    const uriTemplates = (templates?.["resourceTemplates"] as { uriTemplate: string }[]).map((each) =>
      each.uriTemplate
    );
    assert.deepEqual(uriTemplates, [fileUriTemplate]);
  }));

onDisk.test("resources/read gives text as it is, everything else as a blob, and refuses what is too large in words", () =>
  withServer({}, async ({ ask, askModern, server }) => {
    const root = server.workspaceDir;
    const text = "\ufeffGr\u00fc\u00dfe\r\n\u202e\0";
    await Deno.mkdir(`${root}/d e`);
    await Deno.writeTextFile(`${root}/d e/ü.json`, text);
    await Deno.writeFile(`${root}/picture.dat`, png);
    await Deno.writeFile(`${root}/broken.txt`, new Uint8Array([0xff, 0xfe, 0]));
    await Deno.writeFile(`${root}/price.md`, new Uint8Array([0x80, 0x20, 0x93, 0x35, 0x94]));
    await Deno.writeFile(`${root}/price.dat`, new Uint8Array([0x80, 0x20, 0x93, 0x35, 0x94]));
    await Deno.writeTextFile(`${root}/misnamed.png`, "words");
    await Deno.writeTextFile(`${root}/large`, "x".repeat(1_048_577));
    await Deno.writeTextFile(`${root}/empty`, "");
    const cases: readonly [string, Record<string, string>][] = [
      ["workspace:///d%20e/%C3%BC.json", { mimeType: "application/json", text }],
      ["workspace:///picture.dat", { mimeType: "image/png", blob: png.toBase64() }],
      ["workspace:///broken.txt", { mimeType: "application/octet-stream", blob: "//4A" }],
      ["workspace:///price.md", { mimeType: "text/markdown", text: "\u20ac \u201c5\u201d" }],
      ["workspace:///price.dat", { mimeType: "application/octet-stream", blob: "gCCTNZQ=" }],
      ["workspace:///misnamed.png", { mimeType: "text/plain", text: "words" }],
      ["workspace:///empty", { mimeType: "text/plain", text: "" }],
    ];
    for (const [uri, contents] of cases) {
      assert.deepEqual((await ask("resources/read", { uri })).result, { contents: [{ uri, ...contents }] });
      const { result } = await askModern("resources/read", { uri });
      assert.deepEqual(result?.["contents"], [{ uri, ...contents }]);
      assert.deepEqual([result?.["cacheScope"], result?.["ttlMs"]], ["private", 0]);
    }
    const { error } = await ask("resources/read", { uri: "workspace:///large" });
    assert.equal(error?.code, -32602);
    assert.match(error?.message ?? "", /1048577 bytes.*at most 1048576.*file_read/);
  }));

onDisk.test("file_read embeds a file of any kind as the resource that resources/read gives (MCP server/tools)", () =>
  withServer({}, async ({ server, ask }) => {
    await Deno.writeTextFile(`${server.workspaceDir}/a b.json`, "{}");
    await Deno.writeFile(`${server.workspaceDir}/data.bin`, new Uint8Array([0, 255, 1]));
    await Deno.writeFile(`${server.workspaceDir}/caf\u00e9.txt`, new Uint8Array([0x63, 0x61, 0x66, 0xe9]));
    for (const filename of ["a b.json", "data.bin", "caf\u00e9.txt"]) {
      const called = await ask("tools/call", { name: "file_read", arguments: { filename, embed: true } });
      const [block] = called.result?.["content"] as { type: string; resource: { uri: string } }[];
      assert.equal(block?.type, "resource");
      const read = await ask("resources/read", { uri: block?.resource.uri });
      assert.deepEqual(read.result?.["contents"], [block?.resource]);
    }
    const part = await ask("tools/call", {
      name: "file_read",
      arguments: { filename: "a b.json", embed: true, head: 1 },
    });
    assert.equal(part.result?.["isError"], true);
  }));

onDisk.test("what is no file, denied, outside or misspelt is not found, as the era says it, and nobody's to watch", () =>
  withServer({ env: { WORKSPACE_DENY: ".env" } }, async ({ ask, askModern, server }) => {
    const root = server.workspaceDir;
    await Deno.mkdir(`${root}/a`);
    await Deno.writeTextFile(`${root}/x`, "x");
    await Deno.writeTextFile(`${root}/.env`, "secret");
    await Deno.writeTextFile(`${root}/../outside`, "secret");
    await Deno.symlink("../outside", `${root}/out`);
    const missing = [
      "workspace:///nope",
      "workspace:///a",
      "workspace:///.env",
      "workspace:///out",
      "workspace:///x/y",
    ];
    const isFile = (uri: string): boolean => normalUri(uri) === "workspace:///x"; // by its dot segments
    for (const uri of [...missing, ...hostileUris.filter((each) => each.length < 20_000 && !isFile(each))]) {
      const { error } = await ask("resources/read", { uri });
      assert.deepEqual(error, { code: -32002, message: "Resource not found", data: { uri } });
    }
    for (const uri of missing) {
      assert.equal((await askModern("resources/read", { uri })).error?.code, -32602);
    }
    for (const uri of ["workspace:///x", "workspace:///%78", "WORKSPACE:///x", ...hostileUris.filter(isFile)]) {
      const { result } = await ask("resources/read", { uri });
      assert.ok(result !== undefined, uri);
    }
  }));

onDisk.test("a token without files:read neither lists, reads, completes nor hears of files", () =>
  withServer({ scope: "llm:generate" }, async (scene) => {
    await Deno.writeTextFile(`${scene.server.workspaceDir}/x`, "x");
    assert.deepEqual((await listAll(scene)).resources, []);
    const params = { ref: { type: "ref/resource", uri: fileUriTemplate }, argument: { name: "path", value: "" } };
    for (const [method, each] of [["resources/read", { uri: "workspace:///x" }], ["completion/complete", params]]) {
      const message = { jsonrpc: "2.0", id: 1, method, params: each };
      const response = await postMcp(scene.server.url, message, { token: scene.token });
      assert.equal(response.status, 403);
      assert.match(response.headers.get("www-authenticate") ?? "", /scope="[^"]*files:read/);
      await response.body?.cancel();
    }
    const reader = await listen(scene, ["workspace:///x"]);
    assert.deepEqual(notificationsOf(await reader.next()), {});
    await reader.cancel();
  }));

onDisk.test("completion/complete suggests paths level by level, at most 100, as the template expands them", () =>
  withServer({}, async ({ ask, server }) => {
    const root = server.workspaceDir;
    await Deno.mkdir(`${root}/notes/2026`, { recursive: true });
    await Deno.mkdir(`${root}/odd?dir`);
    await Deno.mkdir(`${root}/many`);
    for (const name of ["notes/a b.md", "notes/a.md", "notes/a", "odd?dir/x", "notes.txt", "100%.txt"]) {
      await Deno.writeTextFile(`${root}/${name}`, "");
    }
    await Deno.symlink("notes.txt", `${root}/notes.link`);
    for (let n = 100; n < 250; n++) await Deno.writeTextFile(`${root}/many/${n}`, "");
    const complete = async (value: string, name = "path"): Promise<Record<string, unknown>> => {
      const params = { ref: { type: "ref/resource", uri: fileUriTemplate }, argument: { name, value } };
      return (await ask("completion/complete", params)).result?.["completion"] as Record<string, unknown>;
    };
    const valuesOf = async (value: string): Promise<unknown> => (await complete(value))["values"];
    assert.deepEqual(await valuesOf(""), ["100%.txt", "many/", "notes/", "notes.txt", "odd%3Fdir/"]);
    assert.deepEqual(await valuesOf("no"), ["notes/", "notes.txt"]);
    assert.deepEqual(await valuesOf("notes/a"), ["notes/a", "notes/a b.md", "notes/a.md"]);
    assert.deepEqual(await valuesOf("notes/2026"), ["notes/2026/"]);
    assert.deepEqual(await valuesOf("odd%3Fdir/"), ["odd%3Fdir/x"]);
    for (const value of ["../", "/etc/", "nope/", "%ff", "a\0", "notes/../"]) {
      assert.deepEqual(await valuesOf(value), []);
    }
    assert.deepEqual((await complete("no", "other"))["values"], []);
    const { values, total, hasMore } = await complete("many/1");
    assert.equal((values as string[]).length, 100);
    assert.deepEqual([(values as string[])[99], total, hasMore], ["many/199", 100, false]);
    const all = await complete("many/");
    assert.deepEqual([(all["values"] as string[]).length, all["total"], all["hasMore"]], [100, 150, true]);
    // a list that was cut has no total; the prefix is a name that is there, one that is not, or none
    await Deno.mkdir(`${root}/most`);
    const most = Array.from({ length: 1_500 }, (_, n) => `${root}/most/a${n}`);
    await Promise.all([...most, `${root}/most/a`].map((path) => Deno.writeTextFile(path, "")));
    for (const value of ["most/", "most/a", "most/a1"]) {
      const cut = await complete(value);
      const expected = value === "most/a1" ? 611 : undefined;
      assert.deepEqual(
        [(cut["values"] as string[]).length, cut["total"], cut["hasMore"]],
        [100, expected, true],
        value,
      );
    }
  }));

onDisk.test("legacy clients are notified of what they subscribe to: changes, deletions and their own writes, until they unsubscribe", () =>
  withServer({ scope: "files:read files:write" }, async ({ server, token }) => {
    const root = server.workspaceDir;
    await Deno.mkdir(`${root}/d`);
    await Deno.writeTextFile(`${root}/d/a b.txt`, "1");
    const client = new Client({ name: "watcher", version: "1" });
    const heard = new Inbox<string>();
    const lists = new Inbox<string>();
    client.setNotificationHandler(ResourceListChangedNotificationSchema, () => lists.put("list"));
    client.setNotificationHandler(
      ResourceUpdatedNotificationSchema,
      (notice: { params: { uri: string } }) => heard.put(notice.params.uri),
    );
    const requestInit = { headers: { authorization: `Bearer ${token}` } };
    await client.connect(new StreamableHTTPClientTransport(new URL(`${server.url}/mcp`), { requestInit }));
    try {
      assert.deepEqual(client.getServerCapabilities()?.resources, { listChanged: true, subscribe: true });
      const uri = "workspace:///d/a%20b.txt";
      const later = "workspace:///later";
      await client.subscribeResource({ uri });
      await client.subscribeResource({ uri: later });
      await assert.rejects(client.subscribeResource({ uri: "workspace:///../x" }), { code: -32002 });
      // The SDK opens its stream by itself after the handshake, and tells nobody when it is there.
      for (let n = 0; lists.size === 0; n++) {
        await Deno.writeTextFile(`${root}/d/unwatched${n}`, "x");
        await pause(20);
      }
      assert.equal(heard.size, 0);
      await Deno.writeTextFile(`${root}/d/a b.txt`, "2");
      assert.equal(await heard.next(), uri);
      const read = await client.readResource({ uri });
      assert.deepEqual(read.contents, [{ uri, mimeType: "text/plain", text: "2" }]);
      await client.callTool({ name: "file_write", arguments: { filename: "later", content: "x" } });
      assert.equal(await heard.next(), later);
      await Deno.rename(`${root}/d`, `${root}/e`); // the directory is gone, and its file with it
      assert.equal(await heard.next(), uri);
      await client.unsubscribeResource({ uri: later });
      const last = "workspace:///last";
      await client.subscribeResource({ uri: last });
      heard.clear(); // a directory that appears may mean anything
      await Deno.writeTextFile(`${root}/later`, "y");
      await Deno.writeTextFile(`${root}/last`, "y");
      while (await heard.next() !== last);
      await Deno.writeTextFile(`${root}/later`, "z");
      await Deno.writeTextFile(`${root}/last`, "z");
      let next: string;
      while ((next = await heard.next()) !== last) assert.notEqual(next, later, "unsubscribed");
      assert.doesNotMatch(server.stderr(), /workspace_watch_failed/);
    } finally {
      await client.close();
    }
  }));

onDisk.test("modern clients hear of the files that they listen to, many changes at once as one notice", () =>
  withServer({}, async (scene) => {
    const root = scene.server.workspaceDir;
    await Deno.writeTextFile(`${root}/x`, "1");
    const reader = await listen(scene, ["workspace:///x", "workspace:///../x", "workspace:///new/y", "other://x"]);
    const acknowledged = notificationsOf(await reader.next());
    assert.deepEqual(acknowledged, { resourceSubscriptions: ["workspace:///x", "workspace:///new/y"] });
    for (let n = 0; n < 50; n++) await Deno.writeTextFile(`${root}/x`, `${n}`);
    assert.equal(updatedUri(await reader.next()), "workspace:///x");
    await Deno.mkdir(`${root}/new`);
    await Deno.writeTextFile(`${root}/new/y`, "1");
    const heard: unknown[] = [];
    while (!heard.includes("workspace:///new/y")) heard.push(updatedUri(await reader.next()));
    assert.ok(heard.length < 5, `${heard.length} notices`);
    await scene.server.stop();
    while (await reader.next() !== null); // the end comes by itself
  }));

onDisk.test("where each user has a workspace of their own, nobody lists, reads or hears of another's files", async () => {
  await using place = await makeServerPlace();
  await using server = await startServer(place, { env: { WORKSPACES: "per-user" } });
  const added = await runCommand(["users", "add", "bob", "--data-dir", server.dataDir], {
    stdin: "correct horse battery staple\ncorrect horse battery staple\n",
  });
  assert.equal(added.code, 0, added.stderr);
  const owner = sceneOf(server, await createToken(server, "files:read files:write"));
  const bob = sceneOf(server, await createToken(server, "files:read files:write", "--user", "bob"));
  const uri = "workspace:///same";
  const ownerReader = await listen(owner, [uri]);
  const bobReader = await listen(bob, [uri]);
  await ownerReader.next();
  await bobReader.next();
  const write = (scene: Scene, content: string): Promise<Answer> =>
    scene.ask("tools/call", { name: "file_write", arguments: { filename: "same", content } });
  const ownerHeard = ownerReader.next();
  let ownerIsTold = false;
  void ownerHeard.then(() => ownerIsTold = true);
  await write(bob, "bob's");
  assert.equal(updatedUri(await bobReader.next()), uri);
  assert.deepEqual((await listAll(owner)).resources, []);
  assert.equal((await owner.ask("resources/read", { uri })).error?.code, -32002);
  assert.deepEqual((await listAll(bob)).resources, [{ uri, name: "same", size: 5 }]);
  assert.ok(!ownerIsTold, "the owner heard of bob's file");
  await write(owner, "the owner's");
  assert.equal(updatedUri(await ownerHeard), uri);
  await ownerReader.cancel();
  await bobReader.cancel();
});

async function listen({ server, token }: Scene, uris: readonly string[]): Promise<EventReader> {
  const params = { notifications: { resourceSubscriptions: uris } };
  const { message, headers } = modernRequest("subscriptions/listen", params);
  const response = await postMcp(server.url, message, { token, headers });
  return readEvents(response, { method: "subscriptions/listen", isModern: true });
}

type Event = Awaited<ReturnType<EventReader["next"]>>;

function paramsOf(event: Event, method: string): Record<string, unknown> {
  assert.equal(event?.message?.["method"], method);
  return event?.message?.["params"] as Record<string, unknown>;
}

function notificationsOf(event: Event): unknown {
  return paramsOf(event, "notifications/subscriptions/acknowledged")["notifications"];
}

function updatedUri(event: Event): unknown {
  return paramsOf(event, "notifications/resources/updated")["uri"];
}

/** What arrived, in order. */
class Inbox<T> {
  readonly #items: T[] = [];

  get size(): number {
    return this.#items.length;
  }

  put(item: T): void {
    this.#items.push(item);
  }

  async next(): Promise<T> {
    const deadline = performance.now() + 60_000;
    for (;;) {
      const item = this.#items.shift();
      if (item !== undefined) return item;
      assert.ok(performance.now() < deadline, "nothing arrived");
      await pause(10);
    }
  }

  clear(): void {
    this.#items.length = 0;
  }
}
