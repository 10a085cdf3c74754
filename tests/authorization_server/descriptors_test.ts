import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { freePort } from "../fixtures/free_port.ts";
import { until } from "../fixtures/until.ts";
import { onLinux, skippedUnless } from "../fixtures/skipped_unless.ts";

const fixture = (name: string) => Deno.readTextFileSync(new URL(`./fixtures/${name}`, import.meta.url));
const certificate = { cert: fixture("server.pem"), key: fixture("server.key.pem") };
const failuresOfEach = 1_000;

type Peer = (connection: Deno.Conn) => Promise<void>;

const send = async (connection: Deno.Conn, text: string): Promise<void> => {
  await connection.write(new TextEncoder().encode(text));
};
const readSome = (connection: Deno.Conn): Promise<unknown> => connection.read(new Uint8Array(4_096));
/** Stays until the other end has gone. */
const stay: Peer = async (connection) => {
  while (await readSome(connection) !== null);
};
const head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n";

const plainPeers: Record<string, Peer> = {
  "says nothing": stay,
  "answers without TLS": async (connection) => {
    await send(connection, "HTTP/1.1 400 Bad Request\r\n\r\n");
    await stay(connection);
  },
  "closes at once": () => Promise.resolve(),
  "closes within the handshake": async (connection) => void await readSome(connection),
  "stops within the handshake": async (connection) => {
    await readSome(connection);
    await send(connection, "\x16\x03\x03\x00\x7a\x02");
    await stay(connection);
  },
};
const securePeers: Record<string, Peer> = {
  "closes before it answers": async (connection) => void await readSome(connection),
  "never answers": stay,
  "stalls within the body": async (connection) => {
    await readSome(connection);
    await send(connection, `${head}content-length: 100\r\n\r\n{`);
    await stay(connection);
  },
  "sends too much": async (connection) => {
    await readSome(connection);
    await send(connection, `${head}\r\n${"x".repeat(20_000)}`);
    await stay(connection);
  },
};

function listen(listener: Deno.Listener, peer: Peer): { readonly port: number; close(): void } {
  const open = new Set<Deno.Conn>();
  const serve = async (connection: Deno.Conn): Promise<void> => {
    open.add(connection);
    await peer(connection).catch(() => {}); // the fetcher hung up
    open.delete(connection);
    connection.close();
  };
  void (async () => {
    for await (const connection of listener) void serve(connection);
  })();
  return { port: (listener.addr as Deno.NetAddr).port, close: () => listener.close() };
}

Deno.test({
  ...skippedUnless(
    ...onLinux,
    "1,000 failed fetches of each kind leave no descriptor behind, with the permissions of the main thread",
  ),
  async fn(test) {
    const shipped = Deno.readTextFileSync(new URL("../../deno.json", import.meta.url));
    const start: string = JSON.parse(shipped).tasks.start;
    const flags = start.split(" ").filter((word) => word.startsWith("--"));
    await using process = new Deno.Command(Deno.execPath(), {
      args: ["run", ...flags, fileURLToPath(new URL("./fetching_process.ts", import.meta.url))],
      stdin: "piped",
      stdout: "piped",
    }).spawn();
    const input = process.stdin.getWriter();
    const answers = process.stdout.pipeThrough(new TextDecoderStream()).getReader();
    const fetchAll = async (port: number, count: number, host = "app.example.com"): Promise<Record<string, number>> => {
      await input.write(new TextEncoder().encode(JSON.stringify({ port, host, count })));
      return JSON.parse((await answers.read()).value ?? "");
    };
    const descriptors = (): number => [...Deno.readDirSync(`/proc/${process.pid}/fd`)].length;
    const deadPort = freePort();
    await fetchAll(deadPort, 1); // modules and pipes are open from here on
    const before = descriptors();
    const check = (name: string, port: number, host?: string) =>
      test.step(`a host that ${name}`, async () => {
        const reasons = await fetchAll(port, failuresOfEach, host);
        assert.equal(Object.values(reasons).reduce((sum, count) => sum + count, 0), failuresOfEach);
        assert.equal(reasons["fetched"], undefined);
        await until(`descriptors are back to ${before}`, () => descriptors() <= before + 2);
      });
    await check("refuses connections", deadPort);
    for (const [name, peer] of Object.entries(plainPeers)) {
      const peers = listen(Deno.listen({ hostname: "127.0.0.1", port: 0 }), peer);
      await check(name, peers.port);
      peers.close();
    }
    for (const [name, peer] of Object.entries(securePeers)) {
      const peers = listen(Deno.listenTls({ hostname: "127.0.0.1", port: 0, ...certificate }), peer);
      await check(name, peers.port);
      peers.close();
    }
    const secure = listen(Deno.listenTls({ hostname: "127.0.0.1", port: 0, ...certificate }), stay);
    await check("has a certificate for another name", secure.port, "victim.example.org");
    secure.close();
    await input.close();
    await answers.cancel();
    await process.status;
  },
});
