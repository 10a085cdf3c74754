/** `stdio` as desktop clients use it: started by the official SDK with what `connect` printed, from any directory. */
import assert from "node:assert/strict";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { needing } from "../fixtures/forms/chosen_form.ts";
import { startOllama } from "../fixtures/ollama.ts";
import { toolCall } from "../fixtures/mcp_call.ts";
import { makeServerPlace, runCommand, type ServerPlace } from "../fixtures/running_server.ts";
import { skippedUnless } from "../fixtures/skipped_unless.ts";
import { until } from "../fixtures/until.ts";
import { findPostgres, startPostgresCluster } from "../storage/postgres_cluster.ts";

const overStdio = needing("stdio");

interface ProcessEntry {
  readonly command: string;
  readonly args: string[];
}

async function entryFor({ dataDir, workspaceDir }: ServerPlace): Promise<ProcessEntry> {
  const { code, stdout, stderr } = await runCommand([
    ...["connect", "cursor", "--transport", "stdio"],
    ...["--data-dir", dataDir, "--workspace", workspaceDir],
  ]);
  assert.equal(code, 0, stderr);
  return JSON.parse(stdout).mcpServers.portcullis;
}

/** Only what a desktop client hands on. */
function environment(more: Record<string, string> = {}): Record<string, string> {
  const kept = ["HOME", "PATH", "DENO_DIR"].flatMap((name) => {
    const value = Deno.env.get(name);
    return value === undefined ? [] : [[name, value]];
  });
  return { ...Object.fromEntries(kept), ...more };
}

overStdio.test("stdio serves the SDK's client with what `connect --transport stdio` prints, and logs on standard error alone", async () => {
  await using ollama = await startOllama({ models: [{ name: "tinyllama", tokenMilliseconds: 1 }] });
  await using place = await makeServerPlace();
  const elsewhere = await Deno.makeTempDir({ prefix: "portcullis-elsewhere-" });
  const transport = new StdioClientTransport({
    ...await entryFor(place),
    cwd: elsewhere,
    env: environment({ OLLAMA_HOST: ollama.url }),
    stderr: "pipe",
  });
  let log = "";
  transport.stderr?.on("data", (chunk: Uint8Array) => void (log += new TextDecoder().decode(chunk)));
  const client = new Client({ name: "desktop", version: "1" });
  const strange: Error[] = [];
  client.onerror = (error: Error) => void strange.push(error);
  await client.connect(transport);
  assert.equal(client.getServerVersion()?.name, "portcullis");

  const { tools } = await client.listTools();
  const names = tools.map((tool: { readonly name: string }) => tool.name);
  for (const name of ["file_read", "file_write", "file_list", "llm_generate"]) assert.ok(names.includes(name), name);
  const content = "zażółć 🐢\nline two\n".repeat(5_000); // several pipe buffers long, in both directions
  const written = await client.callTool({ name: "file_write", arguments: { filename: "a.txt", content } });
  assert.equal(written["isError"], false, JSON.stringify(written));
  const read = await client.callTool({ name: "file_read", arguments: { filename: "a.txt", max_bytes: 200_000 } });
  assert.deepEqual((read["content"] as { text: string }[])[0]?.text, content);
  const said = await client.callTool({ name: "llm_generate", arguments: { prompt: "Hello" } });
  assert.equal(said["isError"], false, JSON.stringify(said));

  const pid = transport.pid;
  await client.close();
  assert.deepEqual(strange, [], "nothing but the protocol on standard output");
  assert.ok(pid !== null);
  await until("its end with its input", () => hasEnded(pid));
  const lines = log.trim().split("\n").map((line) => JSON.parse(line));
  const calls = lines.filter(({ level, method }) => level === "audit" && method === "tools/call");
  assert.deepEqual(calls.map(({ tool, subject }) => [tool, subject]), [
    ["file_write", "owner"],
    ["file_read", "owner"],
    ["llm_generate", "owner"],
  ]);
  assert.ok(!log.includes("zażółć"));
  await Deno.remove(elsewhere, { recursive: true });
});

overStdio.test("stdio: a call that the client cancels ends at the model too", async () => {
  await using ollama = await startOllama({ models: [{ name: "tinyllama", tokenMilliseconds: 2_000 }] });
  await using place = await makeServerPlace();
  const client = new Client({ name: "desktop", version: "1" });
  await client.connect(
    new StdioClientTransport({
      ...await entryFor(place),
      env: environment({ OLLAMA_HOST: ollama.url }),
      stderr: "ignore",
    }),
  );
  const cancel = new AbortController();
  const call = client.callTool({ name: "llm_generate", arguments: { prompt: "Hello" } }, undefined, {
    signal: cancel.signal,
  });
  const refused = assert.rejects(call);
  await ollama.until((requests) => requests.some(({ path }) => path === "/api/generate"));
  cancel.abort();
  await refused;
  await ollama.until(() => ollama.connections() === 0);
  await client.close();
});

overStdio.test("stdio answers what is piped into it and exits 0 at the end of the input, beside a server or not", async () => {
  await using place = await makeServerPlace();
  const { code, stdout } = await runCommand(["stdio", "--data-dir", place.dataDir, "--workspace", place.workspaceDir], {
    stdin: '{"jsonrpc":"2.0","id":1,"method":"ping"}\n{"jsonrpc":"2.0","id":2,"method":"ping"}',
  });
  assert.equal(code, 0);
  assert.deepEqual(stdout.split("\n"), [
    '{"jsonrpc":"2.0","id":1,"result":{}}',
    '{"jsonrpc":"2.0","id":2,"result":{}}',
    "",
  ]);
});

overStdio.test("stdio needs no SERVER_URL in an environment made for a server, as a container's is", async () => {
  await using place = await makeServerPlace();
  const { code, stdout } = await runCommand(["stdio", "--host", "127.0.0.1"], {
    env: { HOST: "0.0.0.0", DATA_DIR: place.dataDir, WORKSPACE_DIR: place.workspaceDir },
    stdin: '{"jsonrpc":"2.0","id":1,"method":"ping"}\n',
  });
  assert.deepEqual([code, stdout], [0, '{"jsonrpc":"2.0","id":1,"result":{}}\n']);
});

const postgres = findPostgres();
overStdio.test({
  ...skippedUnless(!("missing" in postgres), "there is no PostgreSQL", "stdio answers with its records in PostgreSQL"),
  async fn() {
    if ("missing" in postgres) return;
    await using cluster = await startPostgresCluster(postgres.programs);
    await using place = await makeServerPlace();
    const { code, stdout, stderr } = await runCommand(["stdio"], {
      env: { DATABASE_URL: cluster.url, DATA_DIR: place.dataDir, WORKSPACE_DIR: place.workspaceDir },
      stdin: `${JSON.stringify(toolCall("file_write", { filename: "a.txt", content: "x" }))}\n`,
    });
    assert.equal(code, 0, stderr);
    assert.match(stdout, /"isError":false/);
  },
});

Deno.test("stdio stops at bad settings with exit status 2 and nothing on standard output", async () => {
  const { code, stdout, stderr } = await runCommand(["stdio", "--port", "x"]);
  assert.deepEqual([code, stdout], [2, ""]);
  assert.match(stderr, /--port/);
});

async function hasEnded(pid: number): Promise<boolean> {
  const state = await Deno.readTextFile(`/proc/${pid}/stat`).catch(() => "");
  return state === "" || / Z /.test(state);
}
