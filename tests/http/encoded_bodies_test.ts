/** Bodies that are compressed or the like, and bodies that are too large: what the answer says. */
import assert from "node:assert/strict";
import { makeServerPlace, runCommand, startServer } from "../fixtures/running_server.ts";

Deno.test("a body with a Content-Encoding is 415 on every route that reads one (RFC 9110 §15.5.16)", async () => {
  await using place = await makeServerPlace();
  await using server = await startServer(place);
  const words = ["token", "create", "--scope", "files:write", "--data-dir", server.dataDir];
  const token = (await runCommand(words)).stdout.trim();
  const ping = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" });
  const json = { "content-type": "application/json" };
  const form = { "content-type": "application/x-www-form-urlencoded" };
  const places = [
    { path: "/mcp", body: ping, headers: { ...json, accept: "application/json, text/event-stream" }, authorized: true },
    { path: "/oauth/token", body: "grant_type=x", headers: form },
    { path: "/oauth/revoke", body: "token=x", headers: form },
    { path: "/oauth/introspect", body: "token=x", headers: form },
    { path: "/oauth/register", body: "{}", headers: json },
  ];
  for (const { path, body, headers, authorized } of places) {
    const send = async (coding: string, content: BodyInit): Promise<Response> => {
      const authorization = authorized ? { authorization: `Bearer ${token}` } : {};
      const all = { ...headers, ...authorization, "content-encoding": coding };
      const response = await fetch(server.url + path, { method: "POST", headers: all, body: content });
      return new Response(await response.text(), response);
    };
    const packed = async (format: CompressionFormat): Promise<Uint8Array<ArrayBuffer>> =>
      new Uint8Array(
        await new Response(new Blob([body]).stream().pipeThrough(new CompressionStream(format))).arrayBuffer(),
      );
    const sent: [string, BodyInit][] = [
      ["gzip", await packed("gzip")],
      ["x-gzip", await packed("gzip")],
      ["deflate", await packed("deflate")],
      ["GZIP", new Blob([await packed("gzip")]).stream()],
      ["br", body],
      ["zstd, gzip", body],
    ];
    for (const [coding, content] of sent) {
      const refused = await send(coding, content);
      const text = await refused.text();
      assert.equal(refused.status, 415, `${path} ${coding} ${text}`);
      assert.equal(refused.headers.get("accept-encoding"), "identity");
      assert.match(text, /Content-Encoding/);
    }
    assert.notEqual((await send("identity", body)).status, 415, path);
  }
});

Deno.test("a body that is too large is 413, which names the way for larger files", async () => {
  await using place = await makeServerPlace();
  await using server = await startServer(place, { env: { MAX_WRITE_BYTES: "1024" } });
  const words = ["token", "create", "--scope", "files:write", "--data-dir", server.dataDir];
  const token = (await runCommand(words)).stdout.trim();
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  const response = await fetch(`${server.url}/mcp`, { method: "POST", headers, body: "x".repeat(30_000_000) });
  assert.equal(response.status, 413);
  assert.match(await response.text(), /file_write with link/);
});
