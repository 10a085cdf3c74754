/** What can go wrong between this server and a local model, as codes for the log and sentences that say what to do. */
import { isObject, parseJson, present } from "../lib/json.ts";
import type { OllamaHost } from "./host.ts";

/** A stable reason; the audit log keeps it, the text beside it is for people. */
export type OllamaFailureCode =
  | "ollama_unreachable"
  | "host_not_found"
  | "model_not_installed"
  | "not_ollama"
  | "forbidden_host"
  | "busy"
  | "auth_required"
  | "model_failed"
  | "timeout_first_byte"
  | "timeout_idle"
  | "timeout_total"
  | "bad_upstream"
  | "truncated"
  | "output_too_large"
  | "invalid_request"
  | "cancelled";

/** Lengths in tokens; absent where an engine does not say them. */
interface PromptLength {
  readonly promptTokens?: number;
  readonly contextTokens?: number;
}

/** A call that did not succeed. */
export interface OllamaFailure {
  readonly code: OllamaFailureCode;
  /** What happened and what to do; without credentials, and without file paths of either machine. */
  readonly message: string;
  /** The same request may be sent again: nothing of it was processed. `loading`: for as long as the call may take. */
  readonly mayRetry?: boolean | "loading";
  /** A prompt that the context has no room for, with what is known of their lengths. */
  readonly tooLong?: PromptLength;
}

export function ollamaFailure(code: OllamaFailureCode, message: string): OllamaFailure {
  return { code, message };
}

export const cancelled: OllamaFailure = { code: "cancelled", message: "The call was cancelled." };

/** The engine at its address, at the beginning of a sentence. */
export function engineName({ origin, engine }: OllamaHost): string {
  return `${engine} at ${origin}`;
}

export function brokenOff(host: OllamaHost): OllamaFailure {
  return ollamaFailure("truncated", `${engineName(host)} broke off in the middle of its answer; try again.`);
}

/** A failure after which the same request may be sent again. */
function retryableFailure(code: OllamaFailureCode, message: string): OllamaFailure {
  return { code, message, mayRetry: true };
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

/** The failure behind an exception of `fetch` (before the answer) or of its body (`midBody`). */
export function fromNetworkError(error: unknown, host: OllamaHost, midBody: boolean): OllamaFailure {
  const words = wordsOf(error);
  const at = host.origin;
  const setting = host.hostSetting;
  if (midBody) {
    return /gzip|deflate|brotli|unexpected end of file|corrupt/i.test(words)
      ? ollamaFailure("bad_upstream", `${engineName(host)} sent an answer that could not be decoded; try again.`)
      : brokenOff(host);
  }
  if (error instanceof Error && error.name === "NotCapable") {
    return ollamaFailure(
      "ollama_unreachable",
      `This server is not permitted to connect to ${at}; restart it so that its permissions match ${setting}.`,
    );
  }
  if (/dns error|failed to lookup|no such host/i.test(words)) {
    return ollamaFailure("host_not_found", `The host of ${at} has no address; correct ${setting}.`);
  }
  if (/certificate/i.test(words)) {
    return ollamaFailure("ollama_unreachable", `The TLS certificate of ${at} is not trusted; correct ${setting}.`);
  }
  if (/corrupt message|InvalidContentType|tls|handshake/i.test(words)) {
    return ollamaFailure("not_ollama", `${at} does not speak TLS; write ${setting} with http:// instead of https://.`);
  }
  if (/connection refused/i.test(words)) return retryableFailure("ollama_unreachable", notRunning(host));
  if (/client error \(Connect\)|are blocked/i.test(words)) return ollamaFailure("ollama_unreachable", notRunning(host));
  if (/invalid HTTP|parsed|message head|invalid.*(header|status|chunk)/i.test(words)) {
    return ollamaFailure("not_ollama", `What answers at ${at} does not speak HTTP; correct ${setting}.`);
  }
  return ollamaFailure(
    "bad_upstream",
    `${engineName(host)} closed the connection before it answered; see that it still runs, then try again.`,
  );
}

function notRunning({ origin, isOllama }: OllamaHost): string {
  return isOllama
    ? `Ollama is not running at ${origin}; start it with \`ollama serve\` or set OLLAMA_HOST.`
    : `No model server is running at ${origin}; start it, or correct LLM_BASE_URL.`;
}

function wordsOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? `${error.message}: ${error.cause.message}` : error.message;
}

const maxUnwrappedBytes = 65_536;

/** The error of a reply: its text, and the numbers in or beside it when a prompt is too long. */
interface UpstreamError extends PromptLength {
  readonly text: string;
}

/** Reads the value of `error`: a text, an object, or a runner's JSON within a text. */
function readUpstreamError(error: unknown): UpstreamError {
  if (typeof error === "string") {
    const isJson = Buffer.byteLength(error) <= maxUnwrappedBytes && error.trimStart().startsWith("{");
    return (isJson ? fromObject(parseJson(error)) : null) ?? withNumbers({ text: error });
  }
  return fromObject(error) ?? { text: JSON.stringify(error) };
}

function fromObject(value: unknown): UpstreamError | null {
  if (!isObject(value)) return null;
  const { message, detail, error, n_prompt_tokens: promptTokens, n_ctx: contextTokens } = value;
  if (typeof message === "string") {
    return withNumbers({
      text: message,
      ...(typeof promptTokens === "number" ? { promptTokens } : {}),
      ...(typeof contextTokens === "number" ? { contextTokens } : {}),
    });
  }
  if (error !== undefined) return typeof error === "string" ? withNumbers({ text: error }) : fromObject(error);
  return detail === undefined ? null : { text: typeof detail === "string" ? detail : JSON.stringify(detail) };
}

/** How engines tell the length of a prompt, and of their context, within the text. */
const lengthWords = [
  /\((\d+) tokens\) exceeds/, // llama.cpp
  /\((\d+) in the messages/, // vLLM
  /(?:resulted in|requested|request has|prompt contains|passed)(?: at least| about)? (\d+) (?:input )?(?:tokens|characters)/,
  /keep the first (\d+) tokens/, // LM Studio
];
const contextWords = /(?:context size \(|maximum context length is |context length of only |context length \()(\d+)/;

function withNumbers(error: UpstreamError): UpstreamError {
  const numberIn = (pattern: RegExp): number | undefined => {
    const digits = pattern.exec(error.text)?.[1];
    return digits === undefined ? undefined : Number(digits);
  };
  const { promptTokens = lengthWords.map(numberIn).find((each) => each !== undefined) } = error;
  const { contextTokens = numberIn(contextWords) } = error;
  return { text: error.text, ...(promptTokens && { promptTokens }), ...(contextTokens && { contextTokens }) };
}

const otherModel = "llm_models lists what each model can do";

/** The failure behind an error that is about the request, in words for its caller; null for any other error. */
function refusedRequest(error: UpstreamError, { isOllama }: OllamaHost, model = "the model"): OllamaFailure | null {
  const { text } = error;
  const refuse = (message: string): OllamaFailure => ollamaFailure("invalid_request", message);
  if (/does not support thinking|reasoning_effort|chat_template_kwargs/i.test(text)) {
    return refuse(`${model} does not support thinking: leave out options.think, or use another model (${otherModel}).`);
  }
  if (/does not support (generate|chat|completion)|not support (the )?chat completions|embedding model/i.test(text)) {
    return refuse(`${model} does not write text: use another model (${otherModel}).`);
  }
  if (/image input is not supported|does not support (vision|image|multimodal)|not a multimodal model/i.test(text)) {
    return refuse(
      `Image input is not supported by ${model}: leave out image files, or use another model (${otherModel}).`,
    );
  }
  if (/response_format|json.?schema|grammar/i.test(text) && !isOllama) {
    return refuse(
      `The model server cannot hold an answer to this json_schema (${
        quoteUpstream(text)
      }): leave out json_schema and ` +
        "describe the JSON in the prompt.",
    );
  }
  return isTooLong(text) ? promptTooLong(error, { isOllama }, model) : null;
}

function isTooLong(text: string): boolean {
  return /exceeds? (the )?(available |maximum )?context|longer than the context length|maximum context length|context size has been exceeded|context the overflows|max_tokens must be at least 1, got -/i
    .test(text);
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
  const what = promptTokens === undefined || contextTokens === undefined
    ? `The prompt is longer than the context of ${model}`
    : `The prompt has ${
      isEstimate ? "at least " : ""
    }${promptTokens} tokens, with instructions and earlier messages, and the ` +
      `context of ${model} has room for ${contextTokens}, the answer included`;
  const share = fittingShare({ ...present({ promptTokens, contextTokens }) });
  const part = share < 1 ? ` to some ${Math.max(1, Math.floor(100 * share))} % of it` : "";
  const message =
    `${what}: shorten it${part} (of files name lines, such as ${example}), or split it over several calls. ` +
    largerContext(isOllama, model);
  return { ...ollamaFailure("invalid_request", message), tooLong: present({ promptTokens, contextTokens }) };
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
  readonly model?: string;
  readonly apiKeySent: boolean;
}

/** The failure behind a status and the beginning of its body. */
export function fromStatus(status: number, body: string, call: FailedCall): OllamaFailure {
  const { host, model } = call;
  const at = host.origin;
  const error = errorOf(body);
  const quoted = error === null ? "" : quoteUpstream(error.text);
  if (status >= 300 && status < 400) {
    return ollamaFailure(
      "not_ollama",
      `${at} redirects elsewhere; set ${host.hostSetting} to the address that answers.`,
    );
  }
  if (status === 403 && /cloud is disabled/i.test(quoted)) return cloudOff(model);
  if (status === 401 || (status === 403 && error !== null)) return authRequired(call, quoted);
  if (status === 403) {
    return ollamaFailure(
      "forbidden_host",
      `${engineName(host)} refuses requests under this host name; use its IP address or localhost in ` +
        `${host.hostSetting}${host.isOllama ? ", or allow the name with OLLAMA_ORIGINS on its side" : ""}.`,
    );
  }
  if (!host.isOllama && isMissingModel(body)) return notInstalled(host, model);
  if (error === null) return fromStranger(status, host);
  const refused = status === 404 ? null : refusedRequest(error, host, model);
  if (refused !== null) return refused;
  switch (status) {
    case 404:
      return /not found/i.test(error.text) ? notInstalled(host, model) : unknownAnswer(status, host, quoted);
    case 400:
    case 413:
    case 422:
      return ollamaFailure("invalid_request", `${host.engine} refused the request: ${quoted}`);
    case 429:
    case 503:
      return /loading|starting|swapping/i.test(quoted)
        ? {
          ...ollamaFailure("busy", `${engineName(host)} was still loading the model; try again in a little while.`),
          mayRetry: "loading",
        }
        : retryableFailure("busy", `${engineName(host)} is busy; try again in a little while.`);
    case 500:
      return /^option "|invalid format|invalid duration|cannot unmarshal/i.test(error.text)
        ? ollamaFailure("invalid_request", `${host.engine} refused the request: ${quoted}`)
        : ollamaFailure(
          "model_failed",
          `The model failed: ${quoted}. Try again, or use a smaller model; the operator finds more in its log.`,
        );
    default:
      return unknownAnswer(status, host, quoted);
  }
}

/** How llama.cpp, vLLM, LM Studio, llama-swap and Ollama say that they lack a model, with 400, 404 or 500. */
function isMissingModel(body: string): boolean {
  return /model\b.{0,200}?\b(not found|does not exist)|could not find .*model|invalid model identifier|no models? (is )?loaded|no router for requested model/i
    .test(body.slice(0, maxQuotedCharacters * 4));
}

/** The failure behind an error within a stream that had begun with status 200. */
export function fromErrorLine(line: unknown, host: OllamaHost, model?: string): OllamaFailure {
  const error = readUpstreamError(line);
  const quoted = quoteUpstream(error.text);
  if (!host.isOllama && isMissingModel(error.text)) return notInstalled(host, model);
  return refusedRequest(error, host, model) ?? ollamaFailure(
    "model_failed",
    `The model at ${host.origin} failed: ${quoted}. Try again, or use another model; the operator finds more in its log.`,
  );
}

/** The failure for a model that a host lacks. */
function notInstalled({ isOllama, origin }: OllamaHost, model = "that was asked for"): OllamaFailure {
  return ollamaFailure(
    "model_not_installed",
    isOllama
      ? `The model ${model} is not installed; run \`ollama pull ${model}\` on the machine that runs Ollama.`
      : `The model server at ${origin} has no model ${model}: use another model (${otherModel}), or let the operator load it.`,
  );
}

function cloudOff(model = "This model"): OllamaFailure {
  return ollamaFailure(
    "auth_required",
    `${model} runs in Ollama's cloud, which is switched off: use a local model. Only the operator can switch it on, with ` +
      "OLLAMA_NO_CLOUD=0 on Ollama's side.",
  );
}

function authRequired({ host, apiKeySent }: FailedCall, quoted: string): OllamaFailure {
  const why = quoted === "" ? "" : ` (${quoted})`;
  const plain = host.protocol === "http" && !host.isLoopback && !apiKeySent ? " The key is sent over https only." : "";
  const signIn = host.isOllama ? ", or run `ollama signin` on the machine that runs Ollama" : "";
  return ollamaFailure(
    "auth_required",
    `${host.origin} did not accept this server${why}: use another model. Only the operator can change this: ${
      apiKeySent ? `check ${host.keySetting}` : `set ${host.keySetting}${signIn}`
    }.${plain}`,
  );
}

/** Answers without an error in JSON: another program, or a proxy that cannot reach the engine. */
function fromStranger(status: number, host: OllamaHost): OllamaFailure {
  const { origin: at, isOllama } = host;
  if (status === 502 || status === 503 || status === 504) {
    const engine = isOllama ? "Ollama" : "the model server";
    const text = `The proxy at ${at} cannot reach ${engine} (status ${status}); see that ${
      isOllama ? engine : "it"
    } runs behind it.`;
    return status === 503 ? retryableFailure("ollama_unreachable", text) : ollamaFailure("ollama_unreachable", text);
  }
  if (status === 429) {
    return retryableFailure("busy", `${at} limits the rate of requests; try again in a little while.`);
  }
  if (status === 413) {
    return ollamaFailure("invalid_request", `${at} refuses a request of this size; shorten the prompt.`);
  }
  if (status >= 500) return unknownAnswer(status, host, "");
  return ollamaFailure(
    "not_ollama",
    `What answers at ${at} is not ${host.api} (status ${status}); correct ${host.hostSetting}.`,
  );
}

function unknownAnswer(status: number, host: OllamaHost, quoted: string): OllamaFailure {
  const said = quoted === "" ? "" : `: ${quoted}`;
  return ollamaFailure("bad_upstream", `${engineName(host)} answered with status ${status}${said}. See its log.`);
}

/** The error of a body that has one: Ollama's and OpenAI's `error`, vLLM's `message` or FastAPI's `detail`. */
function errorOf(body: string): UpstreamError | null {
  const parsed = parseJson(body);
  if (!isObject(parsed)) return null;
  return "error" in parsed ? readUpstreamError(parsed["error"]) : fromObject(parsed);
}
