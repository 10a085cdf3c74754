/** Who hears that files appear and disappear, in both eras, on both backends; and that no server promises it in vain. */
import assert from "node:assert/strict";
import { needing } from "../fixtures/forms/chosen_form.ts";
import { modernRequest, postMcp, toolCall } from "../fixtures/mcp_call.ts";
import { makeServerPlace, runCommand, type RunningServer, startServer } from "../fixtures/running_server.ts";
import { type EventReader, readEvents } from "../mcp/event_reader.ts";

const onDisk = needing("workspace directory");
const on = (env: object) => "WORKSPACE_STORE" in env ? Deno : onDisk;

const version = "2025-11-25";
const uri = "workspace:///x";
type Notifications = Readonly<Record<string, unknown>>;

/** A client of one token. */
interface Caller {
  readonly url: string;
  readonly token: string;
}

/** A client's session of the legacy era. */
interface LegacySession {
  readonly capabilities: Readonly<Record<string, unknown>>;
  ask(method: string, params: Record<string, unknown>): Promise<Record<string, unknown>>;
  /** The session's own stream. */
  open(): Promise<EventReader>;
}

const backends: readonly (readonly [string, Record<string, string>])[] = [
  ["on the disk", {}],
  ["in the storage", { WORKSPACE_STORE: "storage" }],
];

for (const [where, env] of backends) {
  on(env).test(
    `${where}: both eras hear once that files appeared or disappeared, and not that one changed`,
    () =>
      withServer(env, async (server) => {
        const caller = { url: server.url, token: await createToken(server, "files:read files:write") };
        const legacy = await beginSession(caller);
        assert.deepEqual(legacy.capabilities["resources"], { listChanged: true, subscribe: true });
        assert.deepEqual((await discover(caller))["resources"], { listChanged: true, subscribe: true });
        assert.deepEqual(await legacy.ask("resources/subscribe", { uri }), {});
        const legacyStream = await legacy.open();
        assert.equal((await legacyStream.next())?.message, null, "the stream begins with an event to resume from");
        const later = "workspace:///later";
        assert.deepEqual(await legacy.ask("resources/subscribe", { uri: later }), {});
        const wanted = { resourcesListChanged: true, resourceSubscriptions: [uri, later] };
        const modernStream = await listen(caller, wanted);
        assert.deepEqual(acknowledged(await modernStream.next()), wanted);
        const streams = [legacyStream, modernStream];

        for (let n = 0; n < 20; n++) await write(caller, `many-${n}`);
        for (const stream of streams) assert.equal(await nextKind(stream), "list");
        await write(caller, "x");
        for (const stream of streams) {
          await bothKinds(stream, uri);
        }
        await write(caller, "x"); // a file that is replaced is told as that alone
        await write(caller, "later");
        for (const stream of streams) {
          await bothKinds(stream, later);
        }
        assert.ok(await call(caller, "file_move", { filename: "x", destination: "y" }));
        for (const stream of streams) await bothKinds(stream, uri);
        await write(caller, "d/new");
        for (const stream of streams) await kindsUntil(stream, "list");
        assert.ok(await call(caller, "file_delete", { filename: "d", recursive: true }));
        for (const stream of streams) await kindsUntil(stream, "list");
        for (const stream of streams) await stream.cancel();
      }),
  );

  on(env).test(
    `${where}: with a workspace for each user nobody hears of another's files, nor without files:read`,
    () =>
      withServer({ ...env, WORKSPACES: "per-user" }, async (server) => {
        await addUser(server, "bob");
        const ada = { url: server.url, token: await createToken(server, "files:read files:write") };
        const bob = { url: server.url, token: await createToken(server, "files:read files:write", "--user", "bob") };
        const model = { url: server.url, token: await createToken(server, "llm:generate") };
        const streams = await Promise.all(
          [ada, bob, model].map((each) => listen(each, { resourcesListChanged: true })),
        );
        for (const stream of streams) {
          assert.deepEqual(acknowledged(await stream.next()), { resourcesListChanged: true });
        }
        const [adas, bobs, models] = streams as [EventReader, EventReader, EventReader];
        const heard = [adas.next(), models.next()];
        let isTold = false;
        for (const each of heard) void each.then((event) => isTold ||= event !== null);
        for (let n = 0; n < 3; n++) {
          await write(bob, `${n}`);
          assert.equal(await nextKind(bobs), "list");
        }
        assert.ok(!isTold, "someone heard of bob's file");
        await write(ada, "first");
        assert.equal((await heard[0])?.message?.["method"], "notifications/resources/list_changed");
        await server.stop();
        while (await models.next() !== null); // the end comes by itself
        const last = await heard[1];
        assert.equal(last?.message?.["method"], undefined, "without files:read the first message is the end");
        for (const stream of [adas, bobs]) await stream.cancel();
      }),
  );
}

onDisk.test("many files that appear at once on the disk, in new directories too, are few notices", () =>
  withServer({}, async (server) => {
    const caller = { url: server.url, token: await createToken(server, "files:read") };
    const stream = await listen(caller, { resourcesListChanged: true });
    await stream.next();
    await Deno.mkdir(`${server.workspaceDir}/d/e`, { recursive: true });
    for (let n = 0; n < 500; n++) await Deno.writeTextFile(`${server.workspaceDir}/d/e/${n}`, "");
    assert.equal(await nextKind(stream), "list");
    let notices = 1;
    const rest = (async () => {
      while (await stream.next().then((event) => event?.message?.["method"]) !== undefined) notices++;
    })();
    await server.stop();
    await rest;
    assert.ok(notices < 50, `${notices} notices of 500 files`);
  }));

onDisk.test("a resource that gives no notices is refused to subscribers, in the midst of those that do", () =>
  withServer({}, async (server) => {
    const caller = { url: server.url, token: await createToken(server, "files:read llm:generate") };
    const legacy = await beginSession(caller);
    await assert.rejects(legacy.ask("resources/subscribe", { uri: "ui://portcullis/view.html" }), {
      message: /^-32602: /,
    });
    const stream = await listen(caller, { resourceSubscriptions: ["ui://portcullis/view.html", uri] });
    assert.deepEqual(acknowledged(await stream.next()), { resourceSubscriptions: [uri] });
    await stream.cancel();
  }));

onDisk.test("equivalent addresses are watched as one resource, under the client's spelling", () =>
  withServer({}, async (server) => {
    const caller = { url: server.url, token: await createToken(server, "files:read files:write") };
    const [spelled, other] = ["workspace:///%c3%9c%28.txt", "WORKSPACE:///Ü(.txt"];
    const legacy = await beginSession(caller);
    await legacy.ask("resources/subscribe", { uri: other });
    await legacy.ask("resources/subscribe", { uri: spelled });
    const legacyStream = await legacy.open();
    await legacyStream.next();
    const modernStream = await listen(caller, { resourceSubscriptions: [spelled, other] });
    assert.deepEqual(acknowledged(await modernStream.next()), { resourceSubscriptions: [spelled] });
    await write(caller, "Ü(.txt");
    for (const stream of [legacyStream, modernStream]) await kindsUntil(stream, spelled);
    await legacy.ask("resources/unsubscribe", { uri: other });
    await legacy.ask("resources/subscribe", { uri });
    await write(caller, "Ü(.txt");
    await write(caller, "x");
    assert.ok((await kindsUntil(legacyStream, uri)).every((kind) => kind === "list"));
    for (const stream of [legacyStream, modernStream]) await stream.cancel();
  }));

async function withServer(
  env: Record<string, string>,
  body: (server: RunningServer) => Promise<void>,
): Promise<void> {
  await using place = await makeServerPlace();
  await using server = await startServer(place, { env: { OLLAMA_HOST: "127.0.0.1:1", ...env } });
  await body(server);
}

async function createToken(server: RunningServer, scope: string, ...more: readonly string[]): Promise<string> {
  const words = ["token", "create", "--scope", scope, "--data-dir", server.dataDir, ...more];
  const { code, stdout, stderr } = await runCommand(words);
  assert.equal(code, 0, stderr);
  return stdout.trim();
}

async function addUser(server: RunningServer, name: string): Promise<void> {
  const stdin = "correct horse battery staple\ncorrect horse battery staple\n";
  const { code, stderr } = await runCommand(["users", "add", name, "--data-dir", server.dataDir], { stdin });
  assert.equal(code, 0, stderr);
}

async function call({ url, token }: Caller, name: string, input: Record<string, unknown>): Promise<boolean> {
  const { result } = await (await postMcp(url, toolCall(name, input), { token })).json();
  return result?.isError === false;
}

async function write(caller: Caller, filename: string): Promise<void> {
  assert.ok(await call(caller, "file_write", { filename, content: crypto.randomUUID() }));
}

async function discover({ url, token }: Caller): Promise<Readonly<Record<string, unknown>>> {
  const { message, headers } = modernRequest("server/discover", {});
  const { result } = await (await postMcp(url, message, { token, headers })).json();
  return result.capabilities;
}

async function beginSession({ url, token }: Caller): Promise<LegacySession> {
  const params = { protocolVersion: version, capabilities: {}, clientInfo: { name: "watcher", version: "1" } };
  const begun = await postMcp(url, { jsonrpc: "2.0", id: 0, method: "initialize", params }, { token });
  const { result } = await begun.json();
  const headers = { "mcp-session-id": begun.headers.get("mcp-session-id") ?? "", "mcp-protocol-version": version };
  return {
    capabilities: result.capabilities,
    async ask(method, params) {
      const answer = await (await postMcp(url, { jsonrpc: "2.0", id: 1, method, params }, { token, headers })).json();
      if (answer.error !== undefined) throw new Error(`${answer.error.code}: ${answer.error.message}`);
      return answer.result;
    },
    async open() {
      const accept = { authorization: `Bearer ${token}`, accept: "text/event-stream", ...headers };
      return readEvents(await fetch(`${url}/mcp`, { headers: accept }), { method: "GET", isModern: false });
    },
  };
}

async function listen({ url, token }: Caller, notifications: Notifications): Promise<EventReader> {
  const { message, headers } = modernRequest("subscriptions/listen", { notifications });
  const response = await postMcp(url, message, { token, headers });
  return readEvents(response, { method: "subscriptions/listen", isModern: true });
}

type Event = Awaited<ReturnType<EventReader["next"]>>;

function acknowledged(event: Event): unknown {
  assert.equal(event?.message?.["method"], "notifications/subscriptions/acknowledged");
  return (event?.message?.["params"] as Record<string, unknown>)["notifications"];
}

/** What the next notice tells: an address, or `list`. */
async function nextKind(stream: EventReader): Promise<unknown> {
  const message = (await stream.next())?.message;
  switch (message?.["method"]) {
    case "notifications/resources/list_changed":
      return "list";
    case "notifications/resources/updated":
      return (message["params"] as Record<string, unknown>)["uri"];
    default:
      return message;
  }
}

/** The notice of a resource and that of the list, in either order: rules judge each resource, and the list waits for none. */
async function bothKinds(stream: EventReader, resource: string): Promise<void> {
  const before = await kindsUntil(stream, resource);
  if (!before.includes("list")) await kindsUntil(stream, "list");
}

/** What is told until `wanted` is, without it. */
async function kindsUntil(stream: EventReader, wanted: string): Promise<readonly unknown[]> {
  const kinds: unknown[] = [];
  for (;;) {
    const kind = await nextKind(stream);
    if (kind === wanted) return kinds;
    assert.equal(typeof kind, "string", `the stream ended: ${JSON.stringify(kind)}`);
    kinds.push(kind);
  }
}
