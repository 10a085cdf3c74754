/** Bodies that never arrive whole, at the started server. */
import assert from "node:assert/strict";
import { makeServerPlace, type RunningServer, startServer } from "../fixtures/running_server.ts";

const paths: readonly (readonly [path: string, type: string])[] = [
  ["/oauth/token", "application/x-www-form-urlencoded"],
  ["/oauth/revoke", "application/json"],
  ["/oauth/register", "application/json"],
  ["/oauth/consent", "application/x-www-form-urlencoded"],
  ["/mcp", "application/json"],
];

/** Sends headers and less of a body than they promise, once the server reads it (RFC 9110 §10.1.1) or has answered. */
async function sendHalf(server: RunningServer, path: string, type: string): Promise<Deno.TcpConn> {
  const { hostname, port, host } = new URL(server.url);
  const connection = await Deno.connect({ hostname, port: Number(port) });
  const head = `POST ${path} HTTP/1.1\r\nHost: ${host}\r\nContent-Type: ${type}\r\nContent-Length: 100\r\n`;
  const send = (text: string) => connection.write(new TextEncoder().encode(text));
  await send(`${head}Connection: close\r\nExpect: 100-continue\r\n\r\n`);
  await connection.read(new Uint8Array(4_096));
  await send('{"half').catch(() => {}); // it may have answered and closed
  return connection;
}

Deno.test("a sender that hangs up within a body is its own fault, and no error of the server", async () => {
  await using place = await makeServerPlace();
  await using server = await startServer(place);
  for (const [path, type] of paths) {
    const connection = await sendHalf(server, path, type);
    connection.close();
  }
  await (await fetch(`${server.url}/health`)).body?.cancel();
  await server.stop(); // in order: it waits for the requests that it has begun
  assert.ok(!server.stderr().includes('"level":"error"'), server.stderr());
});
