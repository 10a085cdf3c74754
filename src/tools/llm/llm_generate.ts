/** The tool `llm_generate`: a prompt in, a local model's text out, token by token for callers that watch. */
import { z } from "zod";
import { defineTool, type Tool, type ToolOutcome } from "../../mcp/tool.ts";
import { imagesParameter, loadImages } from "./image.ts";
import { modelParameter, samplingParameters } from "./input.ts";
import { answerFields } from "./outcome.ts";
import { type LlmToolOptions, runModel } from "./run.ts";

export function llmGenerateTool(options: LlmToolOptions): Tool {
  const { models, readImage } = options;
  return defineTool({
    name: "llm_generate",
    title: "Ask the local model",
    description: "Generates text with a language model that runs on the owner's machine. " +
      "An answer that is cut or ends early says so; what the model writes may be wrong.",
    scopes: ["llm:generate"],
    annotations: {
      title: "Ask the local model",
      readOnlyHint: true,
      destructiveHint: false,
      idempotentHint: false,
      openWorldHint: false,
    },
    input: z.object({
      prompt: z.string().min(1).describe("What the model is asked"),
      model: modelParameter(models),
      system: z.string().optional().describe("Who the model should be, and how it should answer"),
      images: imagesParameter,
      ...samplingParameters,
    }),
    output: z.object(answerFields),
    async run(input, context): Promise<ToolOutcome> {
      const images = await loadImages(readImage, context.principal, input.images);
      if (!images.ok) return { ok: false, ...images.error };
      const question = {
        prompt: input.prompt,
        ...(input.system === undefined ? {} : { system: input.system }),
        ...(images.value === undefined ? {} : { images: images.value }),
      };
      return await runModel(options, {
        input,
        context,
        ask: (request, call) => options.model.generate({ ...request, ...question }, call),
      });
    },
  });
}
