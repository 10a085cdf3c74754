/** Requests whose `Host` or target no URL can have, byte by byte, on every route and on the listener of the metrics. */
import assert from "node:assert/strict";
import { freePort } from "../fixtures/free_port.ts";
import { makeServerPlace, startServer } from "../fixtures/running_server.ts";

const paths = [
  "/mcp",
  "/oauth/authorize",
  "/oauth/sign-in",
  "/oauth/consent",
  "/oauth/token",
  "/oauth/grants",
  "/setup",
  "/health",
  "/metrics",
  "/.well-known/oauth-protected-resource",
  "/nothing",
];

/** `<at>` is the address of the server, as a client that is right names it. */
const malformed: readonly (readonly [target: string, host: string])[] = [
  ["<path>", "999.999.999.999"],
  ["<path>", "256.1.1.1"],
  ["<path>", "127.0.0.1:99999"],
  ["<path>", "127.0.0.1:-1"],
  ["<path>", "a b"],
  ["<path>", "<at>, <at>"],
  ["<path>", "[:::::]"],
  ["<path>", "[fe80::1%25eth0]"],
  ["<path>", "user@<at>"],
  ["<path>", "<at>/x"],
  ["<path>", "<at>?x"],
  ["<path>", "<at>#x"],
  ["<path>", "%zz"],
  ["http://[::<path>", "<at>"],
  ["http://a b<path>", "<at>"],
  ["http://evil.example<path>", "<at>"],
  ["http://user:word@<at><path>", "<at>"],
  ["http://<at>:99999<path>", "<at>"],
];
const unknown: typeof malformed = [["<path>", "evil.example"], ["<path>", "localhost.evil.example:3000"]];
const wellFormed: typeof malformed = [["<path>", "<at>"], ["http://<at><path>", "<at>"], ["<path>", "10.0.0.7"]];

async function statusOf(at: string, path: string, [target, host]: readonly [string, string]): Promise<number> {
  const { hostname, port } = new URL(`http://${at}`);
  using connection = await Deno.connect({ hostname, port: Number(port) });
  const fill = (text: string): string => text.replaceAll("<at>", at).replaceAll("<path>", path);
  const head = `GET ${fill(target)} HTTP/1.1\r\nHost: ${fill(host)}\r\nConnection: close\r\n\r\n`;
  await connection.write(new TextEncoder().encode(head));
  const buffer = new Uint8Array(65_536);
  const count = await connection.read(buffer);
  return Number(new TextDecoder().decode(buffer.subarray(0, count ?? 0)).slice(9, 12));
}

for (const withMetrics of [false, true]) {
  Deno.test(`a Host or a target that no URL can have is 400 on every route ${withMetrics ? "with" : "without"} metrics`, async () => {
    await using place = await makeServerPlace();
    const metricsPort = freePort();
    await using server = await startServer(place, {
      env: {
        ...(withMetrics ? { METRICS_PORT: String(metricsPort) } : {}),
        OAUTH_RATE_LIMIT: "100000",
      },
      bounds: { healthChecksPerMinute: 100_000 },
    });
    const listeners = [new URL(server.url).host, ...(withMetrics ? [`127.0.0.1:${metricsPort}`] : [])];
    for (const at of listeners) {
      for (const each of wellFormed) {
        assert.equal(await statusOf(at, at === listeners[0] ? "/health/live" : "/metrics", each), 200, String(each));
      }
      for (const path of paths) {
        for (const each of malformed) assert.equal(await statusOf(at, path, each), 400, `${path} ${each}`);
        for (const each of unknown) assert.equal(await statusOf(at, path, each), 403, `${path} ${each}`);
        for (const each of wellFormed) assert.notEqual(await statusOf(at, path, each), 500, `${path} ${each}`);
      }
    }
    await server.stop();
    assert.doesNotMatch(server.stderr(), /"level":"error"|Uncaught|TypeError/);
  });
}
