/** Faults of the server and of what is in front of it: a server for each, and a client that behaves well. */
import assert from "node:assert/strict";
import { openDatabase } from "../fixtures/open_database.ts";
import { openSignedIn, setUpOwner } from "../fixtures/owner.ts";
import { freePort } from "../fixtures/free_port.ts";
import { ownMounts, withMounts } from "../fixtures/own_mounts.ts";
import { createPerson, type Person } from "../fixtures/person.ts";
import {
  makeServerPlace,
  runCommand,
  type RunningServer,
  type ServerPlace,
  type StartOptions,
  startServer,
} from "../fixtures/running_server.ts";
import { until } from "../fixtures/until.ts";
import { type ConnectingClient, createConnectingClient } from "./connecting_client.ts";
import type { ConsoleSources } from "../../src/console/pages/section.ts";
import { whySection } from "../../src/console/pages/connections.ts";
import { signInTo, startConsole } from "../console/harness.ts";
import { judgedAttempts, storedAttempts } from "./reports.ts";
import { skippedUnless } from "../fixtures/skipped_unless.ts";

interface Scene {
  readonly place: ServerPlace;
  readonly server: RunningServer;
  readonly owner: Person;
  /** One of the server, or of a proxy in front of it. */
  clientOf(origin?: string): ConnectingClient;
}

interface Fault extends StartOptions {
  readonly name: string;
  readonly cause: string;
  readonly hasNoOwner?: true;
  run(scene: Scene): Promise<unknown>;
}

const publicPort = freePort();
const open = { REGISTRATION: "open", COMPATIBILITY: "spec" };

async function connectUntil(client: ConnectingClient, status: number): Promise<void> {
  await client.discover();
  assert.equal((await client.register()).status, status);
}

const faults: readonly Fault[] = [
  {
    name: "registration is off",
    cause: "registration_off",
    env: { ...open, REGISTRATION: "off" },
    run: ({ clientOf }) => connectUntil(clientOf(), 403),
  },
  {
    name: "registration is off, and the client knows",
    cause: "no_way_to_register",
    env: { ...open, REGISTRATION: "off" },
    run: ({ clientOf }) => clientOf().discover(),
  },
  {
    name: "a proxy sends its upstream's address as Host, and passes /mcp alone",
    cause: "documents_not_reached",
    env: { ...open, SERVER_URL: "https://mcp.example.com" },
    args: ["--port", String(publicPort)],
    hasNoOwner: true,
    async run({ clientOf }) {
      assert.equal((await clientOf(`http://127.0.0.1:${publicPort}`).post("tools/list")).status, 401);
    },
  },
  {
    name: "the client uses the machine's address, and SERVER_URL is a name",
    cause: "other_address",
    env: { ...open, SERVER_URL: "https://mcp.example.com" },
    args: ["--port", String(publicPort)],
    hasNoOwner: true,
    async run({ clientOf }) {
      const client = clientOf(`http://127.0.0.1:${publicPort}`);
      client.headers.delete("x-forwarded-for");
      assert.equal((await client.post("tools/list")).status, 401);
    },
  },
  {
    name: "registration asks for a token",
    cause: "registration_token",
    env: {
      REGISTRATION: "token",
      DCR_AUTH_TOKEN: crypto.randomUUID() + crypto.randomUUID(),
      COMPATIBILITY: "spec",
    },
    run: ({ clientOf }) => connectUntil(clientOf(), 401),
  },
  {
    name: "the server has no owner",
    cause: "not_set_up",
    env: open,
    hasNoOwner: true,
    async run({ clientOf }) {
      const client = clientOf();
      await connectUntil(client, 201);
      assert.equal((await client.open()).status, 503);
    },
  },
  {
    name: "the handshake without a token satisfies the client",
    cause: "public_handshake_only",
    env: { ...open, COMPATIBILITY: "servicenow" },
    run: async ({ clientOf }) => assert.equal((await clientOf().post()).status, 200),
  },
  {
    name: "too many requests",
    cause: "rate_limited",
    env: { ...open, OAUTH_RATE_LIMIT: "1" },
    async run({ clientOf }) {
      const client = clientOf();
      await connectUntil(client, 201);
      await until("the limit", async () => (await client.redeem("no-such-code")).status === 429);
    },
  },
  {
    name: "SERVER_URL is not the name that clients use",
    cause: "unknown_host",
    env: open,
    async run({ server }) {
      const { hostname, port } = new URL(server.url);
      using connection = await Deno.connect({ hostname, port: Number(port) });
      const request =
        "POST /mcp HTTP/1.1\r\nhost: mcp.example.com\r\nuser-agent: named/1\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
      await connection.write(new TextEncoder().encode(request));
      assert.match(new TextDecoder().decode(await new Response(connection.readable).bytes()), /^HTTP\/1\.1 403/);
    },
  },
  {
    name: "a proxy eats the Authorization header",
    cause: "header_removed",
    env: open,
    async run({ server, clientOf }) {
      await using proxy = startProxy(server.url, (headers) => headers.delete("authorization"));
      const client = clientOf();
      client.origin = proxy.url;
      await client.connect();
      assert.equal((await client.post("tools/list")).status, 401);
    },
  },
  {
    name: "a proxy passes /mcp alone",
    cause: "documents_not_reached",
    env: open,
    async run({ server, clientOf }) {
      await using proxy = startProxy(server.url, () => {}, (path) => path === "/mcp");
      const client = clientOf(proxy.url);
      assert.equal((await client.post("tools/list")).status, 401);
      assert.equal((await client.send("/.well-known/oauth-protected-resource/mcp")).status, 502);
    },
  },
  {
    name: "a proxy adds a header of its own",
    cause: "header_mangled",
    env: open,
    async run({ server, clientOf }) {
      await using proxy = startProxy(server.url, (headers) => headers.append("authorization", "Bearer of-the-proxy"));
      const client = clientOf(proxy.url);
      client.token = "one";
      assert.equal((await client.post("tools/list")).status, 400);
    },
  },
  {
    name: "the owner ended the connection",
    cause: "token_revoked",
    env: open,
    async run({ place, clientOf }) {
      const client = clientOf();
      await client.connect();
      assert.equal((await client.callTool()).status, 200);
      const { code, stderr } = await runCommand(["clients", "remove", client.clientId, "--data-dir", place.dataDir]);
      assert.equal(code, 0, stderr);
      await until("the token is refused", async () => (await client.post("tools/list")).status === 401);
    },
  },
  {
    name: "a scope that the person did not tick",
    cause: "scope_missing",
    env: open,
    async run({ clientOf }) {
      const client = clientOf();
      await client.discover();
      await client.register();
      await client.redeem(await client.allow({ scope: "llm:generate" }));
      assert.equal((await client.post("tools/call")).status, 403);
    },
  },
  {
    name: "the token is of another installation",
    cause: "key_unknown",
    env: open,
    async run({ clientOf }) {
      await using place = await makeServerPlace();
      await using other = await startServer(place, { env: open });
      await setUpOwner(createPerson(other.url), other);
      const stranger = clientOf(other.url);
      await stranger.connect();
      const client = clientOf();
      client.token = stranger.token;
      assert.equal((await client.post("tools/list")).status, 401);
    },
  },
  {
    name: "the database is locked by another program",
    cause: "database_lost",
    env: open,
    bounds: { storage: { busyTimeoutMs: 100 } },
    async run({ place, clientOf }) {
      using database = openDatabase(place);
      database.exec("BEGIN IMMEDIATE");
      await connectUntil(clientOf(), 503);
      database.exec("ROLLBACK");
    },
  },
  {
    name: "the server is stopped while the database is locked by another program",
    cause: "database_lost",
    env: open,
    bounds: { storage: { busyTimeoutMs: 2_000 } },
    async run({ place, server, clientOf }) {
      using database = openDatabase(place);
      database.exec("BEGIN IMMEDIATE");
      await connectUntil(clientOf(), 503);
      const stopped = server.stop();
      await new Promise((resolve) => setTimeout(resolve, 500));
      database.exec("ROLLBACK");
      await stopped;
    },
  },
];

Deno.test("connections: a fault of the server or of its proxy is named, also after the server has stopped", async (test) => {
  const left: (readonly [Fault, ServerPlace])[] = [];
  for (const fault of faults) {
    const { run, hasNoOwner, name: _name, cause: _cause, ...options } = fault;
    const place = await makeServerPlace();
    left.push([fault, place]);
    await using server = await startServer(place, options);
    const owner = createPerson(server.url);
    if (!hasNoOwner) await setUpOwner(owner, server);
    const clientOf = (origin = server.url) => createConnectingClient(origin, { name: "well-behaved", address: "::1" });
    await run({ place, server, owner, clientOf });
  }
  let storedIn = "";
  const section = whySection({
    issuer: "https://mcp.example.com",
    attempts: (_person: string | null, now: number) => storedAttempts({ dataDir: storedIn }, now),
    examine: () => Promise.resolve([]),
  } as unknown as ConsoleSources);
  await using console = await startConsole([section]);
  console.time.now = Date.now();
  const visitor = await signInTo(console, { path: "/console/why" });
  for (const [{ name, cause }, place] of left) {
    await test.step(`connections: ${name}`, async () => {
      await using gone = place;
      const [attempt, ...more] = await judgedAttempts(gone);
      assert.deepEqual([attempt?.causes[0]?.id, more.length], [cause, 0], JSON.stringify([attempt, ...more]));
      storedIn = gone.dataDir;
      console.time.now = Date.now();
      const page = await (await visitor.get("/console/why")).text();
      assert.ok(page.includes(attempt?.causes[0]?.words.replaceAll("'", "&#39;") ?? "?"), page);
    });
  }
});

Deno.test({
  ...skippedUnless(
    ownMounts !== null,
    "this machine lets nobody mount",
    "connections: a full disk is named on the page while the server lives on",
  ),
  async fn() {
    await using place = await makeServerPlace();
    const launcher = withMounts('mkdir -p -m 700 "$DATA_DIR"; mount -t tmpfs -o size=3m,mode=700 none "$DATA_DIR"');
    await using server = await startServer(place, { env: open, launcher, bounds: {} });
    const owner = createPerson(server.url);
    await setUpOwner(owner, server);
    await openSignedIn(owner, `${server.url}/console/why`);
    const inside = `/proc/${server.pid}/root${place.dataDir}/filler`;
    await Deno.writeFile(inside, new Uint8Array(3_000_000)).catch(() => {});
    const client = createConnectingClient(server.url, { name: "well-behaved", address: "::1" });
    await client.discover();
    await until("the disk is full", async () => (await client.register()).status === 503);
    await until("the page says so", async () => {
      const { html } = await owner.open(`${server.url}/console/why`);
      return html.includes("The disk of the server&#39;s database is full.");
    });
  },
});

/** Passes requests on under the server's own name; what it does not pass is 502. */
function startProxy(
  target: string,
  change: (headers: Headers) => void,
  passes: (path: string) => boolean = () => true,
): AsyncDisposable & { readonly url: string } {
  const port = freePort();
  const server = Deno.serve({ hostname: "127.0.0.1", port, onListen() {} }, async (request) => {
    const { pathname, search } = new URL(request.url);
    if (!passes(pathname)) return new Response(null, { status: 502 });
    const headers = new Headers(request.headers);
    headers.delete("host");
    change(headers);
    const body = request.method === "GET" ? null : await request.bytes();
    return await fetch(target + pathname + search, { method: request.method, headers, body, redirect: "manual" });
  });
  return { url: `http://127.0.0.1:${port}`, [Symbol.asyncDispose]: () => server.shutdown() };
}
