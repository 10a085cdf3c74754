/** Bodies in very many small pieces, at the started server: each piece costs the thread the same, whatever it holds. */
import assert from "node:assert/strict";
import { postMcp } from "../fixtures/mcp_call.ts";
import { makeServerPlace, runCommand, startServer } from "../fixtures/running_server.ts";

/** Sends a chunked body, each chunk as given, as fast as it is taken, and gives the whole answer. */
async function sendChunks(
  url: string,
  { path, type, token, chunks }: { path: string; type: string; token?: string; chunks: readonly string[] },
): Promise<string> {
  const { hostname, port, host } = new URL(url);
  using connection = await Deno.connect({ hostname, port: Number(port) });
  const authorization = token === undefined ? "" : `Authorization: Bearer ${token}\r\n`;
  const head = `POST ${path} HTTP/1.1\r\nHost: ${host}\r\nContent-Type: ${type}\r\n${authorization}`;
  const framed = chunks.map((chunk) => `${chunk.length.toString(16)}\r\n${chunk}\r\n`).join("");
  const bytes = new TextEncoder().encode(
    `${head}Accept: application/json\r\nTransfer-Encoding: chunked\r\n\r\n${framed}0\r\n\r\n`,
  );
  const sending = (async () => {
    for (let sent = 0; sent < bytes.length;) sent += await connection.write(bytes.subarray(sent, sent + 65_536));
  })().catch(() => {}); // the server need not take what it has refused
  const answer = new Uint8Array(4_096);
  const length = await connection.read(answer);
  connection.close();
  await sending;
  return new TextDecoder().decode(answer.subarray(0, length ?? 0));
}

Deno.test("a body of single bytes is refused after the first thousand, wherever it is sent", async () => {
  await using place = await makeServerPlace();
  const created = await runCommand(["token", "create", "--scope", "files:read", "--data-dir", place.dataDir]);
  const token = created.stdout.trim();
  await using server = await startServer(place);
  const json = "application/json";
  const form = "application/x-www-form-urlencoded";
  const chunks = Array.from({ length: 60_000 }, () => " ");
  const targets = [
    { path: "/mcp", type: json, token, status: 400 },
    { path: "/mcp", type: json, status: 401 }, // without a token nothing more is said
    { path: "/oauth/token", type: form, status: 400 },
    { path: "/oauth/token", type: json, status: 400 },
    { path: "/oauth/register", type: json, status: 400 },
    { path: "/oauth/sign-in", type: form, status: 400 },
  ];
  for (const { status, ...target } of targets) {
    const answer = await sendChunks(server.url, { ...target, chunks });
    assert.equal(Number(/^HTTP\/1\.1 (\d+) /.exec(answer)?.[1]), status, `${JSON.stringify(target)}\n${answer}`);
    if (target.path === "/mcp" && status === 400) assert.match(answer, /too many small pieces/);
  }
  const next = await postMcp(server.url, { jsonrpc: "2.0", id: 1, method: "tools/list" }, { token });
  assert.equal(next.status, 200);
  await next.body?.cancel();
});

Deno.test("a large body in pieces as networks cut them is read whole", async () => {
  await using place = await makeServerPlace();
  const created = await runCommand(["token", "create", "--scope", "files:write", "--data-dir", place.dataDir]);
  await using server = await startServer(place);
  const content = "0123456789".repeat(60_000);
  const params = { name: "file_write", arguments: { filename: "large.txt", content } };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params });
  const chunks = body.match(/.{1,100}/gs) ?? [];
  const answer = await sendChunks(server.url, {
    path: "/mcp",
    type: "application/json",
    token: created.stdout.trim(),
    chunks,
  });
  assert.match(answer, /^HTTP\/1\.1 200 /);
  assert.equal(await Deno.readTextFile(`${place.workspaceDir}/large.txt`), content);
});
