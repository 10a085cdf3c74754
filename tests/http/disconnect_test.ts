/** What a lost connection does to a call, at the started server: it cancels on 2026-07-28, and not before. */
import assert from "node:assert/strict";
import type { Bounds } from "../../src/app/installation.ts";
import { modernRequest, toolCall } from "../fixtures/mcp_call.ts";
import { type StandInOllama, startOllama } from "../fixtures/ollama.ts";
import { makeServerPlace, runCommand, type RunningServer, startServer } from "../fixtures/running_server.ts";
import { until } from "../fixtures/until.ts";

const accepts = [
  "application/json, text/event-stream",
  "application/json",
  "text/event-stream",
  "*/*",
  "",
] as const;
const both = accepts[0];
/** `Deno.serve` notices by itself that a caller is gone only where the body is small: up to some 500 bytes. */
const promptLengths = [10, 600, 200_000];

interface Scene {
  readonly server: RunningServer;
  readonly ollama: StandInOllama;
  readonly token: string;
}

async function withScene(bounds: Bounds, use: (scene: Scene) => Promise<void>): Promise<void> {
  await using ollama = await startOllama({ models: [{ name: "tinyllama", answer: () => "spoken" }] });
  await using place = await makeServerPlace();
  const created = await runCommand(["token", "create", "--scope", "llm:generate", "--data-dir", place.dataDir]);
  await using server = await startServer(place, {
    bounds: { ...bounds, ollama: { ...bounds.ollama, maxInFlight: 1 } },
    env: { OLLAMA_HOST: ollama.url },
  });
  await use({ server, ollama, token: created.stdout.trim() });
}

/** Posts on a connection of its own, and returns what closes it. */
function post(
  { server, token }: Scene,
  message: unknown,
  headers: Record<string, string>,
): { readonly response: Promise<Response>; hangUp(): void } {
  const client = Deno.createHttpClient({ poolMaxIdlePerHost: 0 });
  const controller = new AbortController();
  const response = fetch(`${server.url}/mcp`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${token}`, ...headers },
    body: JSON.stringify(message),
    signal: controller.signal,
    client,
  });
  response.catch(() => {});
  return {
    response,
    hangUp() {
      controller.abort();
      client.close();
    },
  };
}

function generations({ ollama }: Scene) {
  return ollama.requests.filter(({ path }) => path === "/api/generate");
}

async function openSession(scene: Scene): Promise<Record<string, string>> {
  const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "test", version: "1" } };
  const opened = post(scene, { jsonrpc: "2.0", id: 1, method: "initialize", params }, { accept: both });
  const response = await opened.response;
  await response.text();
  opened.hangUp();
  const id = response.headers.get("mcp-session-id") ?? assert.fail("no session");
  return { accept: both, "mcp-session-id": id, "mcp-protocol-version": "2025-11-25" };
}

Deno.test("2026-07-28: a disconnect frees the model, at any size of the body and whatever the caller reads", async () => {
  await withScene({}, async (scene) => {
    const { ollama } = scene;
    for (const accept of accepts) {
      for (const length of promptLengths) {
        for (const isBegun of [false, true]) {
          const letGo = ollama.hold();
          const count = generations(scene).length;
          const prompt = "x".repeat(length);
          const { message, headers } = modernRequest("tools/call", { name: "llm_generate", arguments: { prompt } });
          const call = post(scene, message, { ...headers, accept });
          await until("the model to be asked", () => generations(scene).length > count);
          if (isBegun) assert.equal((await call.response).status, 200);
          call.hangUp();
          const last = generations(scene).at(-1);
          const what = `the model to be free: ${JSON.stringify({ accept, length, isBegun })}`;
          await until(what, () => last?.outcome === "aborted");
          letGo();
        }
      }
    }
    const { message, headers } = modernRequest("tools/call", { name: "llm_generate", arguments: { prompt: "now" } });
    const call = post(scene, message, { ...headers, accept: both });
    assert.match(await (await call.response).text(), /spoken/);
    call.hangUp();
  });
});

Deno.test("before 2026-07-28: a call goes on without its connection, and its answer can be resumed", async () => {
  await withScene({}, async (scene) => {
    const session = await openSession(scene);
    for (const length of promptLengths) {
      const letGo = scene.ollama.hold();
      const count = generations(scene).length;
      const call = post(scene, toolCall("llm_generate", { prompt: "x".repeat(length) }), session);
      await until("the model to be asked", () => generations(scene).length > count);
      const reader = ((await call.response).body ?? assert.fail("no body")).getReader();
      const first = new TextDecoder().decode((await reader.read()).value);
      const lastEventId = /^id: (\S+)$/m.exec(first)?.[1] ?? assert.fail(first);
      call.hangUp();
      const headers = { authorization: `Bearer ${scene.token}`, ...session, "last-event-id": lastEventId };
      const resumed = await fetch(`${scene.server.url}/mcp`, { headers });
      letGo();
      assert.match(await resumed.text(), /spoken/);
      assert.equal(generations(scene).at(-1)?.outcome, "finished");
    }
  });
});

Deno.test("before 2026-07-28: a call whose caller does not come back ends with the resume window", async () => {
  await withScene({ mcp: { resumeWindowMs: 1_000 } }, async (scene) => {
    const session = await openSession(scene);
    const cases: Record<string, string>[] = [session, { accept: both }];
    for (const headers of cases) {
      const letGo = scene.ollama.hold();
      const count = generations(scene).length;
      const call = post(scene, toolCall("llm_generate", { prompt: "x".repeat(2_000) }), headers);
      await until("the model to be asked", () => generations(scene).length > count);
      await call.response;
      call.hangUp();
      await until("the model to be free", () => generations(scene).at(-1)?.outcome === "aborted");
      letGo();
    }
  });
});
