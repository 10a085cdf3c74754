/** A call that a client cancels is over for both sides: the official SDKs do not come back for its stream. */
import assert from "node:assert/strict";
import * as v2 from "@modelcontextprotocol/client";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { pause } from "../../src/lib/time.ts";
import { until } from "../fixtures/until.ts";
import { createHarness, harnessTools } from "../mcp/harness.ts";
import { serveHarness } from "./serve_harness.ts";
import { createToolRegistry } from "../../src/mcp/registry.ts";

const retryMs = 10;
const token = { requestInit: { headers: { authorization: "Bearer all-scopes" } } };

/** A client that connects, and calls `wait` until its signal aborts. */
interface Driver {
  connect(url: URL): Promise<void>;
  wait(signal: AbortSignal): Promise<unknown>;
  close(): Promise<void>;
}

function sdkV1(): Driver {
  const client = new Client({ name: "interop", version: "1" });
  return {
    connect: (url) => client.connect(new StreamableHTTPClientTransport(url, token)),
    wait: (signal) => client.callTool({ name: "wait", arguments: {} }, undefined, { signal, onprogress: () => {} }),
    close: () => client.close(),
  };
}

function sdkV2(mode: v2.VersionNegotiationMode): () => Driver {
  return () => {
    const client = new v2.Client({ name: "interop", version: "1" }, { versionNegotiation: { mode } });
    return {
      connect: (url) => client.connect(new v2.StreamableHTTPClientTransport(url, token)),
      wait: (signal) => client.callTool({ name: "wait", arguments: {} }, { signal, onprogress: () => {} }),
      close: () => client.close(),
    };
  };
}

for (const [name, make] of [["SDK v1", sdkV1], ["SDK v2, legacy", sdkV2("legacy")]] as const) {
  Deno.test(`${name}: asks at most once for the stream of a call that it cancelled`, async () => {
    const harness = createHarness({
      tools: createToolRegistry(harnessTools()),
      eventStreams: { keepAliveMs: 15_000, retryMs },
      limits: { beginAnswerAfterMs: 10 },
    });
    const server = serveHarness(harness);
    const client = make();
    try {
      await client.connect(server.url);
      const controller = new AbortController();
      const call = client.wait(controller.signal);
      await until("the call's stream and the session's own", () => harness.mcp.openStreams === 2);
      controller.abort();
      await assert.rejects(call);
      await until("the cancellation", () => harness.audit.some(({ outcome }) => outcome === "cancelled"));
      await pause(20 * retryMs);
      assert.ok(server.resumed.length <= 1, server.resumed.join(" "));
    } finally {
      await client.close();
      await server.close();
    }
  });
}

Deno.test("SDK v2 on 2026-07-28: to give a call up closes its connection, which cancels it", async () => {
  const harness = createHarness({ tools: createToolRegistry(harnessTools()), limits: { beginAnswerAfterMs: 10 } });
  const server = serveHarness(harness);
  const client = sdkV2({ pin: "2026-07-28" })();
  try {
    await client.connect(server.url);
    const controller = new AbortController();
    const call = client.wait(controller.signal);
    await until("the call's stream", () => harness.mcp.openStreams === 1);
    controller.abort();
    await assert.rejects(call);
    await until("the cancellation", () => harness.audit.some(({ outcome }) => outcome === "cancelled"));
    assert.deepEqual(server.resumed, []);
  } finally {
    await client.close();
    await server.close();
  }
});
