/** What an exception of Deno's fetch means. It has no code, only the words of the layers below in `cause.message`. */
import { type OllamaFailure, ollamaFailure, retryableFailure } from "./failure.ts";
import type { OllamaHost } from "./host.ts";

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
