/** One Ollama server over HTTP: generation as a stream of events, probes, and an end to every call. */
import type * as z from "zod";
import type { Clock } from "../lib/clock.ts";
import { parseJson } from "../lib/json.ts";
import { failure, type Result, success } from "../lib/result.ts";
import { readAnswer } from "./answer_stream.ts";
import { readText, readUntil } from "./body.ts";
import { emptyAnswer, fromEndReason, notOllama, probeTimeout, wrongEmbeddings } from "./call_failure.ts";
import { type ModelCallWatch, watchCall } from "./call_watch.ts";
import { createHostFetch, type OllamaFetch } from "./direct_fetch.ts";
import type { OllamaFailure } from "./failure.ts";
import type { OllamaHost } from "./host.ts";
import { type OllamaLimits, ollamaLimits } from "./limits.ts";
import { fromNetworkError } from "./network_error.ts";
import type { ChatRequest, EmbedRequest, GenerateRequest, InstalledModel, LoadedModel, ModelCall, ModelEmbeddings, ModelEvent, ModelFailed } from "./port.ts";
import { fromStatus } from "./status_error.ts";
import { embedReply, psReply, tagsReply, toChatBody, toEmbedBody, toGenerateBody, versionReply } from "./wire.ts";

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
  embed(request: EmbedRequest, call: ModelCall): AsyncGenerator<ModelEmbeddings | ModelFailed, void>;
  version(signal: AbortSignal): Promise<Result<string, OllamaFailure>>;
  tags(signal: AbortSignal): Promise<Result<readonly InstalledModel[], OllamaFailure>>;
  ps(signal: AbortSignal): Promise<Result<readonly LoadedModel[], OllamaFailure>>;
  /** Ends idle connections. */
  close(): void;
}

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
      if (!sent.ok) return yield { type: "failed", failure: sent.error };
      if (sent.value.body === null) return yield { type: "failed", failure: emptyAnswer(host) };
      reader = readUntil(sent.value.body, watched.signal);
      yield* readAnswer(reader, { host, watch: watched, limits });
    } catch (error) {
      yield { type: "failed", failure: explain(error, watched, call, reader !== undefined) };
    } finally {
      watched.dispose();
    }
  }

  async function* embed(
    request: EmbedRequest,
    call: ModelCall,
  ): AsyncGenerator<ModelEmbeddings | ModelFailed, void> {
    const watched = watch(call);
    try {
      const sent = await send("api/embed", toEmbedBody(request), watched, request.model);
      if (!sent.ok) return yield { type: "failed", failure: sent.error };
      const reply = await watched.piece(readReply(sent.value, embedReply, watched));
      yield reply?.vectors.length === request.texts.length ? reply : { type: "failed", failure: wrongEmbeddings(host) };
    } catch (error) {
      yield { type: "failed", failure: explain(error, watched, call, false) };
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
    embed,
    version: (signal) => probe("api/version", versionReply, signal),
    tags: (signal) => probe("api/tags", tagsReply, signal),
    ps: (signal) => probe("api/ps", psReply, signal),
    close: hostFetch.close,
  };
}
