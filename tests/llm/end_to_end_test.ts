/** A started server with an engine of OpenAI's API: welcome, list of tools, calls, `doctor`, and rules about its files. */
import assert from "node:assert/strict";
import { decidingRule, placesOf } from "../../src/console/approvals/rule.ts";
import { placeReader } from "../../src/app/approval.ts";
import { postMcp, toolCall } from "../fixtures/mcp_call.ts";
import { startOllama } from "../fixtures/ollama.ts";
import { everyTool } from "../fixtures/every_tool.ts";
import type { StandInModel } from "../fixtures/ollama_models.ts";
import { startEngine } from "../fixtures/openai_engine.ts";
import { makeServerPlace, runCommand, startServer } from "../fixtures/running_server.ts";
import { until } from "../fixtures/until.ts";

async function createToken(dataDir: string): Promise<string> {
  const scope = "llm:generate files:read";
  const { stdout } = await runCommand(["token", "create", "--scope", scope, "--data-dir", dataDir]);
  return stdout.trim();
}

// deno-lint-ignore no-explicit-any
async function resultOf(url: string, message: object, token: string): Promise<any> {
  return (await (await postMcp(url, message, { token })).json()).result;
}

async function modelParameter(url: string, token: string): Promise<{ enum: string[]; default: string }> {
  const { tools } = await resultOf(url, { jsonrpc: "2.0", id: 1, method: "tools/list" }, token);
  return tools.find(({ name }: { name: string }) => name === "llm_generate").inputSchema.properties.model;
}

Deno.test("LLM_BASE_URL with a key from a file: welcome, tools, doctor and the models resource say what is there", async () => {
  await using engine = startEngine("llama.cpp", { models: [{ name: "qwen3-4b" }], apiKey: "secret" });
  await using place = await makeServerPlace();
  const token = await createToken(place.dataDir);
  const keyFile = `${place.dataDir}/../llm-key-${crypto.randomUUID()}`;
  await Deno.writeTextFile(keyFile, "secret\n", { mode: 0o600 });
  const env = { LLM_BASE_URL: engine.url, LLM_API_KEY_FILE: keyFile, OLLAMA_HOST: "127.0.0.1:1" };
  await using server = await startServer(place, { env });
  assert.match(server.stderr(), /^ {2}models {6}qwen3-4b$/m);
  await until(
    "the engine's models in the list",
    async () => (await modelParameter(server.url, token)).default === "qwen3-4b",
  );
  assert.deepEqual((await modelParameter(server.url, token)).enum, ["qwen3-4b"]);
  await Deno.writeTextFile(`${place.workspaceDir}/a.txt`, "hello\n");
  const call = toolCall("llm_generate", { prompt: "what?", files: ["*.txt"], each: true });
  const { content, isError } = await resultOf(server.url, call, token);
  assert.equal(isError, false, JSON.stringify(content));
  assert.match(content[0].text, /^a\.txt\tqwen3-4b heard: /);
  assert.ok(engine.chats.every(({ headers }) => headers.get("authorization") === "Bearer secret"));
  const models = await resultOf(server.url, toolCall("llm_models", {}), token);
  assert.match(models.content[0].text, /^qwen3-4b \(completion\): installed, in memory$/);
  const doctor = await runCommand(["doctor", "--data-dir", place.dataDir, "--workspace", place.workspaceDir], { env });
  assert.match(doctor.stdout, /^ok +model server: answers at http:\/\/127\.0\.0\.1:\d+\.?$/m);
  assert.match(doctor.stdout, /^ok +model server: agents may use qwen3-4b\.?$/m);
  await Deno.remove(keyFile);
});

Deno.test("without an engine the list names tinyllama and phi3 at once, and follows one that comes", async () => {
  const models: StandInModel[] = [];
  await using ollama = await startOllama({ models });
  await using place = await makeServerPlace();
  const token = await createToken(place.dataDir);
  await using server = await startServer(place, {
    env: { OLLAMA_HOST: ollama.url },
    bounds: { ollama: { reportKeptMs: 1 } },
  });
  assert.match(server.stderr(), /local models: no model is installed; `ollama pull tinyllama`/);
  const { enum: names, default: first } = await modelParameter(server.url, token);
  assert.deepEqual([names, first], [["tinyllama", "phi3"], "tinyllama"]);
  models.push({ name: "llama3.2:3b" }, { name: "phi3" });
  await until(
    "the new models",
    async () => (await modelParameter(server.url, token)).enum.join() === "phi3,llama3.2:3b",
  );
});

Deno.test("each: true ends before TOOL_TIMEOUT with the answers so far, and names the files that are left", async () => {
  await using ollama = await startOllama({
    models: [{ name: "tinyllama", answer: () => "one two", tokenMilliseconds: 250 }],
  });
  await using place = await makeServerPlace();
  const token = await createToken(place.dataDir);
  await using server = await startServer(place, {
    env: { OLLAMA_HOST: ollama.url, LLM_MODELS: "tinyllama@4096", TOOL_TIMEOUT: "6" },
  });
  for (let at = 10; at < 50; at++) await Deno.writeTextFile(`${place.workspaceDir}/f${at}.txt`, "hello\n");
  const call = toolCall("llm_generate", { prompt: "what?", files: ["f*.txt"], each: true });
  const { isError, structuredContent } = await resultOf(server.url, call, token);
  const { answers, files_left: left, truncated } = structuredContent;
  assert.deepEqual([isError, truncated, answers.length + left.length], [false, true, 40]);
  assert.ok(answers.length > 0 && left.length > 0, `${answers.length}, ${left.length}`);
  const { structuredContent: { models } } = await resultOf(server.url, toolCall("llm_models", {}), token);
  assert.deepEqual([models[0].name, models[0].context_tokens], ["tinyllama", 4096]);
});

Deno.test("a rule about a place stops patterns that may reach it, and lets others pass", () => {
  const tool = everyTool.find(({ name }) => name === "llm_generate");
  assert.ok(tool);
  const isStopped = (files: string[]): boolean => {
    const call = { person: "ada", clientId: "c", grantId: "g", tool: tool.name, changes: false };
    const places = placesOf(tool, { prompt: "p", files, each: true }, placeReader);
    return decidingRule([{ id: "r", verdict: "deny", place: "secret/keys" }], { ...call, ...places }, 0) !== null;
  };
  for (
    const files of [["secret/*"], ["secret/keys/*.pem"], ["**"], ["*.pem"], ["sec*/keys/a"], ["{secret,b}/*"], [
      "a.txt",
      "secret/**",
    ]]
  ) {
    assert.ok(isStopped(files), files.join());
  }
  for (const files of [["mails/*.txt"], ["secret/open/*"], ["a.txt"], ["a[1].txt"]]) {
    assert.ok(!isStopped(files), files.join());
  }
});
