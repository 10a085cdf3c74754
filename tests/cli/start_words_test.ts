/** What the console says about parts that the server does without. */
import assert from "node:assert/strict";
import { needing } from "../fixtures/forms/chosen_form.ts";
import { freePort } from "../fixtures/free_port.ts";
import { startOllama } from "../fixtures/ollama.ts";
import { makeServerPlace, runCommand, spawnServer, startServer } from "../fixtures/running_server.ts";

const inOneProcess = needing("one process");

inOneProcess.test("the start says on one line that Ollama and ServiceNow's other settings are missing", async () => {
  await using place = await makeServerPlace();
  const origin = `http://127.0.0.1:${freePort()}`;
  await using server = await startServer(place, {
    env: { OLLAMA_HOST: origin, SERVICENOW_INSTANCE: "https://dev1.service-now.com" },
  });
  const lines = server.stderr().split("\n").filter((line) => line.startsWith("  without "));
  assert.deepEqual(lines, [
    `  without     local models: Ollama does not answer at ${origin}; ` +
    "ServiceNow: SERVICENOW_CLIENT_ID and SERVICENOW_CLIENT_SECRET are missing",
  ]);
});

inOneProcess.test("the start uses the first of several Ollama hosts and names that as gone", async () => {
  await using ollama = await startOllama({ models: [{ name: "tinyllama" }] });
  await using place = await makeServerPlace();
  await using server = await startServer(place, {
    env: { OLLAMA_HOST: `${ollama.url},http://127.0.0.1:${freePort()}` },
  });
  assert.match(server.stderr(), /^ {2}without {5}ServiceNow: not configured$/m);
  assert.match(server.stderr(), /OLLAMA_HOST \(now: one host, the first of the list\)/);
});

Deno.test("stdio warns of a ServiceNow instance whose other settings are missing", async () => {
  await using place = await makeServerPlace();
  const { code, stdout, stderr } = await runCommand(
    ["stdio", "--data-dir", place.dataDir, "--workspace", place.workspaceDir],
    { env: { SERVICENOW_INSTANCE: "https://dev1.service-now.com" } },
  );
  assert.deepEqual([code, stdout], [0, ""], stderr);
  assert.match(stderr, /servicenow_not_configured.*SERVICENOW_CLIENT_ID and SERVICENOW_CLIENT_SECRET are missing/);
  assert.match(stderr, /Redirect URL http[^;]+\/servicenow\/callback; Public Client not ticked/);
});

inOneProcess.test("standard output says that the server listens after the welcome, also where both share a pipe", async () => {
  await using place = await makeServerPlace();
  const server = spawnServer(place, {
    launcher: ["sh", "-c", 'exec "$@" 2>&1', "sh"],
    env: { OLLAMA_HOST: "127.0.0.1:1" },
  });
  let text = "";
  for await (const piece of server.stdout.pipeThrough(new TextDecoderStream())) {
    text += piece;
    if (text.includes("listening on")) break;
  }
  server.kill("SIGTERM");
  await Promise.all([server.status, server.stderr.cancel()]);
  assert.match(text, /claude mcp add[^]*\n\nportcullis listening on http:.*\n$/);
});
