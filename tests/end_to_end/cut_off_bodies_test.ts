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

/** Sends headers and less of a body than they promise. */
async function sendHalf(server: RunningServer, path: string, type: string): Promise<Deno.TcpConn> {
  const { hostname, port, host } = new URL(server.url);
  const connection = await Deno.connect({ hostname, port: Number(port) });
  const head = `POST ${path} HTTP/1.1\r\nHost: ${host}\r\nContent-Type: ${type}\r\nContent-Length: 100\r\n`;
  await connection.write(new TextEncoder().encode(`${head}Connection: close\r\n\r\n{"half`));
  return connection;
}

Deno.test("a sender that hangs up within a body is its own fault, and no error of the server", async () => {
  await using place = await makeServerPlace();
  await using server = await startServer(place);
  for (const [path, type] of paths) {
    const connection = await sendHalf(server, path, type);
    await new Promise((resolve) => setTimeout(resolve, 50));
    connection.close();
  }
  await new Promise((resolve) => setTimeout(resolve, 200));
  await server.stop();
  assert.ok(!server.stderr().includes('"level":"error"'), server.stderr());
});
