/** All tools of the local model, for the one place that wires them. */
import type { Tool } from "../../mcp/tool.ts";
import { llmChatTool } from "./llm_chat.ts";
import { llmEmbedTool } from "./llm_embed.ts";
import { llmGenerateTool } from "./llm_generate.ts";
import { llmModelsTool } from "./llm_models.ts";
import type { LlmToolOptions } from "./run.ts";

/** `llm_generate`, `llm_chat`, `llm_models`, and `llm_embed` when there is a model for it. */
export function llmTools(options: LlmToolOptions & { readonly embeddingModels?: readonly string[] }): readonly Tool[] {
  const [first, ...others] = options.embeddingModels ?? [];
  return [
    llmGenerateTool(options),
    llmChatTool(options),
    llmModelsTool(options),
    ...(first === undefined ? [] : [llmEmbedTool({ model: options.model, embeddingModels: [first, ...others] })]),
  ];
}
