/** Clients of engines: Ollama by its own API, any other by OpenAI's. */
import * as z from "zod";
import { lazyObject } from "../lib/lazy_object.ts";
import { parseJson, present } from "../lib/json.ts";
import { type InstalledModel, readModelList } from "./mod_settings.ts";
import { createTransport, type ModelClientOptions, type StreamPart } from "./transport.ts";
import type { AnswerFormat, ChatMessage, ModelClient, ModelRequest } from "./port.ts";

/**
 * The client for a host, by the API that it speaks: for the server and for `doctor`. It connects at its first call.
 * Calls give failures as values and reject for none of them.
 */
export function createModelClient(options: ModelClientOptions): ModelClient {
  return options.host.isOllama ? createOllamaClient(options) : createOpenAiClient(options);
}

/** Ollama by its own API: generation as a stream of events, and what it has. */
export function createOllamaClient(options: ModelClientOptions): ModelClient {
  const { stream, probe, close } = createTransport(options);
  return {
    host: options.host,
    ask(request, call) {
      const body = { ...toContent(request), ...commonFields(request) };
      return stream("prompt" in body ? "api/generate" : "api/chat", body, parseLine, call);
    },
    async report(signal) {
      const [installed, loaded] = await Promise.all([
        probe("api/tags", readModelList, signal),
        probe("api/ps", readModelList, signal),
      ]);
      if (!installed.ok) return { failure: installed.error, installed: [] };
      const running = new Map(loaded.ok ? loaded.value.map((it) => [it.name, it]) : []);
      return {
        // Of a model in memory the context is known as it was loaded; of any other, the largest that it may have.
        installed: installed.value.map((it) => {
          const { contextTokens = it.contextTokens } = running.get(it.name) ?? {};
          return { ...it, ...(contextTokens && { contextTokens }), ...(running.has(it.name) && { isLoaded: true }) };
        }),
      };
    },
    close,
  };
}

/** What `POST /api/generate` takes of a single question, and `POST /api/chat` of a conversation. */
function toContent({ model, messages }: ModelRequest) {
  const [system, question] = messages[0]?.role === "system" ? messages : [undefined, messages[0]];
  if (question?.role !== "user" || messages.length > (system === undefined ? 1 : 2)) return { model, messages };
  return { model, prompt: question.content, system: system?.content, images: question.images };
}

/** By default Ollama drops half of a prompt that is too long, and the start of a context that fills up, and says nothing. */
function commonFields({ options, format, think, keepAliveSeconds, contextTokens }: ModelRequest) {
  const { maxTokens, topP, topK, ...others } = options;
  return {
    stream: true,
    truncate: false,
    shift: false,
    format,
    think,
    keep_alive: keepAliveSeconds,
    options: { num_predict: maxTokens, top_p: topP, top_k: topK, num_ctx: contextTokens, ...others },
  };
}

// Ollama's lines of JSON. Go leaves out what is zero, and writes "" or null for what is not there.

const count = z.lazy(() => z.number().nonnegative().nullish().catch(undefined));
const streamLine = lazyObject(() => ({
  error: z.unknown().optional(),
  response: z.string().nullish(),
  thinking: z.string().nullish(),
  message: z.object({ content: z.string().nullish(), thinking: z.string().nullish() }).nullish(),
  done: z.boolean().nullish(),
  done_reason: z.string().nullish(),
  prompt_eval_count: count,
  eval_count: count,
  load_duration: count,
  eval_duration: count,
}));

/** The lines of `generate` and `chat`: the last one says how the answer ended. */
export function parseLine(line: string): StreamPart | null {
  const { data } = streamLine.safeParse(parseJson(line));
  if (data === undefined) return null;
  if (data.error) return { error: data.error };
  const { load_duration: load, eval_duration: evaluation } = data;
  return {
    text: data.response ?? data.message?.content ?? "",
    thinking: data.thinking ?? data.message?.thinking ?? "",
    isLast: data.done === true,
    facts: present({
      doneReason: data.done_reason || undefined,
      promptTokens: data.prompt_eval_count,
      completionTokens: data.eval_count,
      loadMs: load && load / 1e6,
      evaluationMs: evaluation && evaluation / 1e6,
    }),
  };
}

/**
 * An engine by OpenAI's chat completions, as llama.cpp, vLLM, LM Studio, llama-swap and Ollama itself serve them: what
 * differs between them is read here, and asked for in each one's words.
 */
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
