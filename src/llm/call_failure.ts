/** Failures of calls that ended early, or brought something other than an answer. */
import type { CallWatchOptions, EndReason } from "./answer_stream.ts";
import { type OllamaFailure, ollamaFailure } from "./failure.ts";
import type { OllamaHost } from "./host.ts";

/** The failure of a call that was cancelled, or ran out of time. */
export function fromEndReason(
  reason: EndReason,
  { idleMs, totalMs }: Pick<CallWatchOptions, "idleMs" | "totalMs">,
  at: string,
): OllamaFailure {
  switch (reason) {
    case "cancelled":
      return ollamaFailure("cancelled", "The call was cancelled.");
    case "first_byte":
      return ollamaFailure(
        "timeout_first_byte",
        `Ollama at ${at} did not begin to answer within ${Math.round(totalMs) / 1000} s; it may still be loading the ` +
          "model: try again, or use a smaller one.",
      );
    case "idle":
      return ollamaFailure(
        "timeout_idle",
        `Ollama at ${at} stopped in the middle of its answer for ${idleMs / 1000} s; try again.`,
      );
    case "total":
      return ollamaFailure(
        "timeout_total",
        "The call took longer than it may and was stopped; ask for less, or lower max_tokens.",
      );
  }
}

/** The failure of a probe that was not answered in time. */
export function probeTimeout(host: OllamaHost, probeMs: number): OllamaFailure {
  return ollamaFailure(
    "timeout_first_byte",
    `Ollama at ${host.origin} did not answer within ${probeMs / 1000} s; check that it runs and is not overloaded.`,
  );
}

/** The failure of an answer that Ollama does not give. */
export function notOllama(host: OllamaHost): OllamaFailure {
  return ollamaFailure("not_ollama", `What answers at ${host.origin} is not Ollama's API; correct OLLAMA_HOST.`);
}

/** The failure of an answer without a body. */
export function emptyAnswer(host: OllamaHost): OllamaFailure {
  return ollamaFailure("bad_upstream", `Ollama at ${host.origin} sent an empty answer; try again.`);
}
