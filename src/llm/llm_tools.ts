/** All tools of the local model, for the one place that wires them. */
import * as z from "zod";
import { defineTool, readingHints, type Tool, type ToolOutcome } from "../mcp/mod.ts";
import { describeModels, type DescribeModelsOptions, type ModelEntry, modelsReport } from "./models_report.ts";
import { type LlmGenerateOptions, llmGenerateTool } from "./llm_generate.ts";

// The tool `llm_models`: which models there are, loaded, and allowed.

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

/** `llm_generate` and `llm_models`. */
export function llmTools(options: LlmGenerateOptions): readonly Tool[] {
  return [llmGenerateTool(options), llmModelsTool(options)];
}
