/** Bodies that arrive a byte at a time, at the started server: each is given up, and what comes next is served. */
import assert from "node:assert/strict";
import { postMcp } from "../fixtures/mcp_call.ts";
import { makeServerPlace, runCommand, startServer } from "../fixtures/running_server.ts";
import { until } from "../fixtures/until.ts";

const form = "application/x-www-form-urlencoded";
const json = "application/json";
const mebibyte = 1_048_576;

/** Promises a long body, sends a byte of it a second, and gives the answer's head as soon as there is one. */
async function drip(
  url: string,
  { path, type, framing, token }: { path: string; type: string; framing: string; token?: string },
): Promise<string> {
  const { hostname, port, host } = new URL(url);
  using connection = await Deno.connect({ hostname, port: Number(port) });
  const send = (text: string) => connection.write(new TextEncoder().encode(text));
  const authorization = token === undefined ? "" : `Authorization: Bearer ${token}\r\n`;
  await send(`POST ${path} HTTP/1.1\r\nHost: ${host}\r\nContent-Type: ${type}\r\n${authorization}${framing}\r\n\r\n`);
  const isChunked = framing.startsWith("Transfer-Encoding");
  const dripping = setInterval(() => void send(isChunked ? "1\r\n \r\n" : " ").catch(() => {}), 1_000);
  try {
    const answer = new Uint8Array(4_096);
    const length = await connection.read(answer);
    return new TextDecoder().decode(answer.subarray(0, length ?? 0));
  } finally {
    clearInterval(dripping);
  }
}

Deno.test("a body that drips is answered 408 when its time is up, whatever it is for and however it is framed (RFC 9110 §15.5.9)", async () => {
  await using place = await makeServerPlace();
  const created = await runCommand(["token", "create", "--scope", "files:read", "--data-dir", place.dataDir]);
  const token = created.stdout.trim();
  await using server = await startServer(place, { bounds: { http: { bodyTimeoutMs: 2_000 } } });
  const framings = ["Content-Length: 60000", "Content-Length: 1000000", "Transfer-Encoding: chunked"];
  const rows = [
    ...framings.map((framing) => ({ path: "/mcp", type: json, framing, token, status: 408 })),
    ...framings.filter((framing) => !framing.includes("1000000")).flatMap((framing) => [
      { path: "/mcp", type: json, framing, status: 401 }, // without a token nothing more is said
      { path: "/oauth/token", type: form, framing, status: 408 },
      { path: "/oauth/token", type: json, framing, status: 408 },
      { path: "/oauth/register", type: json, framing, status: 408 },
      { path: "/oauth/revoke", type: form, framing, status: 408 },
      { path: "/oauth/introspect", type: form, framing, status: 408 },
      { path: "/oauth/sign-in", type: form, framing, status: 400 }, // a page
    ]),
  ];
  const answers = await Promise.all(rows.map(async (row) => [row, await drip(server.url, row)] as const));
  for (const [row, answer] of answers) {
    assert.equal(Number(/^HTTP\/1\.1 (\d+) /.exec(answer)?.[1]), row.status, `${JSON.stringify(row)}\n${answer}`);
    if (row.status === 408) assert.match(answer, /\r\nconnection: close\r\n/i);
    if (row.path === "/mcp" && row.status === 408) assert.match(answer, /did not arrive within 2 seconds/);
  }
  const next = await postMcp(server.url, { jsonrpc: "2.0", id: 1, method: "tools/list" }, { token });
  assert.equal(next.status, 200);
  await next.body?.cancel();
});

Deno.test("strangers who take all room for bodies at /mcp keep no client from the OAuth endpoints", async () => {
  await using place = await makeServerPlace();
  const http = { maxPublicBodyBytes: 4 * mebibyte, bodyTimeoutMs: 300_000 };
  await using server = await startServer(place, { env: { TRUST_PROXY: "1" }, bounds: { http } });
  const { hostname, port, host } = new URL(server.url);
  let addresses = 0;
  const nextAddress = (): string => `10.0.${addresses >> 8}.${addresses++ & 255}`;
  const statusOf = async (path: string): Promise<number> => {
    const headers = { "content-type": json, "x-forwarded-for": nextAddress() };
    const response = await fetch(server.url + path, { method: "POST", headers, body: "{}" });
    await response.body?.cancel();
    return response.status;
  };
  const held: Deno.TcpConn[] = [];
  try {
    const sizes = [[4 * mebibyte, 16], [mebibyte, 4], [mebibyte / 4, 4], [mebibyte / 16, 8], [1_000, 8]] as const;
    for (const bytes of sizes.flatMap(([bytes, count]) => Array<number>(count).fill(bytes))) {
      const connection = await Deno.connect({ hostname, port: Number(port) });
      held.push(connection);
      const head = `POST /mcp HTTP/1.1\r\nHost: ${host}\r\nContent-Type: ${json}\r\nContent-Length: ${bytes}\r\n`;
      await connection.write(new TextEncoder().encode(`${head}X-Forwarded-For: ${nextAddress()}\r\n\r\n`));
    }
    await until("a handshake that finds no room", async () => await statusOf("/mcp") === 503);
    assert.equal(await statusOf("/oauth/token"), 400);
    assert.equal(await statusOf("/oauth/register"), 400);
  } finally {
    for (const connection of held) connection.close();
  }
});

Deno.test("OAuth bodies past 64 kB are refused before they are read; nobody needs more", async () => {
  await using place = await makeServerPlace();
  await using server = await startServer(place);
  for (const [path, type] of [["/oauth/token", form], ["/oauth/token", json], ["/oauth/register", json]] as const) {
    const answer = await drip(server.url, { path, type, framing: "Content-Length: 65537" });
    assert.match(answer, /^HTTP\/1\.1 413 /, path);
  }
});
