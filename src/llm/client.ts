/** Ollama by its own API: generation as a stream of events, and what it has. */
import { ollamaLines } from "./ollama_lines.ts";
import { readModelList } from "./mod_settings.ts";
import { isObject } from "../lib/json.ts";
import { createTransport, type ModelClientOptions } from "./transport.ts";
import type { HostReport, ModelCall, ModelRequest, SamplingOptions } from "./port.ts";

/** Makes the client; it connects at the first call. Calls give failures as values and reject for none of them. */
export function createOllamaClient(options: ModelClientOptions) {
  const { host } = options;
  const { stream, probe, close } = createTransport(options);
  const probes = {
    version: (signal: AbortSignal) => probe("api/version", readVersion, signal),
    tags: (signal: AbortSignal) => probe("api/tags", readModelList, signal),
    ps: (signal: AbortSignal) => probe("api/ps", readModelList, signal),
  };
  return {
    host,
    ask(request: ModelRequest, call: ModelCall) {
      const body = { ...toContent(request), ...commonFields(request) };
      return stream("prompt" in body ? "api/generate" : "api/chat", body, ollamaLines, call);
    },
    ...probes,
    async report(signal: AbortSignal): Promise<HostReport> {
      const [version, installed, loaded] = await Promise.all([
        probes.version(signal),
        probes.tags(signal),
        probes.ps(signal),
      ]);
      const { origin, isElsewhere } = host;
      const common = { origin, isElsewhere, isOllama: true, ...(version.ok ? { version: version.value } : {}) };
      if (!version.ok) return { ...common, failure: version.error, installed: [] };
      if (!installed.ok) return { ...common, failure: installed.error, installed: [] };
      const running = new Map(loaded.ok ? loaded.value.map((it) => [it.name, it]) : []);
      return {
        ...common,
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

const maxVersionCharacters = 100;

function readVersion(reply: unknown): string | null {
  const version = isObject(reply) ? reply["version"] : undefined;
  return typeof version === "string" && version.length <= maxVersionCharacters ? version : null;
}

/** What `POST /api/generate` takes of a single question, and `POST /api/chat` of a conversation. */
function toContent({ model, messages }: ModelRequest) {
  const [system, question] = messages[0]?.role === "system" ? messages : [undefined, messages[0]];
  if (question?.role !== "user" || messages.length > (system === undefined ? 1 : 2)) return { model, messages };
  return { model, prompt: question.content, system: system?.content, images: question.images };
}

/** By default Ollama drops half of a prompt that is too long, and the start of a context that fills up, and says nothing. */
function commonFields(request: ModelRequest) {
  return {
    stream: true,
    truncate: false,
    shift: false,
    format: request.format,
    keep_alive: request.keepAliveSeconds,
    think: request.think,
    options: { ...toOptions(request.options), num_ctx: request.contextTokens },
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
