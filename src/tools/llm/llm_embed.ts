/** The tool `llm_embed`: texts in, one vector for each out. Offered when the operator names an embedding model. */
import { z } from "zod";
import { defineTool, type Tool, type ToolOutcome } from "../../mcp/tool.ts";
import type { LocalModel } from "../../ollama/port.ts";
import { callOf, toToolFailure } from "./model_call.ts";
import { modelParameter } from "./input.ts";

interface LlmEmbedOptions {
  readonly model: LocalModel;
  /** The operator's allow list of embedding models; the first is the default. */
  readonly embeddingModels: readonly [string, ...string[]];
  /** Numbers in one answer, all vectors together: about 10 bytes each. */
  readonly maxNumbers?: number;
}

const defaultMaxNumbers = 65_536;

export function llmEmbedTool({ model, embeddingModels, maxNumbers = defaultMaxNumbers }: LlmEmbedOptions): Tool {
  return defineTool({
    name: "llm_embed",
    title: "Embed texts",
    description: "Turns texts into vectors with an embedding model that runs on the owner's machine; " +
      "texts of similar meaning have vectors with a large dot product.",
    scopes: ["llm:generate"],
    annotations: { title: "Embed texts", readOnlyHint: true, idempotentHint: true, openWorldHint: false },
    input: z.object({
      texts: z.array(z.string().min(1)).min(1).max(64).describe("The texts, one vector each"),
      model: modelParameter(embeddingModels),
    }),
    output: z.object({
      model: z.string(),
      dimensions: z.int(),
      embeddings: z.array(z.array(z.number())).describe("One vector for each text, in their order"),
      prompt_tokens: z.number(),
    }),
    async run(input, context): Promise<ToolOutcome> {
      const events = model.embed({ model: input.model, texts: input.texts }, callOf(context, undefined));
      for await (const event of events) {
        if (event.type === "failed") return { ok: false, ...toToolFailure(event.failure, context) };
        const numbers = event.vectors.reduce((sum, vector) => sum + vector.length, 0);
        if (numbers > maxNumbers) {
          const message = `The vectors hold ${numbers} numbers and may hold ${maxNumbers}; send fewer texts at a time.`;
          return { ok: false, code: "output_too_large", message };
        }
        const embeddings = event.vectors.map((vector) => vector.map(toSinglePrecision));
        return {
          ok: true,
          content: [{ type: "text", text: JSON.stringify(embeddings) }],
          structuredContent: {
            model: input.model,
            dimensions: embeddings[0]?.length ?? 0,
            embeddings,
            prompt_tokens: event.promptTokens,
          },
        };
      }
      throw new Error("A model's events ended without embeddings or `failed`");
    },
  });
}

/** Models compute with 32 bits: the digits beyond are noise, and half of the answer's size. */
function toSinglePrecision(value: number): number {
  return Number(value.toPrecision(7));
}
