/** HTTP/2 without TLS, as proxies speak it that know their upstream can (RFC 9113 §3.3), at the started server. */
import assert from "node:assert/strict";
import { connect } from "node:http2";
import { makeServerPlace, startServer } from "../fixtures/running_server.ts";

/** The status of a GET, over HTTP/2 with prior knowledge. */
function statusOverHttp2(url: string, headers: Record<string, string>): Promise<number> {
  const session = connect(url);
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  session.on("error", reject);
  const stream = session.request({ ":path": "/health", ...headers });
  stream.on("error", reject);
  stream.on("response", (answer) => resolve(Number(answer[":status"])));
  stream.resume();
  stream.end();
  return promise.finally(() => session.destroy());
}

Deno.test("HTTP/2 with prior knowledge is served under our names and refused under others, like HTTP/1.1", async () => {
  await using place = await makeServerPlace();
  await using server = await startServer(place);
  const { port, host } = new URL(server.url);
  assert.equal(await statusOverHttp2(server.url, {}), 200);
  assert.equal(await statusOverHttp2(server.url, { ":authority": host }), 200);
  assert.equal(await statusOverHttp2(server.url, { ":authority": `localhost:${port}` }), 200);
  assert.equal(await statusOverHttp2(server.url, { ":authority": `evil.example:${port}` }), 403);
  assert.equal(await statusOverHttp2(server.url, { ":authority": host, host: `evil.example:${port}` }), 403);
});
