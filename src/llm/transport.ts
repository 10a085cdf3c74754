/** Requests to one engine: streams of events, probes, an end to every call, and each failure as a value. */
import type { OllamaHost } from "./mod_settings.ts";
import { isObject, parseJson, present } from "../lib/json.ts";
import { readLines } from "../lib/lines.ts";
import { readBounded } from "../lib/request_text.ts";
import { failure, type Result, success } from "../lib/result.ts";
import { atMost } from "../lib/time.ts";
import {
  cancelled,
  type ModelCall,
  type ModelCompletion,
  type ModelEvent,
  modelFailed,
  type OllamaFailure,
  ollamaFailure,
  type OllamaLimits,
  ollamaLimits,
} from "./port.ts";

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

// What can go wrong between this server and a local model, in sentences that say what to do.

type PromptLength = NonNullable<OllamaFailure["tooLong"]>;

/** The engine at its address, at the beginning of a sentence. */
function engineName({ origin, engine }: OllamaHost): string {
  return `${engine} at ${origin}`;
}

function brokenOff(host: OllamaHost): OllamaFailure {
  return ollamaFailure("truncated", `${engineName(host)} broke off in the middle of its answer; try again.`);
}

/** The failure of an answer that the engine does not give. */
function notTheEngine({ origin, api, hostSetting }: OllamaHost, status?: number): OllamaFailure {
  const told = status === undefined ? "" : ` (status ${status})`;
  return ollamaFailure("not_ollama", `What answers at ${origin} is not ${api}${told}; correct ${hostSetting}.`);
}

const maxQuotedCharacters = 300;

/**
 * Free text of an upstream made fit to be shown: one line, no control characters, no credentials in URLs, no absolute
 * paths, and not long.
 */
export function quoteUpstream(text: string): string {
  const clean = text
    .slice(0, maxQuotedCharacters * 4)
    .replace(/[\p{Cc}\u2028\u2029]+/gu, " ")
    .replace(/\b([a-z][a-z0-9+.-]*:\/\/)[^\s/@"']*@/gi, "$1")
    .replace(/\b(bearer|basic)\s+[\w.~+/=-]+/gi, "$1 …")
    .replace(/([?&][\w-]*(?:key|token|secret|password)[\w-]*=)[^\s&"']+/gi, "$1…")
    .replace(/\bfile:\/\/[^\s"']*/gi, "…")
    .replace(/(^|[\s"'`(=[,:])(?:[a-z]:)?(?:[\\/][^\s"'`:,()\]\\/]+){2,}/gi, "$1…")
    .replace(/\b[a-z]:\\[^\s"']*/gi, "…")
    .trim();
  return clean.length > maxQuotedCharacters ? `${clean.slice(0, maxQuotedCharacters)}…` : clean;
}

// What an exception of Deno's fetch means. It has no code, only the words of the layers below in `cause.message`.

/** What an exception's words mean. */
type NetworkFault = readonly [
  words: RegExp,
  code: OllamaFailure["code"],
  message: string,
  more?: Pick<OllamaFailure, "mayRetry" | "isAway">,
];
const notRunning = "{engine} is not running at {at}; {start}.";

/** The first that fits counts. */
const networkFaults: readonly NetworkFault[] = [
  [
    /^NotCapable/,
    "ollama_unreachable",
    "This server is not permitted to connect to {at}; restart it so that its permissions match {setting}.",
  ],
  [/dns error|failed to lookup|no such host/i, "host_not_found", "The host of {at} has no address; correct {setting}."],
  [/certificate/i, "ollama_unreachable", "The TLS certificate of {at} is not trusted; correct {setting}."],
  [
    /corrupt message|InvalidContentType|tls|handshake/i,
    "not_ollama",
    "{at} does not speak TLS; write {setting} with http:// instead of https://.",
  ],
  [/connection refused/i, "ollama_unreachable", notRunning, { mayRetry: true, isAway: true }],
  [/client error \(Connect\)|are blocked/i, "ollama_unreachable", notRunning, { isAway: true }],
  [
    /invalid HTTP|parsed|message head|invalid.*(header|status|chunk)/i,
    "not_ollama",
    "What answers at {at} does not speak HTTP; correct {setting}.",
  ],
];
const closed: NetworkFault = [
  /^/,
  "bad_upstream",
  "{engine} at {at} closed the connection before it answered; see that it still runs, then try again.",
];

/** The failure behind an exception of `fetch`, before the answer. */
function fromNetworkError(error: unknown, host: OllamaHost): OllamaFailure {
  const { origin: at, hostSetting: setting, engine, isOllama } = host;
  const start = isOllama ? "start it with `ollama serve` or set OLLAMA_HOST" : "start it, or correct LLM_BASE_URL";
  const cause = error instanceof Error && error.cause instanceof Error ? `: ${error.cause.message}` : "";
  const [, code, message, more] = networkFaults.find(([words]) => words.test(`${error}${cause}`)) ?? closed;
  return { code, message: filled(message, { at, setting, engine, start }), ...more };
}

/** A message with values in place of `{names}`. */
function filled(message: string, values: Readonly<Record<string, string>>): string {
  return message.replace(/\{(\w+)\}/g, (whole, name: string) => values[name] ?? whole);
}

const maxUnwrappedBytes = 65_536;

/** The error of a reply: its text, and the numbers in or beside it when a prompt is too long. */
interface UpstreamError extends PromptLength {
  readonly text: string;
}

/**
 * Reads what an engine calls an error: a text, a runner's JSON within a text, or an object with a text or with another
 * such value: Ollama's and OpenAI's `error`, vLLM's `message`, FastAPI's `detail`. `null` for anything else.
 */
function readUpstreamError(value: unknown): UpstreamError | null {
  if (typeof value === "string") {
    const isJson = Buffer.byteLength(value) <= maxUnwrappedBytes && value.trimStart().startsWith("{");
    return (isJson ? readUpstreamError(parseJson(value)) : null) ?? { text: value, ...lengthsIn(value) };
  }
  if (!isObject(value)) return null;
  const { message, n_prompt_tokens: promptTokens, n_ctx: contextTokens, error, detail } = value;
  if (typeof message !== "string") {
    return readUpstreamError(error ?? detail) ?? (detail === undefined ? null : { text: JSON.stringify(detail) });
  }
  const known = typeof promptTokens === "number" && typeof contextTokens === "number";
  return { text: message, ...(known ? { promptTokens, contextTokens } : lengthsIn(message)) };
}

/** How engines tell the length of a prompt, and of their context, within the text. */
const lengthWords = [
  /\((\d+) (?:tokens\) exceeds|in the messages)/, // llama.cpp, vLLM
  /(?:resulted in|requested|request has|prompt contains|passed)(?: at least| about)? (\d+) (?:input )?(?:tokens|characters)/,
  /keep the first (\d+) tokens/, // LM Studio
];
const contextWords = /(?:context size \(|maximum context length is |context length of only |context length \()(\d+)/;

function lengthsIn(text: string): PromptLength {
  const promptTokens = Number(lengthWords.map((each) => each.exec(text)?.[1]).find((each) => each !== undefined));
  const contextTokens = Number(contextWords.exec(text)?.[1]);
  return { ...(promptTokens && { promptTokens }), ...(contextTokens && { contextTokens }) };
}

const otherModel = "llm_models lists what each model can do";

/** Errors that are about the request, in words for its caller. */
const refusals: readonly (readonly [words: RegExp, message: string])[] = [
  [
    /does not support thinking|reasoning_effort|chat_template_kwargs/i,
    `{model} does not support thinking: leave out options.think, or use another model (${otherModel}).`,
  ],
  [
    /does not support (generate|chat|completion)|not support (the )?chat completions|embedding model/i,
    `{model} does not write text: use another model (${otherModel}).`,
  ],
  [
    /image input is not supported|does not support (vision|image|multimodal)|not a multimodal model|required for image input|0 image\(s\)/i,
    `Image input is not supported by {model}: leave out image files, or use another model (${otherModel}).`,
  ],
];
/** How engines say that they lack a model, with 400, 404 or 500. */
const missingModel =
  /model\b.{0,200}?\b(not found|does not exist)|could not find .*model|invalid model identifier|no models? (is )?loaded|no router for requested model/i;
const tooLongWords =
  /exceeds? (the )?(available |maximum )?context|longer than the context length|maximum context length|context size has been exceeded|context the overflows|max_tokens must be at least 1, got -/i;

/** What an error says of the request, whatever its status; `null` where it says nothing of it. */
function refusedRequest(error: UpstreamError, host: OllamaHost, model = "the model"): OllamaFailure | null {
  const { text } = error;
  if (missingModel.test(text.slice(0, maxQuotedCharacters * 4))) return notInstalled(host, model);
  const message = refusals.find(([words]) => words.test(text))?.[1];
  if (message !== undefined) return ollamaFailure("invalid_request", filled(message, { model }));
  if (/response_format|json.?schema|grammar/i.test(text) && !host.isOllama) {
    const why = `The model server cannot hold an answer to this json_schema (${quoteUpstream(text)})`;
    const words = `${why}: leave out json_schema and describe the format in the prompt.`;
    return ollamaFailure("invalid_request", words);
  }
  return tooLongWords.test(text) ? promptTooLong(error, host, model) : null;
}

/** Of the context, what a prompt may take so that an answer fits beside it. */
const promptShare = 0.75;

/** Of a prompt that is too long, the part that fits; 1 where that is not known. */
export function fittingShare({ promptTokens = 0, contextTokens = 0 }: PromptLength): number {
  return promptTokens === 0 || contextTokens === 0 ? 1 : Math.min(1, promptShare * contextTokens / promptTokens);
}

/**
 * The refusal of a prompt that the context has no room for, by the engine or before it is asked. `example`: lines of a
 * file that fit.
 */
export function promptTooLong(
  { promptTokens, contextTokens }: PromptLength,
  { isOllama }: Pick<OllamaHost, "isOllama">,
  model: string,
  { example = "a.log:1-200", isEstimate = false }: {
    readonly example?: string | undefined;
    readonly isEstimate?: boolean;
  } = {},
): OllamaFailure {
  const lengths = present({ promptTokens, contextTokens });
  const what = promptTokens === undefined || contextTokens === undefined
    ? `The prompt is longer than the context of ${model}`
    : `The prompt has ${isEstimate ? "at least " : ""}${promptTokens} tokens, with instructions and earlier ` +
      `messages, and the context of ${model} has room for ${contextTokens}, the answer included`;
  const share = fittingShare(lengths);
  const part = share < 1 ? ` to some ${Math.max(1, Math.floor(100 * share))} % of it` : "";
  const message =
    `${what}: shorten it${part} (of files name lines, such as ${example}), or split it over several calls. ` +
    largerContext(isOllama, model);
  return { ...ollamaFailure("invalid_request", message), tooLong: lengths };
}

/** What the operator can do about a context that is too small. */
export function largerContext(isOllama: boolean, model: string): string {
  const how = isOllama
    ? `with ${model}@TOKENS in LLM_MODELS, or OLLAMA_CONTEXT_LENGTH on Ollama's side`
    : "in the model server's settings";
  return `Only the operator can make the context larger, ${how}.`;
}

interface FailedCall {
  readonly host: OllamaHost;
  readonly model?: string | undefined;
  readonly apiKeySent: boolean;
}

/** The failure behind a status and the beginning of its body. */
export function fromStatus(status: number, body: string, { host, model, apiKeySent }: FailedCall): OllamaFailure {
  const { origin: at, isOllama, hostSetting } = host;
  const error = readUpstreamError(parseJson(body));
  const text = error?.text ?? "";
  const said = text === "" ? "" : `: ${quoteUpstream(text)}`;
  const isStranger = error === null; // another program, or a proxy that cannot reach the engine
  if (status >= 300 && status < 400) {
    return ollamaFailure("not_ollama", `${at} redirects elsewhere; set ${hostSetting} to the address that answers.`);
  }
  if (status === 401 || (status === 403 && !isStranger)) return authRequired(text, { host, model, apiKeySent });
  if (status === 403) {
    const words = `${engineName(host)} refuses requests under this host name; use its IP address or ` +
      `localhost in ${hostSetting}${isOllama ? ", or allow the name with OLLAMA_ORIGINS on its side" : ""}.`;
    return ollamaFailure("forbidden_host", words);
  }
  const refused = refusedRequest(error ?? { text: body }, host, model);
  if (refused !== null) return refused;
  if (isStranger && [502, 503, 504].includes(status)) {
    const words = `The proxy at ${at} cannot reach the engine (status ${status}); see that it runs behind it.`;
    return ollamaFailure("ollama_unreachable", words, status === 503);
  }
  if (status === 429 || status === 503) {
    const isLoading = /loading|starting|swapping/i.test(text);
    const words = `${isLoading ? "was still loading the model" : "is busy"}; try again in a little while.`;
    return ollamaFailure("busy", `${engineName(host)} ${words}`, isLoading ? "loading" : true);
  }
  const isGone = /\b(?:crashed|unloaded)\b/i.test(text);
  const isInvalid = /^option "|invalid format|invalid duration|cannot unmarshal/i.test(text);
  if (isInvalid || (!isGone && [400, 413, 422].includes(status))) {
    const why = said || " and did not say why: leave out options, json_schema and images.";
    const tooLarge = ` as too large${said}: shorten the prompt, or leave out images.`;
    return ollamaFailure("invalid_request", `${host.engine} refused the request${status === 413 ? tooLarge : why}`);
  }
  if (isGone || (status === 500 && !isStranger)) {
    const words = "Try again, or use a smaller model; the operator finds more in its log.";
    return ollamaFailure("model_failed", `The model failed${said}. ${words}`, /\bunloaded\b/i.test(text));
  }
  return isStranger && status < 500
    ? notTheEngine(host, status)
    : ollamaFailure("bad_upstream", `${engineName(host)} answered with status ${status}${said}. See its log.`);
}

/** The failure behind an error within a stream that had begun with status 200. */
function fromErrorLine(line: unknown, host: OllamaHost, model?: string): OllamaFailure {
  const error = readUpstreamError(line) ?? { text: JSON.stringify(line) };
  const words = "Try again, or use another model; the operator finds more in its log.";
  return refusedRequest(error, host, model) ??
    ollamaFailure("model_failed", `The model at ${host.origin} failed: ${quoteUpstream(error.text)}. ${words}`);
}

/** The failure for a model that a host lacks. */
function notInstalled({ isOllama, origin }: OllamaHost, model: string): OllamaFailure {
  return ollamaFailure(
    "model_not_installed",
    isOllama
      ? `The model ${model} is not installed; run \`ollama pull ${model}\` on the machine that runs Ollama.`
      : `The model server at ${origin} has no model ${model}: use another model (${otherModel}), or let the operator load it.`,
  );
}

function authRequired(text: string, { host, model = "This model", apiKeySent }: FailedCall): OllamaFailure {
  if (/cloud is disabled/i.test(text)) {
    const words = "use a local model. Only the operator can switch it on, with OLLAMA_NO_CLOUD=0 on Ollama's side.";
    return ollamaFailure("auth_required", `${model} runs in Ollama's cloud, which is switched off: ${words}`);
  }
  const why = text === "" ? "" : ` (${quoteUpstream(text)})`;
  const signIn = host.isOllama ? ", or run `ollama signin` on the machine that runs Ollama" : "";
  const how = apiKeySent
    ? "check LLM_API_KEY"
    : `set LLM_API_KEY, which is sent over https or to this machine only${signIn}`;
  const message =
    `${host.origin} did not accept this server${why}: use another model. Only the operator can change this`;
  return ollamaFailure("auth_required", `${message}: ${how}.`);
}
