/** Requests as Ollama's JSON, and the lines of its streams as events: the one place that knows its field names. */
import * as z from "zod";
import type {
  ChatRequest,
  GenerateRequest,
  InstalledModel,
  LoadedModel,
  ModelCompletion,
  ModelDelta,
  ModelRequest,
  SamplingOptions,
} from "./port.ts";

const count = z.number().nonnegative().nullish();
const streamLine = z.object({
  error: z.string().optional(),
  response: z.string().nullish(),
  thinking: z.string().nullish(),
  message: z.object({ content: z.string().nullish(), thinking: z.string().nullish() }).nullish(),
  done: z.boolean().nullish(),
  done_reason: z.string().nullish(),
  prompt_eval_count: count,
  eval_count: count,
  load_duration: count,
  eval_duration: count,
});

/** A line of a generate or chat stream, read. */
type StreamLine =
  | { readonly kind: "error"; readonly error: string }
  | { readonly kind: "answer"; readonly delta: ModelDelta | null; readonly completion: ModelCompletion | null };

/** Reads one line; null when it is not an object of Ollama's. */
export function parseStreamLine(line: string): StreamLine | null {
  let json: unknown;
  try {
    json = JSON.parse(line);
  } catch {
    return null;
  }
  const parsed = streamLine.safeParse(json);
  if (!parsed.success) return null;
  const value = parsed.data;
  if (value.error !== undefined) return { kind: "error", error: value.error };
  const text = value.response ?? value.message?.content ?? "";
  const thinking = value.thinking ?? value.message?.thinking ?? "";
  return {
    kind: "answer",
    delta: text === "" && thinking === "" ? null : { type: "delta", text, thinking },
    completion: value.done === true ? toCompletion(value) : null,
  };
}

function toCompletion(line: z.output<typeof streamLine>): ModelCompletion {
  const { load_duration: load, eval_duration: evaluation } = line;
  return {
    type: "done",
    ...present({
      doneReason: line.done_reason,
      promptTokens: line.prompt_eval_count,
      completionTokens: line.eval_count,
      loadMs: load && load / 1e6,
      evaluationMs: evaluation && evaluation / 1e6,
    }),
  };
}

/** The body of `POST /api/generate`. */
export function toGenerateBody(request: GenerateRequest): Record<string, unknown> {
  return {
    model: request.model,
    prompt: request.prompt,
    system: request.system,
    images: request.images,
    ...commonFields(request),
  };
}

/** The body of `POST /api/chat`. */
export function toChatBody(request: ChatRequest): Record<string, unknown> {
  return {
    model: request.model,
    messages: request.messages.map(({ role, content, images }) => ({ role, content, images })),
    ...commonFields(request),
  };
}

/** By default Ollama drops half of a prompt that is too long, and the start of a context that fills up, and says nothing. */
function commonFields(request: ModelRequest): Record<string, unknown> {
  return {
    stream: true,
    truncate: false,
    shift: false,
    format: request.format,
    keep_alive: request.keepAliveSeconds,
    think: request.think,
    options: toOptions(request.options),
  };
}

function toOptions(options: SamplingOptions): Record<string, unknown> {
  return {
    num_predict: options.maxTokens,
    temperature: options.temperature,
    seed: options.seed,
    top_p: options.topP,
    top_k: options.topK,
    stop: options.stop,
  };
}

/** `GET /api/version`. */
export const versionReply: z.ZodType<string> = z.object({ version: z.string().max(100) }).transform((it) => it.version);

/** `GET /api/tags`. */
export const tagsReply: z.ZodType<readonly InstalledModel[]> = z.object({
  models: z.array(z.object({
    name: z.string(),
    size: count,
    modified_at: z.string().nullish(),
    capabilities: z.array(z.string()).nullish(),
    details: z.object({
      family: z.string().nullish(),
      parameter_size: z.string().nullish(),
      quantization_level: z.string().nullish(),
    }).nullish(),
  })).nullable(),
}).transform(({ models }) =>
  (models ?? []).map((it) => ({
    name: it.name,
    ...present({
      sizeBytes: it.size,
      modifiedAt: it.modified_at,
      family: it.details?.family,
      parameterSize: it.details?.parameter_size,
      quantization: it.details?.quantization_level,
      capabilities: it.capabilities,
    }),
  }))
);

/** `GET /api/ps`. */
export const psReply: z.ZodType<readonly LoadedModel[]> = z.object({
  models: z.array(z.object({
    name: z.string(),
    size: count,
    size_vram: count,
    expires_at: z.string().nullish(),
    context_length: count,
  })).nullable(),
}).transform(({ models }) =>
  (models ?? []).map((it) => ({
    name: it.name,
    ...present({
      sizeBytes: it.size,
      videoMemoryBytes: it.size_vram,
      expiresAt: it.expires_at,
      contextLength: it.context_length,
    }),
  }))
);

/** The fields that have a value: Go leaves out what is zero, and writes null for an empty list. */
function present<T extends object>(fields: T): { [K in keyof T]?: NonNullable<T[K]> } {
  return Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== null && value !== undefined && value !== ""),
  ) as { [K in keyof T]?: NonNullable<T[K]> };
}
