/** The tools of the local model, and which models there are: what the server has, compared with the operator's allow list. */
import * as z from "zod";
import { present } from "../lib/json.ts";
import { isSameModel, type LlmGenerateOptions, llmGenerateTool } from "./llm_generate.ts";
import type { HostReport, LocalModel } from "./port.ts";
import { defineTool, readingHints, type ResourceFamily, type Tool, type ToolOutcome } from "../mcp/mod.ts";

const modelEntry = z.lazy(() =>
  z.object({
    name: z.string().describe("What to pass as model"),
    installed: z.boolean(),
    loaded: z.boolean().describe("It is in memory, so that answers begin sooner"),
    allowed: z.boolean().describe("The operator allows calls of it"),
    size_bytes: z.number().optional(),
    parameter_size: z.string().optional(),
    quantization: z.string().optional(),
    family: z.string().optional(),
    capabilities: z.array(z.string()).optional(),
  })
);
const server = z.lazy(() =>
  z.object({
    address: z.string(),
    ok: z.boolean(),
    version: z.string().optional(),
    problem: z.string().optional().describe("What to do about a server that cannot be used"),
  })
);
const modelsReport = z.lazy(() => z.object({ models: z.array(modelEntry), server }));

type ModelEntry = z.infer<typeof modelEntry>;
export type ModelsReport = z.infer<typeof modelsReport>;

interface DescribeModelsOptions {
  readonly model: LocalModel;
  /** The operator's allow list. */
  readonly models: readonly string[];
}

/** Asks the server now. Allowed models come first, in the operator's order. */
export async function describeModels(options: DescribeModelsOptions, signal: AbortSignal): Promise<ModelsReport> {
  const host = await options.model.report(signal);
  const { origin, version, failure, installed } = host;
  const allowed = options.models;
  const others = installed.map(({ name }) => name).filter((name) => !allowed.some((it) => isSameModel(it, name)))
    .sort();
  return {
    models: [
      ...allowed.map((name) => describe(name, true, host)),
      ...others.map((name) => describe(name, false, host)),
    ],
    server: {
      address: origin,
      ok: failure === undefined,
      ...present({ version, problem: failure?.message }),
    },
  };
}

function describe(name: string, allowed: boolean, { installed, loaded }: HostReport): ModelEntry {
  const details = installed.find((it) => isSameModel(it.name, name));
  return {
    name,
    installed: details !== undefined,
    loaded: loaded.some((it) => isSameModel(it.name, name)),
    allowed,
    ...present({
      size_bytes: details?.sizeBytes,
      parameter_size: details?.parameterSize,
      quantization: details?.quantization,
      family: details?.family,
      capabilities: details?.capabilities?.slice(),
    }),
  };
}

export function llmModelsTool(options: DescribeModelsOptions): Tool {
  return defineTool({
    name: "llm_models",
    title: "List the local models",
    description: "Lists the models for llm_generate: installed, in memory, allowed.",
    scopes: ["llm:generate"],
    annotations: { title: "List the local models", ...readingHints },
    input: z.lazy(() => z.object({})),
    output: modelsReport,
    async run(_input, { signal }): Promise<ToolOutcome> {
      const described = await describeModels(options, signal);
      const { models, server: { problem } } = described;
      if (problem !== undefined) return { ok: false, code: "ollama_unreachable", message: problem };
      return {
        ok: true,
        content: [{ type: "text", text: models.map(toLine).join("\n") }],
        structuredContent: { ...described },
      };
    },
  });
}

/** One line a model: what it can do, and whether it can be asked. */
function toLine({ name, installed, loaded, allowed, parameter_size: size, capabilities = [] }: ModelEntry): string {
  const about = [...size === undefined ? [] : [size], ...capabilities].join(", ");
  const state = installed ? (loaded ? "installed, in memory" : "installed") : `missing: ollama pull ${name}`;
  return `${name}${about === "" ? "" : ` (${about})`}: ${state}${allowed ? "" : ", not allowed by the operator"}`;
}

// The resource `llm://models`: which models there are, loaded and allowed, as the tool `llm_models` reports them.

const uri = "llm://models";

/** The models as a resource; each read asks the server again. */
export function llmModelsResource(options: DescribeModelsOptions): ResourceFamily {
  return {
    name: "llm_models",
    scopes: ["llm:generate"],
    owns: (address) => address.startsWith("llm://"),
    list: () => [{
      uri,
      name: "llm_models",
      title: "Local models",
      description: "The language models of the owner's machine: which are installed, in memory, and allowed",
      mimeType: "application/json",
    }],
    templates: [],
    async read(address, { signal }) {
      if (address !== uri) return null;
      const text = JSON.stringify(await describeModels(options, signal), null, 2);
      return { contents: [{ uri, mimeType: "application/json", text }] };
    },
    cacheHint: { ttlMs: 5_000, cacheScope: "private" },
  };
}

/** `llm_generate` and `llm_models`. */
export function llmTools(options: LlmGenerateOptions): readonly Tool[] {
  return [llmGenerateTool(options), llmModelsTool(options)];
}
