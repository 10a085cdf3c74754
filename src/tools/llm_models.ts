/** The tool `llm_models`, and the same as data for a resource: which models there are, loaded, and allowed. */
import { z } from "zod";
import { defineTool, type Tool, type ToolOutcome } from "../mcp/tool.ts";
import type { HostReport, LocalModel } from "../ollama/port.ts";

const modelEntry = z.object({
  name: z.string().describe("What to pass as model"),
  installed: z.boolean(),
  loaded: z.boolean().describe("It is in memory, so that answers begin sooner"),
  allowed: z.boolean().describe("The operator allows calls of it"),
  hosts: z.array(z.string()).describe("Which servers have it"),
  size_bytes: z.number().optional(),
  parameter_size: z.string().optional(),
  quantization: z.string().optional(),
  family: z.string().optional(),
  capabilities: z.array(z.string()).optional(),
});
const hostEntry = z.object({
  host: z.string(),
  ok: z.boolean(),
  version: z.string().optional(),
  problem: z.string().optional().describe("What to do about a server that cannot be used"),
});
const report = z.object({ models: z.array(modelEntry), hosts: z.array(hostEntry) });

/** What {@link describeModels} tells. */
export type ModelsReport = z.output<typeof report>;

/** What {@link llmModelsTool} needs. */
export interface LlmModelsOptions {
  readonly model: LocalModel;
  /** The operator's allow list. */
  readonly models: readonly string[];
  readonly embeddingModels?: readonly string[];
}

/** Asks every host now. Allowed models come first, in the operator's order. */
export async function describeModels(options: LlmModelsOptions, signal: AbortSignal): Promise<ModelsReport> {
  const hosts = await options.model.report(signal);
  const allowed = [...options.models, ...options.embeddingModels ?? []];
  const others = [...new Set(hosts.flatMap((host) => host.installed.map((it) => it.name)))]
    .filter((name) => !allowed.some((it) => isSame(it, name))).sort();
  return {
    models: [
      ...allowed.map((name) => describe(name, true, hosts)),
      ...others.map((name) => describe(name, false, hosts)),
    ],
    hosts: hosts.map(({ origin, version, failure }) => ({
      host: origin,
      ok: failure === undefined,
      ...(version === undefined ? {} : { version }),
      ...(failure === undefined ? {} : { problem: failure.message }),
    })),
  };
}

/** Builds the tool. */
export function llmModelsTool(options: LlmModelsOptions): Tool {
  return defineTool({
    name: "llm_models",
    title: "List the local models",
    description:
      "Lists the language models of the owner's machine: which are installed, in memory, and allowed to be " +
      "asked with llm_generate and llm_chat.",
    scopes: ["llm:generate"],
    annotations: { title: "List the local models", readOnlyHint: true, idempotentHint: true, openWorldHint: false },
    input: z.object({}),
    output: report,
    async run(_input, { signal }): Promise<ToolOutcome> {
      const described = await describeModels(options, signal);
      const reachable = described.hosts.some((host) => host.ok);
      const problem = described.hosts[0]?.problem;
      if (!reachable && problem !== undefined) return { ok: false, code: "ollama_unreachable", message: problem };
      return {
        ok: true,
        content: [{ type: "text", text: toLines(described) }],
        structuredContent: described,
      };
    },
  });
}

function describe(name: string, allowed: boolean, hosts: readonly HostReport[]): z.output<typeof modelEntry> {
  const having = hosts.filter((host) => host.installed.some((it) => isSame(it.name, name)));
  const details = having[0]?.installed.find((it) => isSame(it.name, name));
  return {
    name,
    installed: having.length > 0,
    loaded: hosts.some((host) => host.loaded.some((it) => isSame(it.name, name))),
    allowed,
    hosts: having.map((host) => host.origin),
    ...(details?.sizeBytes === undefined ? {} : { size_bytes: details.sizeBytes }),
    ...(details?.parameterSize === undefined ? {} : { parameter_size: details.parameterSize }),
    ...(details?.quantization === undefined ? {} : { quantization: details.quantization }),
    ...(details?.family === undefined ? {} : { family: details.family }),
    ...(details?.capabilities === undefined ? {} : { capabilities: [...details.capabilities] }),
  };
}

/** A name without a tag means `latest`. */
function isSame(a: string, b: string): boolean {
  const whole = (name: string): string => name.includes(":") ? name : `${name}:latest`;
  return whole(a) === whole(b);
}

function toLines({ models, hosts }: ModelsReport): string {
  return [
    ...models.map((it) => {
      const state = it.installed
        ? (it.loaded ? "installed, in memory" : "installed")
        : `missing: ollama pull ${it.name}`;
      return `${it.name}: ${state}${it.allowed ? "" : ", not allowed by the operator"}`;
    }),
    ...hosts.filter((host) => !host.ok).map((host) => `${host.host}: ${host.problem}`),
  ].join("\n");
}
