/** The endpoint over real HTTP: what a client's socket sees. */
import assert from "node:assert/strict";
import { z } from "zod";
import { defineTool, type Tool } from "../../src/mcp/tool.ts";
import { createToolRegistry } from "../../src/mcp/registry.ts";
import { modernRequest } from "../fixtures/mcp_call.ts";
import { createHarness, type Harness, rpc } from "./harness.ts";

async function withServer(harness: Harness, use: (port: number) => Promise<void>): Promise<void> {
  const server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen() {} },
    (request, info) => harness.endpoint(request, { address: info.remoteAddr.hostname }),
  );
  try {
    await use(server.addr.port);
  } finally {
    await server.shutdown();
  }
}

/** Sends raw bytes and reads the head of the answer, with as much of its body as came along. */
async function exchange(port: number, head: string, body: string, version = "1.1"): Promise<string> {
  using connection = await Deno.connect({ hostname: "127.0.0.1", port });
  const bytes = new TextEncoder().encode(
    `POST /mcp HTTP/${version}\r\nHost: x\r\nConnection: close\r\n${head}\r\n\r\n${body}`,
  );
  await connection.write(bytes);
  const answer = new Uint8Array(65_536);
  const length = await connection.read(answer);
  return new TextDecoder().decode(answer.subarray(0, length ?? 0));
}

Deno.test("an empty answer goes out with Content-Length 0 and no Content-Type", async () => {
  await withServer(createHarness(), async (port) => {
    const body = JSON.stringify({ jsonrpc: "2.0", method: "notifications/initialized" });
    const head = `Content-Type: application/json\r\nAccept: application/json\r\nContent-Length: ${body.length}`;
    const answer = (await exchange(port, head, body)).toLowerCase();
    assert.match(answer, /^http\/1\.1 200 ok\r\n/);
    assert.match(answer, /\r\ncontent-length: 0\r\n/);
    assert.doesNotMatch(answer, /content-type/);
    assert.match(answer, /\r\n\r\n$/);
  });
});

Deno.test("a body's length is judged by Content-Length before it is read, and counted without one", async () => {
  await withServer(createHarness(), async (port) => {
    const head = "Authorization: Bearer all-scopes\r\nContent-Type: application/json";
    assert.match(await exchange(port, `${head}\r\nContent-Length: 999999999`, "{"), /^HTTP\/1\.1 413 /);
    const ping = JSON.stringify(rpc("ping"));
    const chunk = (text: string): string => `${text.length.toString(16)}\r\n${text}\r\n`;
    const chunked = `${head}\r\nTransfer-Encoding: chunked`;
    assert.match(
      await exchange(port, chunked, `${chunk(ping.slice(0, 5))}${chunk(ping.slice(5))}0\r\n\r\n`),
      /"result":\{\}/,
    );
    const padding = chunk(" ".repeat(5_000));
    assert.match(await exchange(port, chunked, `${padding}${padding}${padding}0\r\n\r\n`), /^HTTP\/1\.1 413 /);
  });
});

Deno.test("a tool that waits is told when its caller hangs up, and not when a call ends well (2026-07-28)", async () => {
  const started = Promise.withResolvers<void>();
  const stopped = Promise.withResolvers<string>();
  let leftAlone: AbortSignal | undefined;
  const waiting: Tool = defineTool({
    name: "waiting",
    title: "Waiting",
    description: "Waits for its caller to hang up.",
    scopes: [],
    annotations: {},
    input: z.object({ long: z.boolean().describe("Whether to wait") }),
    run: async ({ long }, { signal }) => {
      if (!long) {
        leftAlone = signal;
        return { ok: true, content: [] };
      }
      signal.addEventListener("abort", () => stopped.resolve((signal.reason as Error).name));
      started.resolve();
      await stopped.promise;
      return { ok: false, code: "stopped", message: "stopped" };
    },
  });
  const harness = createHarness({ tools: createToolRegistry([waiting]), toolTimeoutMs: 60_000 });
  await withServer(harness, async (port) => {
    const call = (long: boolean, signal?: AbortSignal): Promise<Response> => {
      const { message, headers } = modernRequest("tools/call", { name: "waiting", arguments: { long } });
      return fetch(`http://127.0.0.1:${port}/mcp`, {
        method: "POST",
        headers: { ...headers, "content-type": "application/json", authorization: "Bearer all-scopes" },
        body: JSON.stringify(message),
        ...(signal === undefined ? {} : { signal }),
      });
    };
    const quick = await call(false);
    assert.equal((await quick.json()).result.isError, false);
    assert.ok(quick.headers.has("content-length"), "one string, not chunks");

    const controller = new AbortController();
    const long = call(true, controller.signal);
    await started.promise;
    controller.abort();
    await assert.rejects(long, { name: "AbortError" });
    assert.equal(await stopped.promise, "AbortError");
    assert.equal(leftAlone?.aborted, false);
  });
});
