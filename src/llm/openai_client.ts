/**
 * An engine by OpenAI's chat completions, as llama.cpp, vLLM, LM Studio, llama-swap and Ollama itself serve them: what
 * differs between them is read here, and asked for in each one's words.
 */
import { isObject, parseJson, present } from "../lib/json.ts";
import type { AnswerParser, StreamLine } from "./answer_stream.ts";
import { readModelList } from "./mod_settings.ts";
import { createTransport, type ModelClientOptions } from "./transport.ts";
import type {
  AnswerFormat,
  ChatMessage,
  HostReport,
  InstalledModel,
  ModelClient,
  ModelCompletion,
  ModelRequest,
} from "./port.ts";

/** Makes the client; it connects at the first call. Calls give failures as values and reject for none of them. */
export function createOpenAiClient(options: ModelClientOptions): ModelClient {
  const { host } = options;
  const { stream, probe, close } = createTransport(options);
  /** Beside the list that all have, what some engines know of their models: they answer 404, or nonsense, to the rest. */
  const report = async (signal: AbortSignal): Promise<HostReport> => {
    const [listed, ofLmStudio, ofLlamaCpp, ofLlamaSwap] = await Promise.all([
      probe("models", readModelList, signal),
      probe("../api/v0/models", readModelList, signal),
      probe("../props", readProps, signal),
      probe("../running", readRunning, signal),
    ]);
    const common = { origin: host.origin, isElsewhere: host.isElsewhere, isOllama: false };
    if (!listed.ok) return { ...common, failure: listed.error, installed: [] };
    const known = new Map(ofLmStudio.ok ? ofLmStudio.value.map((it) => [it.name, it]) : []);
    const props = ofLlamaCpp.ok && listed.value.length === 1 ? ofLlamaCpp.value : {};
    const running = ofLlamaSwap.ok ? ofLlamaSwap.value : [];
    return {
      ...common,
      installed: listed.value.map((it): InstalledModel => ({
        ...it,
        ...known.get(it.name),
        ...props,
        ...(running.includes(it.name) ? { isLoaded: true } : {}),
      })),
    };
  };

  return {
    host,
    ask: (request, call) => stream("chat/completions", toBody(request), createEventParser(), call),
    report,
    close,
  };
}

/** llama.cpp's `GET /props`, of a server with one model: the context of a call, and whether it sees images. */
function readProps(reply: unknown): Partial<InstalledModel> | null {
  if (!isObject(reply) || !isObject(reply["default_generation_settings"])) return null;
  const { n_ctx: contextTokens } = reply["default_generation_settings"];
  const { modalities } = reply;
  const sees = isObject(modalities) && modalities["vision"] === true;
  return {
    isLoaded: true,
    capabilities: sees ? ["completion", "vision"] : ["completion"],
    ...(typeof contextTokens === "number" && contextTokens > 0 ? { contextTokens } : {}),
  };
}

/** llama-swap's `GET /running`: the names of the models in memory. */
function readRunning(reply: unknown): readonly string[] | null {
  const running = isObject(reply) ? reply["running"] : undefined;
  if (!Array.isArray(running)) return null;
  return running.flatMap((each) => isObject(each) && typeof each["model"] === "string" ? [each["model"]] : []);
}

/** The body of `POST /v1/chat/completions`. What is undefined is not sent. */
function toBody({ model, messages, options, format, think }: ModelRequest) {
  return {
    model,
    messages: messages.map(toMessage),
    stream: true,
    stream_options: { include_usage: true },
    max_tokens: options.maxTokens,
    temperature: options.temperature,
    seed: options.seed,
    top_p: options.topP,
    top_k: options.topK,
    stop: options.stop,
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
  const known = { "/9j/": "jpeg", UklG: "webp", R0lG: "gif" } as const;
  const start = image.slice(0, 4);
  return `image/${Object.hasOwn(known, start) ? known[start as keyof typeof known] : "png"}`;
}

/** LM Studio refuses `json_object`; a schema of any object is understood by all. */
function toResponseFormat(format: AnswerFormat) {
  return {
    type: "json_schema",
    json_schema: { name: "answer", schema: format === "json" ? { type: "object" } : format },
  };
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

/**
 * Reads server-sent events of chunks, and the JSON of an engine that streams nothing. Comments keep a connection alive;
 * the counts come with the last piece, after it in a chunk without choices, or not at all; `[DONE]` may be missing.
 */
function createEventParser(): AnswerParser {
  const nothing: StreamLine = { kind: "answer", delta: null, completion: null };
  let completion: ModelCompletion | null = null;
  return {
    line(line) {
      const text = line.trim();
      if (/^(:|(event|id|retry):)/.test(text)) return nothing;
      const payload = text.replace(/^data:/, "").trim();
      if (payload === "[DONE]") return { ...nothing, completion: completion ?? { type: "done" } };
      const chunk = parseJson(payload);
      if (!isObject(chunk)) return null;
      if (isObject(chunk["error"]) || typeof chunk["error"] === "string") {
        return { kind: "error", error: chunk["error"] };
      }
      if (chunk["object"] === "error") return { kind: "error", error: chunk };
      const choices = chunk["choices"] ?? [];
      if (!Array.isArray(choices)) return null;
      const [choice = {}] = choices;
      if (!isObject(choice)) return null;
      const delta = choice["delta"] ?? choice["message"] ?? {};
      if (!isObject(delta)) return null;
      const { content: said, reasoning_content: thought = delta["reasoning"] } = delta;
      const [piece, thinking] = [said ?? "", thought ?? ""];
      if (typeof piece !== "string" || typeof thinking !== "string") return null;
      const { finish_reason: reason } = choice;
      if (typeof reason === "string" && reason !== "") completion = { type: "done", ...completion, doneReason: reason };
      const counts = countsOf(chunk);
      if (completion !== null || Object.keys(counts).length > 0) {
        completion = { type: "done", ...completion, ...counts };
      }
      const isWhole = delta === choice["message"];
      return {
        kind: "answer",
        delta: piece === "" && thinking === "" ? null : { type: "delta", text: piece, thinking },
        completion: isWhole ? completion : null,
      };
    },
    end: () => completion?.doneReason === undefined ? null : completion,
  };
}

function countsOf({ usage, timings }: Readonly<Record<string, unknown>>): Partial<ModelCompletion> {
  const count = (holder: unknown, name: string): number | undefined => {
    const value = isObject(holder) ? holder[name] : undefined;
    return typeof value === "number" && value >= 0 ? value : undefined;
  };
  return present({
    promptTokens: count(usage, "prompt_tokens"),
    completionTokens: count(usage, "completion_tokens"),
    evaluationMs: count(timings, "predicted_ms"),
  });
}
