/** What strangers can write into the log of the started server. */
import assert from "node:assert/strict";
import { postMcp } from "../fixtures/mcp_call.ts";
import { makeServerPlace, startServer } from "../fixtures/running_server.ts";

interface Line {
  readonly event: string;
  readonly reason?: string;
  readonly method?: string;
  readonly repeated?: number;
}

Deno.test("a stranger who repeats a refused token, a refused request or the handshake writes a few lines, and a count at the end", async () => {
  await using place = await makeServerPlace();
  await using server = await startServer(place, { bounds: { log: { windowMs: 3_600_000, maxLines: 2 } } });
  const handshake = { jsonrpc: "2.0", id: 1, method: "initialize", params: { protocolVersion: "2025-06-18" } };
  for (let time = 0; time < 20; time++) {
    for (
      const response of [
        await postMcp(server.url, handshake, { token: "nope" }),
        await postMcp(server.url, handshake, { headers: { accept: "application/json" } }),
        await fetch(`${server.url}/oauth/token`, { method: "POST", body: new URLSearchParams({ grant_type: "nope" }) }),
        await fetch(`${server.url}/oauth/authorize?client_id=nobody`),
      ]
    ) await response.body?.cancel();
  }
  await server.stop();
  const lines: Line[] = server.stderr().split("\n").filter((line) => line.startsWith("{")).map((line) =>
    JSON.parse(line)
  );
  for (
    const [event, test] of [
      ["token_refused", (line: Line) => line.reason === "malformed_token"],
      ["client_initialized", () => true],
      ["request", (line: Line) => line.method === "initialize"],
      ["token", (line: Line) => line.reason === "unsupported_grant_type"],
    ] as const
  ) {
    const repeated = lines.filter((line) => line.event === event && test(line)).map((line) => line.repeated);
    assert.deepEqual(repeated, [undefined, undefined, 18], event);
  }
});
