/**
 * An engine by OpenAI's chat completions, as llama.cpp, vLLM, LM Studio, llama-swap and Ollama itself serve them: what
 * differs between them is read here, and asked for in each one's words.
 */
import * as z from "zod";
import { lazyObject } from "../lib/lazy_object.ts";
import { parseJson, present } from "../lib/json.ts";
import { type InstalledModel, readModelList } from "./mod_settings.ts";
import { createTransport, type ModelClientOptions, type StreamPart } from "./transport.ts";
import type { AnswerFormat, ChatMessage, ModelClient, ModelRequest } from "./port.ts";

/** Makes the client; it connects at the first call. Calls give failures as values and reject for none of them. */
export function createOpenAiClient(options: ModelClientOptions): ModelClient {
  const { stream, probe, close } = createTransport(options);
  return {
    host: options.host,
    ask: (request, call) => stream("chat/completions", toBody(request), parseEvent, call),
    /** Beside the list that all have, what some know of their models: they answer 404, or nonsense, to the rest. */
    async report(signal) {
      const [listed, ofLmStudio, ofLlamaCpp, ofLlamaSwap] = await Promise.all([
        probe("models", readModelList, signal),
        probe("../api/v0/models", readModelList, signal),
        probe("../props", readProps, signal),
        probe("../running", (reply) => runningShape.safeParse(reply).data ?? null, signal),
      ]);
      if (!listed.ok) return { failure: listed.error, installed: [] };
      const known = ofLmStudio.ok ? ofLmStudio.value : [];
      const props = ofLlamaCpp.ok && listed.value.length === 1 ? ofLlamaCpp.value : {};
      const running = ofLlamaSwap.ok ? ofLlamaSwap.value.running : [];
      return {
        installed: listed.value.map((it): InstalledModel => ({
          ...it,
          ...known.find(({ name }) => name === it.name),
          ...props,
          ...(running.some(({ model }) => model === it.name) ? { isLoaded: true } : {}),
        })),
      };
    },
    close,
  };
}

/** llama-swap's `GET /running`: the models in memory. */
const runningShape = lazyObject(() => ({ running: z.array(z.object({ model: z.string() })) }));
/** llama.cpp's `GET /props`, of a server with one model: the context of a call, and whether it sees images. */
const propsShape = lazyObject(() => ({
  default_generation_settings: z.object({ n_ctx: z.number().optional() }),
  modalities: z.object({ vision: z.boolean().optional() }).nullish(),
}));

function readProps(reply: unknown): Partial<InstalledModel> | null {
  const { data } = propsShape.safeParse(reply);
  if (data === undefined) return null;
  const { default_generation_settings: { n_ctx: contextTokens }, modalities } = data;
  return {
    isLoaded: true,
    capabilities: modalities?.vision === true ? ["completion", "vision"] : ["completion"],
    ...(contextTokens && { contextTokens }),
  };
}

/** The body of `POST /v1/chat/completions`. What is undefined is not sent. */
function toBody({ model, messages, options, format, think }: ModelRequest) {
  const { maxTokens, topP, topK, ...others } = options;
  return {
    model,
    messages: messages.map(toMessage),
    stream: true,
    stream_options: { include_usage: true },
    max_tokens: maxTokens,
    top_p: topP,
    top_k: topK,
    ...others,
    response_format: format && toResponseFormat(format),
    ...toThinking(think),
  };
}

function toMessage({ role, content, images = [] }: ChatMessage) {
  if (images.length === 0) return { role, content };
  return {
    role,
    content: [
      { type: "text", text: content },
      ...images.map((image) => ({ type: "image_url", image_url: { url: `data:${typeOf(image)};base64,${image}` } })),
    ],
  };
}

/** By the first characters of its Base64. */
function typeOf(image: string): string {
  const known = new Map([["/9j/", "jpeg"], ["UklG", "webp"], ["R0lG", "gif"]]);
  return `image/${known.get(image.slice(0, 4)) ?? "png"}`;
}

/** LM Studio refuses `json_object`; a schema of any object is understood by all. */
function toResponseFormat(format: AnswerFormat) {
  const schema = format === "json" ? { type: "object" } : format;
  return { type: "json_schema", json_schema: { name: "answer", schema } };
}

/** `reasoning_effort` for Ollama, llama.cpp and LM Studio; the template's own words for vLLM and older llama.cpp. */
function toThinking(think: ModelRequest["think"]) {
  if (think === undefined) return {};
  if (typeof think === "string") return { reasoning_effort: think === "max" ? "high" : think };
  return {
    ...(think ? {} : { reasoning_effort: "none" }),
    chat_template_kwargs: { enable_thinking: think, thinking: think },
  };
}

const count = z.lazy(() => z.number().nonnegative().nullish().catch(undefined));
const piece = lazyObject(() => ({
  ...{ content: z.string().nullish(), refusal: z.string().nullish() },
  ...{ reasoning_content: z.string().nullish(), reasoning: z.string().nullish() },
}));
const chunkShape = lazyObject(() => ({
  error: z.unknown().optional(),
  message: z.unknown().optional(),
  object: z.unknown().optional(),
  choices: z.array(
    z.object({ delta: piece.nullish(), message: piece.nullish(), finish_reason: z.string().nullish() }),
  )
    .nullish(),
  usage: z.object({ prompt_tokens: count, completion_tokens: count }).nullish(),
  timings: z.object({ predicted_ms: count }).nullish(),
}));

/**
 * Reads a line of server-sent events, or the JSON of an engine that streams nothing. Errors are in `error`, or alone on
 * the line after `event: error`. Comments keep a connection alive;
 * the counts come with the last piece, after it in a chunk without choices, or not at all; `[DONE]` may be missing.
 */
function parseEvent(line: string): StreamPart | null {
  if (/^(:|(event|id|retry):)/.test(line)) return {};
  const payload = line.replace(/^data:\s*/, "");
  if (payload === "[DONE]") return { isLast: true };
  const json = parseJson(payload);
  const { data: chunk } = chunkShape.safeParse(json);
  if (chunk === undefined) return null;
  const { choices, message: words, error = choices ? undefined : words, object, usage, timings } = chunk;
  if (object === "error") return { error: json };
  if (typeof error === "string" || (typeof error === "object" && error !== null)) return { error };
  const { delta, message, finish_reason: reason } = choices?.[0] ?? {};
  const { content, refusal, reasoning_content: thought, reasoning } = delta ?? message ?? {};
  return {
    text: content || refusal || "",
    thinking: thought ?? reasoning ?? "",
    isLast: !delta && Boolean(message),
    facts: present({
      doneReason: reason || undefined,
      promptTokens: usage?.prompt_tokens,
      completionTokens: usage?.completion_tokens,
      evaluationMs: timings?.predicted_ms,
    }),
  };
}
