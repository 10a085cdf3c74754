/** What can go wrong between this server and a local model, as codes for the log and sentences that say what to do. */
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

/** A failure after which the same request may be sent again. */
export function retryableFailure(code: OllamaFailureCode, message: string): OllamaFailure {
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
      : ollamaFailure("truncated", `Ollama at ${at} broke off in the middle of its answer; try again.`);
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
