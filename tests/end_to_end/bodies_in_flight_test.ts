/** Many bodies at once at the started server: the caller who sends them waits, and nobody else does. */
import assert from "node:assert/strict";
import { needing } from "../fixtures/forms/chosen_form.ts";
import { postMcpAnew, toolCall } from "../fixtures/mcp_call.ts";
import {
  makeServerPlace,
  runCommand,
  type RunningServer,
  type ServerPlace,
  startServer,
} from "../fixtures/running_server.ts";
import { inTime, until } from "../fixtures/until.ts";

const inOneProcess = needing("one process");

async function makeToken({ dataDir }: ServerPlace, user: readonly string[] = []): Promise<string> {
  const { stdout, code } = await runCommand(
    ["token", "create", "--scope", "files:read files:write", "--data-dir", dataDir, ...user],
  );
  assert.equal(code, 0);
  return stdout.trim();
}

interface Announced {
  /** The head of the answer; does not resolve while the server waits for the body. */
  readonly answer: Promise<string>;
  close(): void;
}

/** Sends the head of a request and the first bytes of its body. */
async function announce(server: RunningServer, token: string, framing: string): Promise<Announced> {
  const { hostname, port, host } = new URL(server.url);
  const connection = await Deno.connect({ hostname, port: Number(port) });
  const head = `POST /mcp HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${token}\r\n` +
    `Content-Type: application/json\r\n${framing}\r\n\r\n`;
  await connection.write(new TextEncoder().encode(head));
  const buffer = new Uint8Array(4_096);
  const answer = connection.read(buffer).then(
    (count) => new TextDecoder().decode(buffer.subarray(0, count ?? 0)),
    () => "",
  );
  return { answer, close: () => connection.close() };
}

const megabyte = 1_000_000;
const write = toolCall("file_write", { filename: "other.txt", content: "x".repeat(megabyte) });

inOneProcess.test("bodies that one caller announces are admitted up to a bound; another caller's are read all the while", async () => {
  await using place = await makeServerPlace();
  const hog = await makeToken(place);
  await runCommand(["users", "add", "anna", "--data-dir", place.dataDir], { stdin: "a passphrase for anna\n" });
  const other = await makeToken(place, ["--user", "anna"]);
  await using server = await startServer(place);
  const announced = await Promise.all(
    Array.from({ length: 200 }, () => announce(server, hog, `Content-Length: ${megabyte}`)),
  );
  const refused: string[] = [];
  for (const { answer } of announced) void answer.then((head) => head === "" || refused.push(head));
  await until("the refusals", () => refused.length >= 200 - 64);
  assert.equal((await postMcpAnew(server.url, write, other)).status, 200);
  assert.ok(refused.length <= 200 - 16, "what is within the caller's share is read");
  for (const head of refused) assert.match(head, /^HTTP\/1\.1 503 [^]*\r\nretry-after: 1\r\n/);
  for (const each of announced) each.close();
  await until("room again", async () => (await postMcpAnew(server.url, write, hog)).status === 200);
});

inOneProcess.test("a caller over its rate is refused before a large body is read, and its small messages once they are", async () => {
  await using place = await makeServerPlace();
  const token = await makeToken(place);
  await using server = await startServer(place, { env: { MCP_RATE_LIMIT: "1" } });
  const call = toolCall("file_list", {});
  assert.equal((await postMcpAnew(server.url, call, token)).status, 200);
  assert.equal((await postMcpAnew(server.url, call, token)).status, 429);
  for (const framing of [`Content-Length: ${megabyte}`, "Transfer-Encoding: chunked"]) {
    const announced = await announce(server, token, framing);
    assert.match(
      await inTime("the refusal", announced.answer),
      /^HTTP\/1\.1 429 [^]*\r\nretry-after: \d+\r\n/,
      framing,
    );
    announced.close();
  }
  const ping = { jsonrpc: "2.0", id: 1, method: "ping" };
  assert.equal((await postMcpAnew(server.url, ping, token)).status, 429, "read, and refused like any other method");
});
