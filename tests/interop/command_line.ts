/**
 * `deno task interop`: clients that are programs of their own, fetched from npm when this runs. The inspector's command
 * line with a token; mcp-remote, as desktop applications start it, with a token and through the whole OAuth flow of the
 * started product, with a person who signs in and approves; Claude Code and Codex through the whole story, with a scripted
 * model. Clients that cannot be installed are skipped by name. Ends with status 1 when one of them fails.
 */
import assert from "node:assert/strict";
import process from "node:process";
import { startConformanceServer } from "../conformance/server.ts";
import { approve, setUpOwner } from "../fixtures/owner.ts";
import { createPerson } from "../fixtures/person.ts";
import { makeServerPlace, startServer } from "../fixtures/running_server.ts";
import { tellAgentStory } from "./agent_story.ts";
import { claudeCode, codex } from "./agents.ts";
import { ClientNotInstalled } from "./npm_client.ts";
import { tryPythonSdk } from "./python_sdk.ts";

const inspector = "npm:@modelcontextprotocol/inspector@2.12.0";
const remote = "npm:mcp-remote@0.15.1";
const token = "interop-token";

/** Runs a program to its end and gives what it printed. */
async function run(program: string, args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-lock", program, ...args],
    env: { NO_COLOR: "1" },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).output();
  const decoder = new TextDecoder();
  assert.equal(code, 0, decoder.decode(stderr));
  return decoder.decode(stdout);
}

/** Speaks stdio with mcp-remote: the handshake, then each request; gives the results. `onError` reads its stderr. */
async function speak(
  args: readonly string[],
  home: string,
  requests: readonly { readonly method: string; readonly params?: unknown }[],
  onError: (text: string) => void = () => {},
): Promise<Record<string, unknown>[]> {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-lock", remote, ...args],
    env: { NO_COLOR: "1", MCP_REMOTE_CONFIG_DIR: home, BROWSER: "true", PATH: "/nonexistent" },
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const errors = (async () => {
    for await (const text of child.stderr.pipeThrough(new TextDecoderStream())) onError(text);
  })();
  const writer = child.stdin.getWriter();
  const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  let buffer = "";
  const responseTo = async (id: number): Promise<Record<string, unknown>> => {
    while (true) {
      const end = buffer.indexOf("\n");
      if (end < 0) {
        const { value, done } = await reader.read();
        assert.ok(!done, "mcp-remote ended");
        buffer += value;
        continue;
      }
      const message = JSON.parse(buffer.slice(0, end));
      buffer = buffer.slice(end + 1);
      if (message.id === id) return message;
    }
  };
  const send = (message: unknown): Promise<void> =>
    writer.write(new TextEncoder().encode(`${JSON.stringify(message)}\n`));
  const params = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "interop", version: "1" } };
  await send({ jsonrpc: "2.0", id: 0, method: "initialize", params });
  await responseTo(0);
  await send({ jsonrpc: "2.0", method: "notifications/initialized" });
  const results: Record<string, unknown>[] = [];
  for (const [index, request] of requests.entries()) {
    await send({ jsonrpc: "2.0", id: index + 1, ...request });
    results.push((await responseTo(index + 1))["result"] as Record<string, unknown>);
  }
  child.kill("SIGTERM");
  await reader.cancel();
  await writer.abort().catch(() => {});
  await child.status;
  await errors;
  return results;
}

async function check(name: string, story: () => Promise<void>): Promise<void> {
  try {
    await story();
    process.stdout.write(`${name}: ok\n`);
  } catch (error) {
    if (error instanceof ClientNotInstalled) {
      process.stdout.write(`${name}: skipped, ${error.message}\n`);
      return;
    }
    process.stdout.write(`${name}: ${error instanceof Error ? error.stack : error}\n`);
    process.exitCode = 1;
  }
}

const server = startConformanceServer({ token });
const home = await Deno.makeTempDir({ prefix: "portcullis-interop-" });

await check("inspector: list and call with a token", async () => {
  const args = ["--cli", server.url, "--transport", "http", "--header", `Authorization: Bearer ${token}`];
  assert.match(await run(inspector, [...args, "--method", "tools/list"]), /"test_simple_text"/);
  const called = await run(inspector, [
    ...args,
    "--method",
    "tools/call",
    "--tool-name",
    "greet",
    "--tool-arg",
    "name=Ada",
  ]);
  assert.match(called, /Hello, Ada!/);
});

await check("mcp-remote: list and call with a token", async () => {
  const args = [server.url, "--header", `Authorization: Bearer ${token}`, "--transport", "http-only", "--allow-http"];
  const [list, called] = await speak(args, home, [
    { method: "tools/list" },
    { method: "tools/call", params: { name: "greet", arguments: { name: "Ada" } } },
  ]);
  assert.match(JSON.stringify(list), /"test_simple_text"/);
  assert.match(JSON.stringify(called), /Hello, Ada!/);
});

await check("mcp-remote: the whole OAuth flow of the product", async () => {
  await using place = await makeServerPlace();
  await using product = await startServer(place);
  const person = createPerson(product.url);
  await setUpOwner(person, product);
  let printed = "";
  let approved: Promise<void> | undefined;
  const args = [`${product.url}/mcp`, "--transport", "http-only", "--allow-http"];
  const [list] = await speak(args, home, [{ method: "tools/list" }], (text) => {
    printed += text;
    const link = /(http\S+\/oauth\/authorize\?\S+)/.exec(printed)?.[1];
    if (
      link === undefined || approved !== undefined ||
      !printed.slice(printed.indexOf(link) + link.length).startsWith("\n")
    ) {
      return;
    }
    approved = approve(person, new URL(link)).then(async (callback) => void await (await fetch(callback)).text());
  });
  await approved;
  assert.match(JSON.stringify(list), /"file_read"/);
});

await check("Claude Code: the whole story, with a scripted model", () => tellAgentStory(claudeCode));
await check("Codex: the whole story, with a scripted model", () => tellAgentStory(codex));
await check("Python SDK: a call that is given up, in both eras", tryPythonSdk);

await server.close();
await Deno.remove(home, { recursive: true });
process.exit(process.exitCode ?? 0);
