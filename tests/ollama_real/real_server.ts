/** The real Ollama at OLLAMA_HOST, what its models can do, and tests that are skipped, by name, without what they need. */
import process from "node:process";
import { createOllamaClient } from "../../src/llm/model_client.ts";
import { environmentHasProxy } from "../../src/lib/network.ts";
import { parseOllamaHost } from "../../src/llm/mod_settings.ts";
import { createLocalModel, createModelQueue } from "../../src/llm/local_model.ts";
import type { Workspace } from "../../src/files/workspace/port.ts";
import { llmGenerateTool, llmModelsTool } from "../../src/llm/llm_tools.ts";
import { noSignal, noWorkspace } from "../fixtures/ollama_calls.ts";

const parsed = parseOllamaHost(process.env["OLLAMA_HOST"] ?? "");
if (!parsed.ok) throw new Error(`OLLAMA_HOST: ${parsed.error}`);
const host = parsed.value;
/** Where its paths are appended. */
export const { baseUrl } = host;
const apiKey = process.env["LLM_API_KEY"];
/** Milliseconds. */
export const clock = (): number => performance.now();
const avoidProxy = environmentHasProxy((name) => process.env[name]);
const createClient = () => createOllamaClient({ host, apiKey, fetch, avoidProxy });

const probe = createClient();
const found = await probe.report(noSignal());
probe.close();
/** By model. */
export const capabilities = new Map<string, readonly string[]>();
for (const { name } of found.installed) {
  const response = await real("show", { model: name });
  const { capabilities: known = ["completion"] } = await response.json();
  capabilities.set(name, known);
}
/** A model that can do this. */
export const having = (capability: string): string | undefined =>
  [...capabilities].find(([, known]) => known.includes(capability))?.[0];
/** A model that completes prompts. */
export const writer = having("completion");

/** A test that needs something of the machine: without it, it is skipped and says so. */
export function show(
  name: string,
  needed: string | undefined,
  what: string,
  run: (model: string) => Promise<void>,
): void {
  const reason = `SKIPPED: ${found.failure?.message ?? `no model with ${what}`}`;
  Deno.test({
    name: needed === undefined ? `${name} (${reason})` : `${name} (${needed})`,
    ignore: needed === undefined,
    fn: () => run(needed ?? ""),
  });
}

/** A plain request. */
export function real(path: string, body?: unknown): Promise<Response> {
  return fetch(`${baseUrl}api/${path}`, {
    headers: apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` },
    ...(body === undefined ? {} : { method: "POST", body: typeof body === "string" ? body : JSON.stringify(body) }),
  });
}

/** The tools over one model of the real server. */
export function toolsFor(model: string, workspace?: Workspace) {
  const client = createClient();
  const local = createLocalModel({
    client,
    queue: createModelQueue({ clock }),
    totalMs: 600_000,
    clock,
    random: Math.random,
  });
  const options = {
    model: local,
    models: [model],
    clock,
    workspace: workspace === undefined ? noWorkspace : () => workspace,
  } as const;
  return {
    generate: llmGenerateTool(options),
    models: llmModelsTool(options),
    [Symbol.dispose]: () => client.close(),
  };
}

/** A PNG of one red pixel, in Base64. */
export const redPixel =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";
