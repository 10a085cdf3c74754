/** What can go wrong between this server and a local model, as codes for the log and sentences that say what to do. */

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
