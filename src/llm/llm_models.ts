/** The tools of the local model, and which models there are: what the server has, compared with the operator's allow list. */
import * as z from "zod";
import { lazyObject } from "../lib/lazy_object.ts";
import { present } from "../lib/json.ts";
import { type LlmGenerateOptions, llmGenerateTool } from "./llm_generate.ts";
import { isSameModel, offerOf, parseAllowedModel, problemWords } from "./mod_settings.ts";
import type { LocalModel } from "./local_model.ts";
import { defineTool, readingHints, type Tool, type ToolOutcome } from "../mcp/mod.ts";

const modelsReport = lazyObject(() => ({
  models: z.array(z.object({
    name: z.string().describe("What to pass as model"),
    installed: z.boolean(),
    loaded: z.boolean().describe("It is in memory, so that answers begin sooner"),
    allowed: z.boolean().describe("The operator allows calls of it"),
    parameter_size: z.string().optional(),
    capabilities: z.array(z.string()).optional(),
    context_tokens: z.number().optional().describe("Room for prompt and answer"),
  })),
  server: z.object({
    address: z.string(),
    ok: z.boolean(),
    problem: z.string().optional().describe("What to do about a server that cannot be used"),
  }),
}));

export type ModelsReport = z.infer<typeof modelsReport>;
type ModelEntry = ModelsReport["models"][number];

type DescribeModelsOptions = Pick<LlmGenerateOptions, "model" | "models">;

/** Asks the engine now. Models that agents may use come first, in the order in which they are offered. */
export async function describeModels(
  { model, models }: DescribeModelsOptions,
  signal: AbortSignal,
): Promise<ModelsReport> {
  const { failure, installed } = await model.report(signal);
  const set = models?.map(parseAllowedModel);
  const { names, isUsable, problem } = offerOf(models, model.host, installed);
  const allowed = set?.map(({ name }) => name) ?? (isUsable ? names : []);
  const others = installed.map(({ name }) => name).filter((name) => !allowed.some((it) => isSameModel(it, name)));
  return {
    models: [...allowed, ...others.sort()].map((name): ModelEntry => {
      const details = installed.find((it) => isSameModel(it.name, name));
      return {
        name,
        installed: details !== undefined,
        loaded: details?.isLoaded === true,
        allowed: allowed.includes(name),
        ...present({
          parameter_size: details?.parameterSize,
          capabilities: details?.capabilities?.slice(),
          context_tokens: set?.find((it) => it.name === name)?.contextTokens ?? details?.contextTokens,
        }),
      };
    }),
    server: {
      address: model.host.origin,
      ok: failure === undefined,
      ...present({ problem: failure?.message ?? (isUsable || problem === null ? null : problemWords(problem)) }),
    },
  };
}

export function llmModelsTool(options: DescribeModelsOptions): Tool {
  return defineTool({
    name: "llm_models",
    title: "List the local models",
    description: "Lists the models for llm_generate: installed, in memory, allowed.",
    scopes: ["llm:generate"],
    knownAs: "list_models models local_models ollama_list get_models",
    annotations: { title: "List the local models", ...readingHints },
    input: lazyObject(() => ({})),
    output: modelsReport,
    async run(_input, { signal }): Promise<ToolOutcome> {
      const described = await describeModels(options, signal);
      const { models, server: { ok, problem } } = described;
      if (!ok) return { ok: false, code: "ollama_unreachable", message: problem ?? "" };
      const lines = models.map((entry) => toLine(entry, options.model.host));
      return {
        ok: true,
        content: [{ type: "text", text: [...lines, ...problem === undefined ? [] : [`(${problem})`]].join("\n") }],
        structuredContent: { ...described },
      };
    },
  });
}

/** One line a model: what it can do, and whether it can be asked. */
function toLine(entry: ModelEntry, { isOllama }: LocalModel["host"]): string {
  const { name, installed, loaded, allowed, parameter_size: size, capabilities = [] } = entry;
  const about = [...size === undefined ? [] : [size], ...capabilities].join(", ");
  const missing = isOllama ? `missing: ollama pull ${name}` : "not there";
  const state = installed ? (loaded ? "installed, in memory" : "installed") : missing;
  return `${name}${about === "" ? "" : ` (${about})`}: ${state}${allowed ? "" : ", not allowed by the operator"}`;
}

/** `llm_generate` and `llm_models`. */
export function llmTools(options: LlmGenerateOptions): readonly Tool[] {
  return [llmGenerateTool(options), llmModelsTool(options)];
}
