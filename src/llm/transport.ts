/** Requests to one engine: streams of events, probes, an end to every call, and each failure as a value. */
import type { OllamaHost } from "./mod_settings.ts";
import { parseJson } from "../lib/json.ts";
import { readLines } from "../lib/lines.ts";
import { readBounded } from "../lib/request_text.ts";
import { failure, type Result, success } from "../lib/result.ts";
import { atMost } from "../lib/time.ts";
import {
  brokenOff,
  cancelled,
  engineName,
  fromErrorLine,
  fromNetworkError,
  fromStatus,
  notTheEngine,
  type OllamaFailure,
  ollamaFailure,
} from "./failure.ts";
import { modelFailed, ollamaLimits } from "./port.ts";
import type { ModelCall, ModelCompletion, ModelEvent, OllamaLimits } from "./port.ts";

/**
 * One abort signal for a call: it fires when the caller cancels, when the stream stalls, or when the whole takes too
 * long; `failure` says which.
 */
export function watchCall(host: OllamaHost, { signal: caller, totalMs }: ModelCall, idleMs: number) {
  const over = new AbortController();
  const signal = AbortSignal.any([caller, over.signal]);
  let begun = false;
  let late: OllamaFailure | undefined;
  const end = (failure: OllamaFailure): void => {
    late ??= failure;
    over.abort();
  };
  const notBegun = ollamaFailure(
    "timeout_first_byte",
    `${engineName(host)} did not begin to answer within ${Math.round(totalMs) / 1000} s; it may still be loading the ` +
      "model: try again, or use a smaller one.",
  );
  const stalled = ollamaFailure(
    "timeout_idle",
    `${engineName(host)} stopped in the middle of its answer for ${idleMs / 1000} s; try again.`,
  );
  const totalTimer = setTimeout(() => end(begun ? tookTooLong : notBegun), totalMs);
  return {
    signal,
    /** Why the signal fired; undefined while it has not. */
    get failure() {
      return late ?? (caller.aborted ? cancelled : undefined);
    },
    /** Waits for the next piece of the answer: only then can the stream be idle. Throws once the signal has fired. */
    async wait<T>(read: Promise<T>): Promise<T> {
      const idleTimer = begun ? setTimeout(() => end(stalled), idleMs) : undefined;
      try {
        const piece = await read;
        signal.throwIfAborted();
        return piece;
      } finally {
        clearTimeout(idleTimer);
      }
    },
    /** The answer has begun: keep-alives of an engine that loads, or reads a long prompt, are no beginning. */
    begin() {
      begun = true;
    },
    /** Ends the timer and, unless the answer was read to its end, the connection. */
    dispose() {
      clearTimeout(totalTimer);
      over.abort();
    },
  };
}

/** The timers around one call. */
type ModelCallWatch = ReturnType<typeof watchCall>;

const tookTooLong = ollamaFailure(
  "timeout_total",
  "The call took longer than it may and was stopped; ask for less, or lower max_tokens.",
);

/** What a line of an answer says. */
export interface StreamPart {
  readonly error?: unknown;
  readonly text?: string;
  readonly thinking?: string;
  /** Of the whole answer; engines tell it in pieces. */
  readonly facts?: Omit<ModelCompletion, "type">;
  /** Nothing of the answer follows. */
  readonly isLast?: boolean;
}

/** Reads a line by the rules of an API; `null` when it is not of the API. */
type LineParser = (line: string) => StreamPart | null;

/** The call that an answer belongs to. */
interface AnswerOptions {
  readonly model: string;
  readonly parse: LineParser;
  readonly host: OllamaHost;
  readonly watch: ModelCallWatch;
  readonly limits: OllamaLimits;
}

/** How long the connection may take to become free for the next call, once the final line has arrived. */
const lingerMs = 50;

/** Yields the events of a body. Throws only the network's errors and the abort of `watch`. */
export async function* readAnswer(
  body: ReadableStream<Uint8Array>,
  { host, watch, limits, parse, model }: AnswerOptions,
): AsyncGenerator<ModelEvent, void> {
  const lines = readLines(body, { maxLineBytes: limits.maxLineBytes, stop: watch.signal, wait: watch.wait });
  let completion: ModelCompletion = { type: "done" };
  let outputBytes = 0;
  for (;;) {
    const { done, value: line } = await lines.next();
    if (done) return yield completion.doneReason === undefined ? modelFailed(brokenOff(host)) : completion;
    const part = line.ok ? parse(line.text) : null;
    if (part === null) {
      const what = line.ok ? "a line that is not its protocol" : faultWords[line.refusal];
      const words = `${engineName(host)} sent ${what}; try again, or use another model.`;
      return yield modelFailed(ollamaFailure("bad_upstream", words));
    }
    const { error, text = "", thinking = "", facts, isLast } = part;
    if (error !== undefined) return yield modelFailed(fromErrorLine(error, host, model));
    if (text !== "" || thinking !== "") {
      watch.begin();
      outputBytes += Buffer.byteLength(text) + Buffer.byteLength(thinking);
      if (outputBytes > limits.maxOutputBytes) {
        const words =
          `The answer exceeded ${limits.maxOutputBytes} bytes and was stopped; ask for less, or lower max_tokens.`;
        return yield modelFailed(ollamaFailure("output_too_large", words));
      }
      yield { type: "delta", text, thinking };
    }
    completion = { ...completion, ...facts };
    if (isLast) break;
  }
  // What follows is ignored, however it ends; read, so that the connection serves the next call.
  await atMost(lingerMs, Array.fromAsync(lines).catch(() => {}), undefined);
  yield completion;
}

const faultWords = { too_long: "a line over the limit", not_utf8: "text that is not UTF-8" } as const;

/** What a client of an engine is made from. */
export interface ModelClientOptions {
  readonly host: OllamaHost;
  /** It is sent over https and to loopback, never in the clear to another machine. */
  readonly apiKey?: string | undefined;
  readonly fetch: typeof globalThis.fetch;
  /** Go to loopback hosts past the environment's proxy; see `environmentHasProxy`. */
  readonly avoidProxy?: boolean;
  readonly limits?: OllamaLimits;
}

/**
 * Connections of their own, where the platform has them and they are needed. Deno's fetch obeys HTTP_PROXY for loopback
 * addresses too, which would hand local prompts to the proxy; a client whose "proxy" is a plain TCP connection to the
 * host itself goes there directly. Requests then carry the whole URL as their target (RFC 9112 §3.2.2), which some
 * servers misread: so only where a proxy is set. What is asked now and then (`keepsNone`) leaves no idle connection.
 */
function httpClient({ hostname, port }: OllamaHost, isDirect: boolean, keepsNone: boolean) {
  if (typeof Deno.createHttpClient !== "function" || !(isDirect || keepsNone)) return undefined;
  return Deno.createHttpClient({
    ...(isDirect && { proxy: { transport: "tcp", hostname, port } }),
    ...(keepsNone && { poolMaxIdlePerHost: 0 }),
  });
}

/** Makes the requests of one client; it connects at the first. None of them rejects. */
export function createTransport({ host, apiKey, fetch, avoidProxy, limits = ollamaLimits }: ModelClientOptions) {
  const isDirect = avoidProxy === true && host.isLoopback;
  const posting = httpClient(host, isDirect, false);
  let probing: Deno.HttpClient | undefined;
  const apiKeySent = apiKey !== undefined && (host.protocol === "https" || host.isLoopback);
  const authorization = apiKeySent ? `Bearer ${apiKey}` : host.basicAuthorization;
  const headers: Record<string, string> = authorization === undefined ? {} : { authorization };

  /** The text of an answer; empty where it is longer. */
  const textOf = async (response: Response, maxBytes: number): Promise<string> =>
    new TextDecoder().decode(await readBounded(response, maxBytes) ?? new Uint8Array());

  /** Sends, and turns every answer but a good one into a failure. A redirect would post the prompt elsewhere. */
  const send = async (
    path: string,
    body: { readonly model: string } | undefined,
    watch: ModelCallWatch,
  ): Promise<Result<Response, OllamaFailure>> => {
    const client = body === undefined ? probing ??= httpClient(host, isDirect, true) : posting;
    const response = await fetch(`${host.baseUrl}${path}`, {
      redirect: "manual",
      signal: watch.signal,
      ...(client && { client }),
      ...(body === undefined
        ? { headers }
        : { method: "POST", headers: { ...headers, "content-type": "application/json" }, body: JSON.stringify(body) }),
    });
    if (response.status !== 200) {
      const text = await textOf(response, limits.maxErrorBytes);
      return failure(fromStatus(response.status, text, { host, apiKeySent, model: body?.model }));
    }
    const type = response.headers.get("content-type") ?? "";
    return /^(application\/(x-ndjson|json)|text\/event-stream)\b/i.test(type)
      ? success(response)
      : failure(notTheEngine(host));
  };

  /** Posts a request, and reads what is streamed by the rules of the engine's API. */
  async function* stream(
    path: string,
    body: { readonly model: string; readonly [member: string]: unknown },
    parse: LineParser,
    call: ModelCall,
  ): AsyncGenerator<ModelEvent, void> {
    const watch = watchCall(host, call, limits.idleMs);
    let hasBegun = false;
    try {
      const sent = await send(path, body, watch);
      if (!sent.ok) return yield modelFailed(sent.error);
      hasBegun = true;
      const answer = sent.value.body ?? ReadableStream.from<Uint8Array>([]);
      yield* readAnswer(answer, { host, watch, limits, parse, model: body.model });
    } catch (error) {
      yield modelFailed(watch.failure ?? (hasBegun ? brokenOff(host) : fromNetworkError(error, host)));
    } finally {
      watch.dispose();
    }
  }

  /** Asks for a short answer, and reads its JSON; what is not understood is from another program. */
  const probe = async <T>(
    path: string,
    read: (reply: unknown) => T | null,
    signal: AbortSignal,
  ): Promise<Result<T, OllamaFailure>> => {
    const watch = watchCall(host, { signal, totalMs: limits.probeMs }, limits.idleMs);
    try {
      const sent = await send(path, undefined, watch);
      if (!sent.ok) return sent;
      const reply = read(parseJson(await textOf(sent.value, limits.maxReplyBytes)));
      return reply === null ? failure(notTheEngine(host)) : success(reply);
    } catch (error) {
      return failure(watch.failure ?? fromNetworkError(error, host));
    } finally {
      watch.dispose();
    }
  };

  const close = (): void => {
    posting?.close();
    probing?.close();
  };
  return { stream, probe, close };
}
