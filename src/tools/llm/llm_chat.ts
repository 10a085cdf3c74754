/** The tool `llm_chat`: a conversation in, the model's next message out, tool calls passed through to the caller. */
import { z } from "zod";
import { failure, type Result, success } from "../../lib/result.ts";
import { defineTool, type Tool, type ToolContext, type ToolOutcome } from "../../mcp/tool.ts";
import type { ChatMessage, ToolOffer } from "../../ollama/port.ts";
import type { ToolFailure } from "./call.ts";
import { imagesParameter, loadImages, type ReadImage } from "./image.ts";
import { modelParameter, samplingParameters } from "./input.ts";
import { answerFields } from "./outcome.ts";
import { type LlmToolOptions, runModel } from "./run.ts";
import { isTooDeep } from "./schema.ts";

const json = z.record(z.string(), z.unknown()).refine((value) => !isTooDeep(value), "Nested too deeply");
const functionName = z.string().regex(/^[\w.-]{1,128}$/);
const callId = z.string().min(1).max(256);
const toolCall = z.object({
  id: callId.optional().describe("Tells two calls of one tool apart, when the model gives one"),
  function: z.object({ name: functionName, arguments: json }),
});
const message = z.object({
  role: z.enum(["system", "user", "assistant", "tool"]).describe("Who says it"),
  content: z.string().default("").describe("What is said; for the role tool, the tool's result"),
  images: imagesParameter,
  thinking: z.string().optional().describe("What the assistant thought before, as an earlier answer had it"),
  tool_calls: z.array(toolCall).max(32).optional().describe("The calls an earlier answer asked for"),
  tool_name: functionName.optional().describe("For the role tool: whose result this is"),
  tool_call_id: callId.optional().describe("For the role tool: the id of the call that this is the result of"),
});
const toolOffer = z.object({
  type: z.literal("function").default("function"),
  function: z.object({
    name: functionName.describe("The tool's name"),
    description: z.string().optional().describe("What it does"),
    parameters: json.optional().describe("Its parameters as a JSON schema"),
  }),
});

export function llmChatTool(options: LlmToolOptions): Tool {
  const { models, readImage } = options;
  return defineTool({
    name: "llm_chat",
    title: "Chat with the local model",
    description: "Continues a conversation with a language model that runs on the owner's machine. " +
      "Tools that the model wants to call are returned in tool_calls and never run by this server.",
    scopes: ["llm:generate"],
    annotations: {
      title: "Chat with the local model",
      readOnlyHint: true,
      destructiveHint: false,
      idempotentHint: false,
      openWorldHint: false,
    },
    input: z.object({
      messages: z.array(message).min(1).max(100).describe("The conversation so far, oldest first"),
      model: modelParameter(models),
      tools: z.array(toolOffer).max(64).optional().describe("Tools that the model may ask the caller to run"),
      ...samplingParameters,
    }),
    output: z.object({ ...answerFields, tool_calls: z.array(toolCall).optional().describe("Tools it asks for") }),
    async run(input, context): Promise<ToolOutcome> {
      const messages = await toChatMessages(input.messages, context, readImage);
      if (!messages.ok) return { ok: false, ...messages.error };
      const question = {
        messages: messages.value,
        ...(input.tools === undefined ? {} : { tools: input.tools.map(toToolOffer) }),
      };
      return await runModel(options, {
        input,
        context,
        ask: (request, call) => options.model.chat({ ...request, ...question }, call),
      });
    },
  });
}

async function toChatMessages(
  messages: readonly z.output<typeof message>[],
  context: ToolContext,
  readImage: ReadImage,
): Promise<Result<readonly ChatMessage[], ToolFailure>> {
  if (messages.reduce((sum, { images = [] }) => sum + images.length, 0) > maxImages) {
    return failure({
      code: "invalid_request",
      message: `A conversation may hold ${maxImages} images; leave some out.`,
    });
  }
  const converted: ChatMessage[] = [];
  for (const { role, content, images, thinking, tool_calls, tool_name, tool_call_id } of messages) {
    const loaded = await loadImages(readImage, context.principal, images);
    if (!loaded.ok) return loaded;
    converted.push({
      role,
      content,
      ...(loaded.value === undefined ? {} : { images: loaded.value }),
      ...(thinking === undefined ? {} : { thinking }),
      ...(tool_calls === undefined ? {} : { toolCalls: tool_calls }),
      ...(tool_name === undefined ? {} : { toolName: tool_name }),
      ...(tool_call_id === undefined ? {} : { toolCallId: tool_call_id }),
    });
  }
  return success(converted);
}

const maxImages = 8;

function toToolOffer({ type, function: { name, description, parameters } }: z.output<typeof toolOffer>): ToolOffer {
  return {
    type,
    function: {
      name,
      ...(description === undefined ? {} : { description }),
      ...(parameters === undefined ? {} : { parameters }),
    },
  };
}
