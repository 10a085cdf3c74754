/** One Ollama server over HTTP: generation as a stream of events, probes, and an end to every call. */
import type { z } from "zod";
import type { Clock } from "../lib/time/clock.ts";
import { parseJson } from "../lib/parse_json.ts";
import { failure, type Result, success } from "../lib/result.ts";
import { readAnswer } from "./answer_stream.ts";
import { readBounded, readUntil } from "./bounded_body.ts";
import { emptyAnswer, fromDeadline, notOllama, probeTimeout, wrongEmbeddings } from "./call_failure.ts";
import { type Deadline, startDeadline } from "./deadline.ts";
import { createHostFetch, type Fetch } from "../ollama/direct_fetch.ts";
import type { OllamaFailure } from "./failure.ts";
import type { OllamaHost } from "./host.ts";
import type { OllamaLimits } from "./limits.ts";
import { fromNetworkError } from "./network_error.ts";
import type {
  ChatRequest,
  EmbedRequest,
  GenerateRequest,
  InstalledModel,
  LoadedModel,
  ModelCall,
  ModelEmbeddings,
  ModelEvent,
  ModelFailed,
} from "./port.ts";
import { fromStatus } from "./status_error.ts";
import { embedReply, psReply, tagsReply, toChatBody, toEmbedBody, toGenerateBody, versionReply } from "./wire.ts";

interface OllamaClientOptions {
  readonly host: OllamaHost;
  /** For hosted Ollama. It is sent over https and to loopback, never in the clear to another machine. */
  readonly apiKey?: string;
  readonly fetch: Fetch;
  /** Go to loopback hosts past the environment's proxy; see `environmentHasProxy`. */
  readonly avoidProxy?: boolean;
  /** Only differences are used; `performance.now` serves best. */
  readonly clock: Clock;
  readonly limits: OllamaLimits;
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
  const { host, apiKey, clock, limits } = options;
  const hostFetch = createHostFetch(host, options.fetch, options.avoidProxy ?? false);
  const apiKeySent = apiKey !== undefined && (host.protocol === "https" || host.isLoopback);
  const authorization = apiKeySent ? `Bearer ${apiKey}` : host.basicAuthorization;
  const headers: Record<string, string> = authorization === undefined ? {} : { authorization };

  /** Sends, and turns every answer but a good one into a failure. A redirect would post the prompt elsewhere. */
  const send = async (
    path: string,
    body: unknown,
    deadline: Deadline,
    model?: string,
  ): Promise<Result<Response, OllamaFailure>> => {
    const response = await hostFetch.fetch(`${host.baseUrl}${path}`, {
      redirect: "manual",
      signal: deadline.signal,
      ...(body === undefined
        ? { headers }
        : { method: "POST", headers: { ...headers, "content-type": "application/json" }, body: JSON.stringify(body) }),
    });
    if (response.status !== 200) {
      const { text } = await readBounded(response, { maxBytes: limits.maxErrorBytes, signal: deadline.signal });
      return failure(
        fromStatus(response.status, text, { host, apiKeySent, ...(model === undefined ? {} : { model }) }),
      );
    }
    const type = response.headers.get("content-type") ?? "";
    if (/^application\/(x-ndjson|json)\b/i.test(type)) return success(response);
    await response.body?.cancel();
    return failure(notOllama(host));
  };

  const reply = ({ signal }: Deadline): { readonly maxBytes: number; readonly signal: AbortSignal } => ({
    maxBytes: limits.maxReplyBytes,
    signal,
  });

  const explain = (error: unknown, deadline: Deadline, midBody: boolean): OllamaFailure =>
    deadline.reason === undefined
      ? fromNetworkError(error, host, midBody)
      : fromDeadline(deadline.reason, limits, host.origin);

  const deadlineOf = (call: ModelCall): Deadline =>
    startDeadline({
      clock,
      caller: call.signal,
      firstByteMilliseconds: limits.firstByteSeconds * 1000,
      idleMilliseconds: limits.idleSeconds * 1000,
      totalMilliseconds: call.totalMilliseconds ?? limits.totalSeconds * 1000,
    });

  async function* stream(
    path: string,
    body: unknown,
    model: string,
    call: ModelCall,
  ): AsyncGenerator<ModelEvent, void> {
    const deadline = deadlineOf(call);
    let reader: ReadableStreamDefaultReader<Uint8Array> | undefined;
    try {
      const sent = await send(path, body, deadline, model);
      if (!sent.ok) return yield { type: "failed", failure: sent.error };
      if (sent.value.body === null) return yield { type: "failed", failure: emptyAnswer(host) };
      reader = readUntil(sent.value.body, deadline.signal);
      yield* readAnswer(reader, { host, deadline, limits });
    } catch (error) {
      yield { type: "failed", failure: explain(error, deadline, reader !== undefined) };
    } finally {
      deadline.dispose();
    }
  }

  async function* embed(
    request: EmbedRequest,
    call: ModelCall,
  ): AsyncGenerator<ModelEmbeddings | ModelFailed, void> {
    const deadline = deadlineOf(call);
    try {
      const sent = await send("api/embed", toEmbedBody(request), deadline, request.model);
      if (!sent.ok) return yield { type: "failed", failure: sent.error };
      const { text, whole } = await deadline.piece(readBounded(sent.value, reply(deadline)));
      const parsed = whole ? embedReply.safeParse(parseJson(text)) : undefined;
      yield parsed?.success && parsed.data.vectors.length === request.texts.length
        ? parsed.data
        : { type: "failed", failure: wrongEmbeddings(host) };
    } catch (error) {
      yield { type: "failed", failure: explain(error, deadline, false) };
    } finally {
      deadline.dispose();
    }
  }

  const probe = async <T>(
    path: string,
    schema: z.ZodType<T>,
    signal: AbortSignal,
  ): Promise<Result<T, OllamaFailure>> => {
    const milliseconds = limits.probeSeconds * 1000;
    const deadline = startDeadline({
      clock,
      caller: signal,
      firstByteMilliseconds: milliseconds,
      idleMilliseconds: milliseconds,
      totalMilliseconds: milliseconds,
    });
    try {
      const sent = await send(path, undefined, deadline);
      if (!sent.ok) return sent;
      const { text, whole } = await readBounded(sent.value, reply(deadline));
      const parsed = whole ? schema.safeParse(parseJson(text)) : undefined;
      return parsed?.success ? success(parsed.data) : failure(notOllama(host));
    } catch (error) {
      return failure(
        deadline.reason === undefined || deadline.reason === "cancelled"
          ? explain(error, deadline, false)
          : probeTimeout(host, limits),
      );
    } finally {
      deadline.dispose();
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
