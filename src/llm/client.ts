/** One Ollama server over HTTP: generation as a stream of events, probes, and an end to every call. */
import * as z from "zod";
import type { OllamaHost } from "./host.ts";
import type { Clock } from "../lib/time.ts";
import { parseJson, present } from "../lib/json.ts";
import { failure, type Result, success } from "../lib/result.ts";
import { type EndReason, type ModelCallWatch, readAnswer, watchCall } from "./answer_stream.ts";
import { cancelled, fromNetworkError, fromStatus, type OllamaFailure, ollamaFailure } from "./failure.ts";
import {
  type ChatRequest,
  type GenerateRequest,
  type InstalledModel,
  type LoadedModel,
  type ModelCall,
  type ModelEvent,
  modelFailed,
  type ModelRequest,
  type OllamaLimits,
  ollamaLimits,
  type SamplingOptions,
} from "./port.ts";

/**
 * A reader that the signal ends. Deno forgets to pass an abort on to a body once its `Response` is out of reach, and a
 * read would then wait for ever: so the reader itself is cancelled, and its reads report `done`.
 */
function readUntil(
  body: ReadableStream<Uint8Array>,
  signal: AbortSignal,
): ReadableStreamDefaultReader<Uint8Array> {
  const reader = body.getReader();
  const cancel = (): void => void reader.cancel().catch(() => {}); // a body that has failed needs no end
  if (signal.aborted) cancel();
  else signal.addEventListener("abort", cancel, { once: true });
  return reader;
}

/** The beginning of the body as text, and whether that was all of it; beyond `maxBytes` nothing is read. */
async function readText(
  response: Response,
  { maxBytes, signal }: { readonly maxBytes: number; readonly signal: AbortSignal },
): Promise<{ text: string; whole: boolean }> {
  if (response.body === null) return { text: "", whole: true };
  const reader = readUntil(response.body, signal);
  const decoder = new TextDecoder();
  let text = "";
  let bytes = 0;
  while (true) {
    const { done, value } = await reader.read();
    signal.throwIfAborted();
    if (done) return { text: text + decoder.decode(), whole: true };
    text += decoder.decode(value.subarray(0, maxBytes - bytes), { stream: true });
    bytes += value.byteLength;
    if (bytes <= maxBytes) continue;
    await reader.cancel();
    return { text, whole: false };
  }
}

// A fetch for one host. Deno's fetch obeys HTTP_PROXY for loopback addresses too, which would hand local prompts to the
// proxy; a client whose "proxy" is a plain TCP connection to the host itself goes there directly. Requests then carry
// the whole URL as their target (RFC 9112 §3.2.2), which some servers misread: so only where a proxy is set.

/** The call signature of the platform's `fetch`. */
type OllamaFetch = typeof globalThis.fetch;

/** A fetch, and the connections behind it. */
interface HostFetch {
  readonly fetch: OllamaFetch;
  close(): void;
}

/** `fetch` itself; for loopback hosts, with `avoidProxy` and where the platform can, one that knows no proxy. */
function createHostFetch(host: OllamaHost, fetch: OllamaFetch, avoidProxy: boolean): HostFetch {
  if (!avoidProxy || !host.isLoopback || typeof Deno.createHttpClient !== "function") return { fetch, close: () => {} };
  const client = Deno.createHttpClient({ proxy: { transport: "tcp", hostname: host.hostname, port: host.port } });
  return { fetch: (input, init) => fetch(input, { ...init, client }), close: () => client.close() };
}

interface OllamaClientOptions {
  readonly host: OllamaHost;
  /** For hosted Ollama. It is sent over https and to loopback, never in the clear to another machine. */
  readonly apiKey?: string | undefined;
  readonly fetch: OllamaFetch;
  /** Go to loopback hosts past the environment's proxy; see `environmentHasProxy`. */
  readonly avoidProxy?: boolean;
  /** Only differences are used; `performance.now` serves best. */
  readonly clock: Clock;
  readonly limits?: OllamaLimits;
}

/** A client of one server. Calls are independent of each other; nothing is retried here. */
export interface OllamaClient {
  readonly host: OllamaHost;
  generate(request: GenerateRequest, call: ModelCall): AsyncGenerator<ModelEvent, void>;
  chat(request: ChatRequest, call: ModelCall): AsyncGenerator<ModelEvent, void>;
  version(signal: AbortSignal): Promise<Result<string, OllamaFailure>>;
  tags(signal: AbortSignal): Promise<Result<readonly InstalledModel[], OllamaFailure>>;
  ps(signal: AbortSignal): Promise<Result<readonly LoadedModel[], OllamaFailure>>;
  /** Ends idle connections. */
  close(): void;
}

/** Makes the client; it connects at the first call. Calls give failures as values and reject for none of them. */
export function createOllamaClient(options: OllamaClientOptions): OllamaClient {
  const { host, apiKey, clock, limits = ollamaLimits } = options;
  const hostFetch = createHostFetch(host, options.fetch, options.avoidProxy ?? false);
  const apiKeySent = apiKey !== undefined && (host.protocol === "https" || host.isLoopback);
  const authorization = apiKeySent ? `Bearer ${apiKey}` : host.basicAuthorization;
  const headers: Record<string, string> = authorization === undefined ? {} : { authorization };

  /** Sends, and turns every answer but a good one into a failure. A redirect would post the prompt elsewhere. */
  const send = async (
    path: string,
    body: unknown,
    { signal }: ModelCallWatch,
    model?: string,
  ): Promise<Result<Response, OllamaFailure>> => {
    const response = await hostFetch.fetch(`${host.baseUrl}${path}`, {
      redirect: "manual",
      signal,
      ...(body === undefined
        ? { headers }
        : { method: "POST", headers: { ...headers, "content-type": "application/json" }, body: JSON.stringify(body) }),
    });
    if (response.status !== 200) {
      const { text } = await readText(response, { maxBytes: limits.maxErrorBytes, signal });
      return failure(
        fromStatus(response.status, text, { host, apiKeySent, ...(model === undefined ? {} : { model }) }),
      );
    }
    const type = response.headers.get("content-type") ?? "";
    if (/^application\/(x-ndjson|json)\b/i.test(type)) return success(response);
    await response.body?.cancel();
    return failure(notOllama(host));
  };

  /** The whole of a short answer as JSON; undefined where it is too long, or anything else. */
  const readReply = async <T>(
    response: Response,
    schema: z.ZodType<T>,
    { signal }: ModelCallWatch,
  ): Promise<T | undefined> => {
    const { text, whole } = await readText(response, { maxBytes: limits.maxReplyBytes, signal });
    return whole ? schema.safeParse(parseJson(text)).data : undefined;
  };

  const watch = ({ signal, totalMs }: ModelCall): ModelCallWatch =>
    watchCall({ clock, caller: signal, idleMs: limits.idleMs, totalMs });

  const explain = (
    error: unknown,
    { reason }: ModelCallWatch,
    { totalMs }: ModelCall,
    midBody: boolean,
  ): OllamaFailure =>
    reason === undefined
      ? fromNetworkError(error, host, midBody)
      : fromEndReason(reason, { idleMs: limits.idleMs, totalMs }, host.origin);

  async function* stream(
    path: string,
    body: unknown,
    model: string,
    call: ModelCall,
  ): AsyncGenerator<ModelEvent, void> {
    const watched = watch(call);
    let reader: ReadableStreamDefaultReader<Uint8Array> | undefined;
    try {
      const sent = await send(path, body, watched, model);
      if (!sent.ok) return yield modelFailed(sent.error);
      if (sent.value.body === null) return yield modelFailed(emptyAnswer(host));
      reader = readUntil(sent.value.body, watched.signal);
      yield* readAnswer(reader, { host, watch: watched, limits });
    } catch (error) {
      yield modelFailed(explain(error, watched, call, reader !== undefined));
    } finally {
      watched.dispose();
    }
  }

  const probe = async <T>(
    path: string,
    schema: z.ZodType<T>,
    signal: AbortSignal,
  ): Promise<Result<T, OllamaFailure>> => {
    const call = { signal, totalMs: limits.probeMs };
    const watched = watch(call);
    try {
      const sent = await send(path, undefined, watched);
      if (!sent.ok) return sent;
      const reply = await readReply(sent.value, schema, watched);
      return reply === undefined ? failure(notOllama(host)) : success(reply);
    } catch (error) {
      const isLate = watched.reason !== undefined && watched.reason !== "cancelled";
      return failure(isLate ? probeTimeout(host, limits.probeMs) : explain(error, watched, call, false));
    } finally {
      watched.dispose();
    }
  };

  return {
    host,
    generate: (request, call) => stream("api/generate", toGenerateBody(request), request.model, call),
    chat: (request, call) => stream("api/chat", toChatBody(request), request.model, call),
    version: (signal) => probe("api/version", versionReply, signal),
    tags: (signal) => probe("api/tags", tagsReply, signal),
    ps: (signal) => probe("api/ps", psReply, signal),
    close: hostFetch.close,
  };
}

/** The failure of a call that was cancelled, or ran out of time. */
function fromEndReason(
  reason: EndReason,
  { idleMs, totalMs }: { readonly idleMs: number; readonly totalMs: number },
  at: string,
): OllamaFailure {
  switch (reason) {
    case "cancelled":
      return cancelled;
    case "first_byte":
      return ollamaFailure(
        "timeout_first_byte",
        `Ollama at ${at} did not begin to answer within ${Math.round(totalMs) / 1000} s; it may still be loading the ` +
          "model: try again, or use a smaller one.",
      );
    case "idle":
      return ollamaFailure(
        "timeout_idle",
        `Ollama at ${at} stopped in the middle of its answer for ${idleMs / 1000} s; try again.`,
      );
    case "total":
      return ollamaFailure(
        "timeout_total",
        "The call took longer than it may and was stopped; ask for less, or lower max_tokens.",
      );
  }
}

/** The failure of a probe that was not answered in time. */
function probeTimeout(host: OllamaHost, probeMs: number): OllamaFailure {
  return ollamaFailure(
    "timeout_first_byte",
    `Ollama at ${host.origin} did not answer within ${probeMs / 1000} s; check that it runs and is not overloaded.`,
  );
}

/** The failure of an answer that Ollama does not give. */
function notOllama(host: OllamaHost): OllamaFailure {
  return ollamaFailure("not_ollama", `What answers at ${host.origin} is not Ollama's API; correct OLLAMA_HOST.`);
}

/** The failure of an answer without a body. */
function emptyAnswer(host: OllamaHost): OllamaFailure {
  return ollamaFailure("bad_upstream", `Ollama at ${host.origin} sent an empty answer; try again.`);
}

// Requests as Ollama's JSON, and its short replies. Go leaves out what is zero, and writes "" or null for what is not
// there.

const count = z.lazy(() => z.number().nonnegative().nullish());

/** The body of `POST /api/generate`. */
function toGenerateBody(request: GenerateRequest): Record<string, unknown> {
  return {
    model: request.model,
    prompt: request.prompt,
    system: request.system,
    images: request.images,
    ...commonFields(request),
  };
}

/** The body of `POST /api/chat`. */
function toChatBody(request: ChatRequest): Record<string, unknown> {
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
const versionReply = z.lazy(() => z.object({ version: z.string().max(100) }).transform((it) => it.version));

/** `GET /api/tags`. */
const tagsReply = z.lazy(() =>
  z.object({
    models: z.array(z.object({
      name: z.string(),
      size: count,
      capabilities: z.array(z.string()).nullish(),
      details: z.object({
        family: z.string().nullish(),
        parameter_size: z.string().nullish(),
        quantization_level: z.string().nullish(),
      }).nullish(),
    })).nullable(),
  }).transform(({ models }): readonly InstalledModel[] =>
    (models ?? []).map((it) => ({
      name: it.name,
      ...present({
        sizeBytes: it.size,
        family: it.details?.family || undefined,
        parameterSize: it.details?.parameter_size || undefined,
        quantization: it.details?.quantization_level || undefined,
        capabilities: it.capabilities,
      }),
    }))
  )
);

/** `GET /api/ps`. */
const psReply = z.lazy(() =>
  z.object({
    models: z.array(z.object({ name: z.string() })).nullable(),
  }).transform(({ models }): readonly LoadedModel[] => models ?? [])
);
