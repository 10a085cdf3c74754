/** Ollama by its own API: generation as a stream of events, and what it has. */
import * as z from "zod";
import { lazyObject } from "../lib/lazy_object.ts";
import { readModelList } from "./mod_settings.ts";
import { parseJson, present } from "../lib/json.ts";
import { createTransport, type ModelClientOptions, type StreamPart } from "./transport.ts";
import type { ModelClient, ModelRequest } from "./port.ts";

/** Makes the client; it connects at the first call. Calls give failures as values and reject for none of them. */
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
