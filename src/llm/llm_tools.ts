/** All tools of the local model, for the one place that wires them. */
import type { Tool } from "../mcp/tool.ts";
import { llmEmbedTool } from "./llm_embed.ts";
import { type LlmGenerateOptions, llmGenerateTool } from "./llm_generate.ts";
import { llmModelsTool } from "./llm_models.ts";

/** `llm_generate`, `llm_models`, and `llm_embed` when there is a model for it. */
export function llmTools(
  options: LlmGenerateOptions & { readonly embeddingModels?: readonly string[] },
): readonly Tool[] {
  const [first, ...others] = options.embeddingModels ?? [];
  return [
    llmGenerateTool(options),
    llmModelsTool(options),
    ...(first === undefined ? [] : [llmEmbedTool({ ...options, embeddingModels: [first, ...others] })]),
  ];
}
