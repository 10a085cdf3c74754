/**
 * `deno task bench ollama`: what the way through Portcullis adds to a model's answer, as ratios to reading Ollama directly
 * with fetch and JSON.parse. A stand-in in another process echoes the prompt, one word a token, as fast as it can. CPU time
 * is that of the process which reads the stand-in; wall-clock figures are medians of rounds in turn, since the machine's speed swings.
 */
import process from "node:process";
import { createOllamaClient } from "../src/llm/model_client.ts";
import { parseOllamaHost } from "../src/llm/mod_settings.ts";
import { createLocalModel, createModelQueue } from "../src/llm/local_model.ts";
import { ollamaLimits } from "../src/llm/port.ts";
import { llmGenerateTool } from "../src/llm/llm_tools.ts";
import { postMcp, toolCall } from "../tests/fixtures/mcp_call.ts";
import { callTool, noSignal, noWorkspace, testContext } from "../tests/fixtures/ollama_calls.ts";
import { makeServerPlace, runCommand, startServer } from "../tests/fixtures/running_server.ts";
import { cpuSeconds } from "./process_cpu.ts";

/** Reads one answer; `onFirst` is called at its first token. Gives the number of tokens. */
type Reader = (prompt: string, onFirst: () => void) => Promise<number>;

const tokensPerAnswer = 200;
const rounds = Number(process.env["BENCH_ROUNDS"] ?? "3");
const prompt = "word ".repeat(tokensPerAnswer).trim();
const print = (line: string): void => void process.stdout.write(`${line}\n`);
const clock = (): number => performance.now();

const upstream = new Deno.Command(Deno.execPath(), {
  args: ["run", "--allow-net", "tests/fixtures/ollama.ts", "--port", "0", "--token-ms", "0"],
  stdout: "piped",
}).spawn();
const output = upstream.stdout.getReader();
const url = /http:\S+/.exec(new TextDecoder().decode((await output.read()).value))?.[0] ?? "";
const host = parseOllamaHost(url);
if (!host.ok) throw new Error(host.error);
const client = createOllamaClient({ host: host.value, fetch });
const model = createLocalModel({
  client,
  queue: createModelQueue({ clock, limits: { ...ollamaLimits, maxInFlight: 64 } }),
  totalMs: 600_000,
  clock,
  random: Math.random,
});
const tool = llmGenerateTool({ model, models: ["tinyllama"], workspace: noWorkspace, clock });
const options = { maxTokens: 4096 };

const direct: Reader = async (prompt, onFirst) => {
  const response = await fetch(`${url}/api/generate`, {
    method: "POST",
    body: JSON.stringify({ model: "tinyllama", prompt, options: { num_predict: 4096 } }),
  });
  if (response.body === null) throw new Error("The stand-in did not answer");
  let [pending, text, tokens] = ["", "", 0];
  for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
    const lines = (pending + chunk).split("\n");
    pending = lines.pop() ?? "";
    for (const line of lines) {
      const { response } = JSON.parse(line);
      if (response === "") continue;
      if (tokens++ === 0) onFirst();
      text += response;
    }
  }
  return check(text, tokens);
};

const throughModel: Reader = async (prompt, onFirst) => {
  let [text, tokens] = ["", 0];
  const request = { model: "tinyllama", messages: [{ role: "user" as const, content: prompt }], options };
  for await (const event of model.ask(request, { signal: noSignal(), fairnessKey: "bench" })) {
    if (event.type === "failed") throw new Error(event.failure.message);
    if (event.type === "done") continue;
    if (tokens++ === 0) onFirst();
    text += event.text;
  }
  return check(text, tokens);
};

const throughTool: Reader = async (prompt, onFirst) => {
  let updates = 0;
  const outcome = await callTool(tool, { prompt, max_tokens: 4096 }, {
    ...testContext(),
    progress(update) {
      JSON.stringify(update); // as a transport does
      if (updates++ === 0) onFirst();
    },
  });
  if (!outcome.ok) throw new Error(outcome.message);
  const { text, completion_tokens } = outcome.structuredContent as { text: string; completion_tokens: number };
  return check(text, completion_tokens);
};

await using place = await makeServerPlace();
const scopes = ["--scope", "llm:generate", "--data-dir", place.dataDir];
const token = (await runCommand(["token", "create", ...scopes])).stdout.trim();
await using server = await startServer(place, {
  env: {
    COMPATIBILITY: "structured",
    OLLAMA_HOST: url,
    LLM_MODELS: "tinyllama",
    MCP_RATE_LIMIT: "1000000000",
  },
  bounds: { ollama: { maxInFlight: 64 } },
});

const throughServer: Reader = async (prompt, onFirst) => {
  const message = toolCall("llm_generate", { prompt, max_tokens: 4096 });
  const params = { ...message["params"] as object, _meta: { progressToken: 1 } };
  const response = await postMcp(server.url, { ...message, params }, { token });
  if (response.body === null) throw new Error("The server did not answer");
  let [events, begun] = ["", false];
  for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
    events += chunk;
    if (!begun && events.includes('"progress":')) begun = (onFirst(), true);
  }
  const last = events.trimEnd().split("\n").findLast((line) => line.includes('"result"')) ?? "";
  const { text, completion_tokens } = JSON.parse(last.replace(/^data: ?/, "")).result.structuredContent;
  return check(text, completion_tokens);
};

const readers: readonly (readonly [name: string, reader: Reader])[] = [
  ["directly", direct],
  ["LocalModel", throughModel],
  ["llm_generate", throughTool],
  ["over HTTP", throughServer],
];

try {
  for (const [, reader] of readers) await Promise.all(Array.from({ length: 8 }, () => reader(prompt, () => {})));
  print(
    `${tokensPerAnswer} tokens an answer, medians of ${rounds} rounds in turn; in parentheses: ratio to directly\n`,
  );
  await compare("time to first token, us", measureFirstToken);
  await compare("CPU time a token, us", measureCpu);
  for (const callers of [1, 8, 64]) await compare(`tokens a second, ${callers} callers`, measureRate(callers));
} finally {
  client.close();
  await output.cancel();
  upstream.kill();
  await upstream.status;
}

async function compare(what: string, measure: (reader: Reader) => Promise<number>): Promise<void> {
  const results = new Map<string, number[]>(readers.map(([name]) => [name, []]));
  for (let round = 0; round < rounds; round++) {
    for (const [name, reader] of readers) results.get(name)?.push(await measure(reader));
  }
  const base = median(results.get("directly") ?? []);
  const cells = readers.map(([name]) => {
    const value = median(results.get(name) ?? []);
    return `${name} ${value.toFixed(value < 100 ? 2 : 0)} (${(value / base).toFixed(2)})`;
  });
  print(`${what.padEnd(30)} ${cells.join("   ")}`);
}

async function measureFirstToken(reader: Reader): Promise<number> {
  const times: number[] = [];
  for (let call = 0; call < 100; call++) {
    const start = clock();
    await reader("word", () => times.push((clock() - start) * 1000));
  }
  return median(times);
}

async function measureCpu(reader: Reader): Promise<number> {
  const cpuSoFar = (): number => {
    if (reader === throughServer) return (cpuSeconds(server.pid) ?? NaN) * 1e6;
    const { user, system } = process.cpuUsage();
    return user + system;
  };
  const before = cpuSoFar();
  let tokens = 0;
  for (let call = 0; call < 30; call++) tokens += await reader(prompt, () => {});
  return (cpuSoFar() - before) / tokens;
}

function measureRate(callers: number): (reader: Reader) => Promise<number> {
  return async (reader) => {
    const answers = Math.max(1, Math.round(32 / callers));
    const start = clock();
    const counts = await Promise.all(Array.from({ length: callers }, async () => {
      let tokens = 0;
      for (let answer = 0; answer < answers; answer++) tokens += await reader(prompt, () => {});
      return tokens;
    }));
    return counts.reduce((sum, count) => sum + count, 0) / (clock() - start) * 1000;
  };
}

function check(text: string, tokens: number): number {
  if (!text.startsWith("tinyllama heard: word")) throw new Error(`An answer is wrong: ${text.slice(0, 50)}`);
  return tokens;
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? NaN;
}
