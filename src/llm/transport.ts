/** Requests to one engine: streams of events, probes, an end to every call, and each failure as a value. */
import type { OllamaHost } from "./host.ts";
import { parseJson } from "../lib/json.ts";
import { failure, type Result, success } from "../lib/result.ts";
import { type AnswerParser, type EndReason, type ModelCallWatch, readAnswer, watchCall } from "./answer_stream.ts";
import { cancelled, engineName, fromNetworkError, fromStatus, type OllamaFailure, ollamaFailure } from "./failure.ts";
import { type ModelCall, type ModelEvent, modelFailed, type OllamaLimits, ollamaLimits } from "./port.ts";

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

/**
 * `fetch` itself, where the platform has no clients or none is needed; for loopback hosts, with `avoidProxy`, one that
 * knows no proxy. With `keepsNone`, one that leaves no idle connections, for what is asked now and then.
 */
function createHostFetch(host: OllamaHost, fetch: OllamaFetch, avoidProxy: boolean, keepsNone: boolean): HostFetch {
  const isDirect = avoidProxy && host.isLoopback;
  if (typeof Deno.createHttpClient !== "function" || !(isDirect || keepsNone)) return { fetch, close: () => {} };
  const { hostname, port } = host;
  const client = Deno.createHttpClient({
    ...(isDirect ? { proxy: { transport: "tcp", hostname, port } } : {}),
    ...(keepsNone ? { poolMaxIdlePerHost: 0 } : {}),
  });
  return { fetch: (input, init) => fetch(input, { ...init, client }), close: () => client.close() };
}

/** What a client of an engine is made from. */
export interface ModelClientOptions {
  readonly host: OllamaHost;
  /** It is sent over https and to loopback, never in the clear to another machine. */
  readonly apiKey?: string | undefined;
  readonly fetch: OllamaFetch;
  /** Go to loopback hosts past the environment's proxy; see `environmentHasProxy`. */
  readonly avoidProxy?: boolean;
  readonly limits?: OllamaLimits;
}

/** Makes the requests of one client; it connects at the first. None of them rejects. */
export function createTransport(options: ModelClientOptions) {
  const { host, apiKey, limits = ollamaLimits } = options;
  const { avoidProxy = false } = options;
  const posting = createHostFetch(host, options.fetch, avoidProxy, false);
  let probing: HostFetch | undefined;
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
    const { fetch } = body === undefined ? probing ??= createHostFetch(host, options.fetch, avoidProxy, true) : posting;
    const response = await fetch(`${host.baseUrl}${path}`, {
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
    if (/^(application\/(x-ndjson|json)|text\/event-stream)\b/i.test(type)) return success(response);
    await response.body?.cancel();
    return failure(notOllama(host));
  };

  const watch = ({ signal, totalMs }: ModelCall): ModelCallWatch =>
    watchCall({ caller: signal, idleMs: limits.idleMs, totalMs });

  const explain = (
    error: unknown,
    { reason }: ModelCallWatch,
    { totalMs }: ModelCall,
    midBody: boolean,
  ): OllamaFailure =>
    reason === undefined
      ? fromNetworkError(error, host, midBody)
      : fromEndReason(reason, { idleMs: limits.idleMs, totalMs }, host);

  /** Posts a request, and reads what is streamed by the rules of the engine's API. */
  async function* stream(
    path: string,
    body: { readonly model: string; readonly [member: string]: unknown },
    parser: AnswerParser,
    call: ModelCall,
  ): AsyncGenerator<ModelEvent, void> {
    const watched = watch(call);
    let reader: ReadableStreamDefaultReader<Uint8Array> | undefined;
    try {
      const sent = await send(path, body, watched, body.model);
      if (!sent.ok) return yield modelFailed(sent.error);
      if (sent.value.body === null) return yield modelFailed(emptyAnswer(host));
      reader = readUntil(sent.value.body, watched.signal);
      yield* readAnswer(reader, { host, watch: watched, limits, parser, model: body.model });
    } catch (error) {
      yield modelFailed(explain(error, watched, call, reader !== undefined));
    } finally {
      watched.dispose();
    }
  }

  /** Asks for a short answer, and reads its JSON; what is not understood is from another program. */
  const probe = async <T>(
    path: string,
    read: (reply: unknown) => T | null,
    signal: AbortSignal,
  ): Promise<Result<T, OllamaFailure>> => {
    const call = { signal, totalMs: limits.probeMs };
    const watched = watch(call);
    try {
      const sent = await send(path, undefined, watched);
      if (!sent.ok) return sent;
      const { text, whole } = await readText(sent.value, { maxBytes: limits.maxReplyBytes, signal: watched.signal });
      const reply = whole ? read(parseJson(text)) : null;
      return reply === null ? failure(notOllama(host)) : success(reply);
    } catch (error) {
      const isLate = watched.reason !== undefined && watched.reason !== "cancelled";
      return failure(isLate ? probeTimeout(host, limits.probeMs) : explain(error, watched, call, false));
    } finally {
      watched.dispose();
    }
  };

  const close = (): void => {
    posting.close();
    probing?.close();
  };
  return { stream, probe, close };
}

/** The failure of a call that was cancelled, or ran out of time. */
function fromEndReason(
  reason: EndReason,
  { idleMs, totalMs }: { readonly idleMs: number; readonly totalMs: number },
  host: OllamaHost,
): OllamaFailure {
  switch (reason) {
    case "cancelled":
      return cancelled;
    case "first_byte":
      return ollamaFailure(
        "timeout_first_byte",
        `${engineName(host)} did not begin to answer within ${
          Math.round(totalMs) / 1000
        } s; it may still be loading the ` +
          "model: try again, or use a smaller one.",
      );
    case "idle":
      return ollamaFailure(
        "timeout_idle",
        `${engineName(host)} stopped in the middle of its answer for ${idleMs / 1000} s; try again.`,
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
    `${engineName(host)} did not answer within ${probeMs / 1000} s; check that it runs and is not overloaded.`,
  );
}

/** The failure of an answer that Ollama does not give. */
function notOllama(host: OllamaHost): OllamaFailure {
  return ollamaFailure(
    "not_ollama",
    `What answers at ${host.origin} is not ${host.api}; correct ${host.hostSetting}.`,
  );
}

/** The failure of an answer without a body. */
function emptyAnswer(host: OllamaHost): OllamaFailure {
  return ollamaFailure("bad_upstream", `${engineName(host)} sent an empty answer; try again.`);
}
