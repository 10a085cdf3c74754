/** A call whose server is killed: its client comes back and is told. */
import assert from "node:assert/strict";
import { postMcp, toolCall } from "../fixtures/mcp_call.ts";
import { startOllama } from "../fixtures/ollama.ts";
import { makeServerPlace, runCommand, startServer } from "../fixtures/running_server.ts";

Deno.test("a client that comes back for the answer of a killed server gets an error for its request, not silence", async () => {
  await using ollama = await startOllama({ models: [{ name: "tinyllama" }] });
  const letGo = ollama.hold();
  await using place = await makeServerPlace();
  const env = { OLLAMA_HOST: ollama.url, LLM_MODELS: "tinyllama" };
  const created = await runCommand(["token", "create", "--scope", "llm:generate", "--data-dir", place.dataDir]);
  const token = created.stdout.trim();
  const killed = await startServer(place, { env });
  const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "test", version: "1" } };
  const opened = await postMcp(killed.url, { jsonrpc: "2.0", id: 1, method: "initialize", params }, { token });
  await opened.body?.cancel();
  const session = {
    "mcp-session-id": opened.headers.get("mcp-session-id") ?? "",
    "mcp-protocol-version": "2025-11-25",
  };
  const call = await fetch(`${killed.url}/mcp`, {
    method: "POST",
    headers: {
      ...session,
      authorization: `Bearer ${token}`,
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
    },
    body: JSON.stringify(toolCall("llm_generate", { prompt: "Say hello" }, "the call")),
  });
  assert.match(call.headers.get("content-type") ?? "", /^text\/event-stream/);
  const reader = call.body?.pipeThrough(new TextDecoderStream()).getReader();
  let received = "";
  while (!/^id: \S+$/m.test(received)) received += (await reader?.read())?.value ?? assert.fail(received);
  const lastEventId = /^id: (\S+)$/m.exec(received)?.[1] ?? "";
  await killed.stop("SIGKILL");
  await reader?.cancel().catch(() => {});
  await using server = await startServer(place, { env });
  const resumed = await fetch(`${server.url}/mcp`, {
    headers: {
      ...session,
      authorization: `Bearer ${token}`,
      accept: "text/event-stream",
      "last-event-id": lastEventId,
    },
  });
  assert.equal(resumed.status, 200);
  const [data = "{}"] = Array.from((await resumed.text()).matchAll(/^data: (\{.*)$/gm), ([, json]) => json);
  const { id, error } = JSON.parse(data);
  assert.deepEqual([id, error?.code], ["the call", -32603], data);
  letGo();
});
