/**
 * `deno task interop`: clients that are no part of the gate, fetched from npm and PyPI at exact versions when this runs.
 * Those that cannot be installed are skipped by name. Ends with status 1 when one of them fails.
 */
import assert from "node:assert/strict";
import process from "node:process";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { startConformanceServer } from "../conformance/server.ts";
import { tellAgentStory } from "./agent_story.ts";
import { claudeCode, codex, openCode } from "./agents.ts";
import { mcpRemote, mcpRemoteIn } from "./mcp_remote.ts";
import { tryMcporter } from "./mcporter.ts";
import { ClientNotInstalled } from "./npm_client.ts";
import { tryPythonSdk } from "./python_sdk.ts";
import { tellStory } from "./story.ts";

const inspector = "npm:@modelcontextprotocol/inspector@2.12.0";
const token = "interop-token";

/** Runs a program to its end and gives what it printed. */
async function run(program: string, args: readonly string[] = [], flags: readonly string[] = []): Promise<string> {
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-lock", ...flags, program, ...args],
    env: { NO_COLOR: "1" },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).output();
  const decoder = new TextDecoder();
  assert.equal(code, 0, decoder.decode(stderr));
  return decoder.decode(stdout);
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
  const call = ["--method", "tools/call", "--tool-name", "greet", "--tool-arg", "name=Ada"];
  assert.match(await run(inspector, [...args, ...call]), /Hello, Ada!/);
});

await check("mcp-remote: list and call with a token", async () => {
  const client = new Client({ name: "interop", version: "1" });
  await client.connect(mcpRemote(server.url, home, ["--header", `Authorization: Bearer ${token}`]));
  assert.match(JSON.stringify(await client.listTools()), /"test_simple_text"/);
  assert.match(JSON.stringify(await client.callTool({ name: "greet", arguments: { name: "Ada" } })), /Hello, Ada!/);
  await client.close();
});

await check("mcp-remote: the whole story", () => tellStory(mcpRemoteIn(home)));
await check("AI SDK: the whole story", async () => {
  const config = new URL("../../deno.dev.json", import.meta.url).pathname;
  await run(new URL("ai_sdk_story.ts", import.meta.url).href, [], ["--config", config]);
});
await check("mcporter: sign-in, tools and an error", tryMcporter);
await check("Claude Code: the whole story, with a scripted model", () => tellAgentStory(claudeCode));
await check("Codex: the whole story, with a scripted model", () => tellAgentStory(codex));
await check("OpenCode: the whole story, with a scripted model", () => tellAgentStory(openCode));
await check("Python SDK: a call that is given up, in both eras", tryPythonSdk);

await server.close();
await Deno.remove(home, { recursive: true });
process.exit(process.exitCode ?? 0);
