/** What can go wrong between this server and a local model, as codes for the log and sentences that say what to do. */
import { isObject, parseJson } from "../lib/json.ts";
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

/** A call that did not succeed. */
export interface OllamaFailure {
  readonly code: OllamaFailureCode;
  /** What happened and what to do; without credentials, and without file paths of either machine. */
  readonly message: string;
  /** The same request may be sent again: nothing of it was processed. */
  readonly mayRetry?: boolean;
}

export function ollamaFailure(code: OllamaFailureCode, message: string): OllamaFailure {
  return { code, message };
}

export const cancelled: OllamaFailure = { code: "cancelled", message: "The call was cancelled." };

export function brokenOff({ origin }: OllamaHost): OllamaFailure {
  return ollamaFailure("truncated", `Ollama at ${origin} broke off in the middle of its answer; try again.`);
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
  if (midBody) {
    return /gzip|deflate|brotli|unexpected end of file|corrupt/i.test(words)
      ? ollamaFailure("bad_upstream", `The answer of Ollama at ${at} could not be decoded; try again.`)
      : brokenOff(host);
  }
  if (error instanceof Error && error.name === "NotCapable") {
    return ollamaFailure(
      "ollama_unreachable",
      `This server is not permitted to connect to ${at}; restart it so that its permissions match OLLAMA_HOST.`,
    );
  }
  if (/dns error|failed to lookup|no such host/i.test(words)) {
    return ollamaFailure("host_not_found", `The host of ${at} has no address; correct OLLAMA_HOST.`);
  }
  if (/certificate/i.test(words)) {
    return ollamaFailure("ollama_unreachable", `The TLS certificate of ${at} is not trusted; correct OLLAMA_HOST.`);
  }
  if (/corrupt message|InvalidContentType|tls|handshake/i.test(words)) {
    return ollamaFailure("not_ollama", `${at} does not speak TLS; write OLLAMA_HOST with http:// instead of https://.`);
  }
  if (/connection refused/i.test(words)) return retryableFailure("ollama_unreachable", notRunning(at));
  if (/client error \(Connect\)|are blocked/i.test(words)) return ollamaFailure("ollama_unreachable", notRunning(at));
  if (/invalid HTTP|parsed|message head|invalid.*(header|status|chunk)/i.test(words)) {
    return ollamaFailure("not_ollama", `What answers at ${at} does not speak HTTP; correct OLLAMA_HOST.`);
  }
  return ollamaFailure(
    "bad_upstream",
    `Ollama at ${at} closed the connection before it answered; see that it still runs, then try again.`,
  );
}

function notRunning(at: string): string {
  return `Ollama is not running at ${at}; start it with \`ollama serve\` or set OLLAMA_HOST.`;
}

function wordsOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? `${error.message}: ${error.cause.message}` : error.message;
}

const maxUnwrappedBytes = 65_536;

/** The error of a reply: its text, and the numbers that a runner puts beside it when a prompt is too long. */
interface UpstreamError {
  readonly text: string;
  readonly promptTokens?: number;
  readonly contextTokens?: number;
}

/** Reads the value of `error`: a text, an object, or a runner's JSON within a text. */
function readUpstreamError(error: unknown): UpstreamError {
  if (typeof error === "string") {
    const isJson = Buffer.byteLength(error) <= maxUnwrappedBytes && error.trimStart().startsWith("{");
    return (isJson ? fromObject(parseJson(error)) : null) ?? { text: error };
  }
  return fromObject(error) ?? { text: JSON.stringify(error) };
}

function fromObject(value: unknown): UpstreamError | null {
  if (!isObject(value)) return null;
  if (typeof value["message"] === "string") {
    const { n_prompt_tokens: promptTokens, n_ctx: contextTokens } = value;
    return {
      text: value["message"],
      ...(typeof promptTokens === "number" ? { promptTokens } : {}),
      ...(typeof contextTokens === "number" ? { contextTokens } : {}),
    };
  }
  if (typeof value["error"] === "string") return { text: value["error"] };
  return fromObject(value["error"]);
}

const otherModel = "llm_models lists what each model can do";

/** The failure behind an error that is about the request, in words for its caller; null for any other error. */
function refusedRequest(error: UpstreamError, model = "the model"): OllamaFailure | null {
  const { text } = error;
  const refuse = (message: string): OllamaFailure => ollamaFailure("invalid_request", message);
  if (/does not support thinking/i.test(text)) {
    return refuse(`${model} does not support thinking: leave out options.think, or use another model (${otherModel}).`);
  }
  if (/does not support (generate|chat|completion)/i.test(text)) {
    return refuse(`${model} does not write text: use another model (${otherModel}).`);
  }
  if (/image input is not supported|does not support (vision|image|multimodal)/i.test(text)) {
    return refuse(
      `Image input is not supported by ${model}: leave out image files, or use another model (${otherModel}).`,
    );
  }
  return isTooLong(text) ? refuse(promptTooLong(error, model)) : null;
}

function isTooLong(text: string): boolean {
  return /exceeds the available context|longer than the context length|exceeds (the )?(maximum )?context length/i
    .test(text);
}

/** Of the context, what a prompt may take so that an answer fits beside it. */
const promptShare = 0.75;

function promptTooLong({ text, promptTokens, contextTokens }: UpstreamError, model: string): string {
  const [, length = promptTokens, limit = contextTokens] =
    /\((\d+) tokens\) exceeds the available context size \((\d+) tokens\)/.exec(text) ?? [];
  const what = length === undefined || limit === undefined
    ? `The ${/^the input/i.test(text) ? "text" : "prompt"} is longer than the context of ${model}`
    : `The prompt has ${length} tokens, with instructions and earlier messages, and the context of ${model} has room ` +
      `for ${limit}, the answer included`;
  const share = length === undefined || limit === undefined ? 1 : promptShare * Number(limit) / Number(length);
  const part = share < 1 ? ` to some ${Math.max(1, Math.floor(100 * share))} % of it` : "";
  return `${what}: shorten it${part} (of files name lines, such as a.log:1-200), or split it over several calls. ` +
    "Only the operator can make the context larger, with OLLAMA_CONTEXT_LENGTH on Ollama's side.";
}

interface FailedCall {
  readonly host: OllamaHost;
  readonly model?: string;
  readonly apiKeySent: boolean;
}

/** The failure behind a status and the beginning of its body. */
export function fromStatus(status: number, body: string, call: FailedCall): OllamaFailure {
  const at = call.host.origin;
  const error = errorOf(body);
  const quoted = error === null ? "" : quoteUpstream(error.text);
  if (status >= 300 && status < 400) {
    return ollamaFailure("not_ollama", `${at} redirects elsewhere; set OLLAMA_HOST to the address that answers.`);
  }
  if (status === 403 && /cloud is disabled/i.test(quoted)) return cloudOff(call.model);
  if (status === 401 || (status === 403 && error !== null)) return authRequired(call, quoted);
  if (status === 403) {
    return ollamaFailure(
      "forbidden_host",
      `Ollama at ${at} refuses requests under this host name; use its IP address or localhost in OLLAMA_HOST, or allow ` +
        "the name with OLLAMA_ORIGINS on its side.",
    );
  }
  if (error === null) return fromStranger(status, at);
  const refused = status === 404 ? null : refusedRequest(error, call.model);
  if (refused !== null) return refused;
  switch (status) {
    case 404:
      return /not found/i.test(error.text)
        ? notInstalled(call.model ?? "the model")
        : unknownAnswer(status, at, quoted);
    case 400:
    case 413:
      return ollamaFailure("invalid_request", `Ollama refused the request: ${quoted}`);
    case 429:
    case 503:
      return retryableFailure("busy", `Ollama at ${at} is busy; try again in a little while.`);
    case 500:
      return /^option "|invalid format|invalid duration|cannot unmarshal/i.test(error.text)
        ? ollamaFailure("invalid_request", `Ollama refused the request: ${quoted}`)
        : ollamaFailure(
          "model_failed",
          `The model failed: ${quoted}. Try again, or use a smaller model; the operator finds more in Ollama's log.`,
        );
    default:
      return unknownAnswer(status, at, quoted);
  }
}

/** The failure behind an `error` line, which Ollama sends in a stream that it had begun with status 200. */
export function fromErrorLine(line: string, host: OllamaHost): OllamaFailure {
  const error = readUpstreamError(line);
  const quoted = quoteUpstream(error.text);
  return refusedRequest(error) ?? ollamaFailure(
    "model_failed",
    `The model at ${host.origin} failed: ${quoted}. Try again, or use another model; the operator finds more in Ollama's log.`,
  );
}

/** The failure for a model that a host lacks. */
function notInstalled(model: string): OllamaFailure {
  return ollamaFailure(
    "model_not_installed",
    `The model ${model} is not installed; run \`ollama pull ${model}\` on the machine that runs Ollama.`,
  );
}

function cloudOff(model = "This model"): OllamaFailure {
  return ollamaFailure(
    "auth_required",
    `${model} runs in Ollama's cloud, which is switched off: use a local model. Only the operator can switch it on, with ` +
      "OLLAMA_NO_CLOUD=0 on Ollama's side.",
  );
}

function authRequired(call: FailedCall, quoted: string): OllamaFailure {
  const why = quoted === "" ? "" : ` (${quoted})`;
  const plain = call.host.protocol === "http" && !call.host.isLoopback && !call.apiKeySent
    ? " The key is sent over https only."
    : "";
  const what = call.apiKeySent
    ? "check OLLAMA_API_KEY"
    : "set OLLAMA_API_KEY, or run `ollama signin` on the machine that runs Ollama";
  return ollamaFailure(
    "auth_required",
    `${call.host.origin} did not accept this server${why}: use another model. Only the operator can change this: ${what}.${plain}`,
  );
}

/** Answers without Ollama's `{"error": ...}`: another program, or a proxy that cannot reach Ollama. */
function fromStranger(status: number, at: string): OllamaFailure {
  if (status === 502 || status === 503 || status === 504) {
    const text = `The proxy at ${at} cannot reach Ollama (status ${status}); see that Ollama runs behind it.`;
    return status === 503 ? retryableFailure("ollama_unreachable", text) : ollamaFailure("ollama_unreachable", text);
  }
  if (status === 429) {
    return retryableFailure("busy", `${at} limits the rate of requests; try again in a little while.`);
  }
  if (status === 413) {
    return ollamaFailure("invalid_request", `${at} refuses a request of this size; shorten the prompt.`);
  }
  if (status >= 500) return unknownAnswer(status, at, "");
  return ollamaFailure(
    "not_ollama",
    `What answers at ${at} is not Ollama's API (status ${status}); correct OLLAMA_HOST.`,
  );
}

function unknownAnswer(status: number, at: string, quoted: string): OllamaFailure {
  const said = quoted === "" ? "" : `: ${quoted}`;
  return ollamaFailure("bad_upstream", `Ollama at ${at} answered with status ${status}${said}. See its log.`);
}

/** The error of `{"error": ...}`, or null when the body is anything else. */
function errorOf(body: string): UpstreamError | null {
  const parsed = parseJson(body);
  return isObject(parsed) && "error" in parsed ? readUpstreamError(parsed["error"]) : null;
}
